"""How many tokens a server of the user's own says that its model holds."""

from functools import lru_cache
from time import monotonic

import httpx2

from deep_research.llm.registry import ModelName
from deep_research.llm.vendor import JsonMessage, object_of

# A server on this machine or in the house answers at once, or is asked again a minute later.
_TIMEOUT_S, _ASKED_AGAIN_S = 1.0, 60.0
# What vLLM, SGLang, LM Studio, llama.cpp and hosts of open models call it; what is loaded counts before what could be.
_NAMES = ("loaded_context_length", "n_ctx", "max_model_len", "context_length", "max_context_length", "context_window")
# Ollama reserves memory for the whole window.
_MAX_OLLAMA = 32_000
_MIN_WINDOW = 8_000


def told_window(name: ModelName, address: str, key: str) -> int | None:
    """Return the window that the server of a model tells, None where it tells none or does not answer."""
    return _asked(name, address.rstrip("/"), key, int(monotonic() // _ASKED_AGAIN_S))


@lru_cache(maxsize=32)
def _asked(name: ModelName, address: str, key: str, minute: int) -> int | None:  # noqa: ARG001 - a part of the key
    is_ollama = name.provider.name == "ollama"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx2.Client(timeout=_TIMEOUT_S, headers=headers) as client:
            if is_ollama:
                told = client.post(f"{address}/api/show", json={"model": name.model}).json()
            else:
                told = client.get(f"{address}/models").json()
    except (httpx2.HTTPError, ValueError):
        return None
    if is_ollama:
        found = _number(
            {key.rpartition(".")[2]: value for key, value in object_of(object_of(told).get("model_info")).items()}
        )
        return min(found, _MAX_OLLAMA) if found else None
    listed = object_of(told).get("data")
    entries = [object_of(each) for each in listed] if isinstance(listed, list) else []
    entry = next((each for each in entries if each.get("id") == name.model), entries[0] if len(entries) == 1 else {})
    return _number({**object_of(entry.get("meta")), **entry})


def _number(fields: JsonMessage) -> int | None:
    found = (fields.get(name) for name in _NAMES)
    number = next((each for each in found if isinstance(each, int) and each > 0), None)
    return max(number, _MIN_WINDOW) if number else None
