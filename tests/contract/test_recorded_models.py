"""Recorded answers of the real services, replayed to our adapters: what stands in a recording is what comes out.

The recordings lie beside the repository and not in it; `test_model_exchanges.py` has the shapes that matter most.
"""

import json
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deep_research.errors import CallFailed, ModelBusy, ModelError, ModelRefused
from deep_research.llm.answer import GrowingAnswer
from deep_research.llm.port import ModelReply, StopReason
from deep_research.llm.registry import PROVIDERS
from deep_research.llm.tokens import tokens_at_most
from deep_research.llm.vendor import ModelEndpoint
from deep_research.llm.wire import CallBroken, pieces_in
from tests.contract.replay import FORMED, REQUEST, Cut, Replay, cost, pieces_of

FOLDER = Path(__file__).parents[3] / "shared/evaldata/recorded"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recorded exchanges are not beside this repository")


class Reply(NamedTuple):
    """What a recording's usage and end amount to; `tokens_in` is None where the recording does not say it."""

    stop: StopReason
    tokens_in: int | None
    tokens_out: int
    cached: int = 0


class Failure(NamedTuple):
    """The error that a recording amounts to, and a word of what is to be mended."""

    kind: type[CallFailed]
    says: str


# The numbers are copied from the recordings by hand.
RECORDINGS: dict[tuple[str, str], Reply | Failure] = {
    ("anthropic", "anthropic/stream-thinking"): Reply("stop", 43, 282),
    ("anthropic", "anthropic/stream-redacted-thinking"): Reply("stop", 92, 189),
    ("anthropic", "anthropic/stream-tool"): Reply("stop", 543, 40),
    ("anthropic", "anthropic/stream-schema"): Reply("stop", 231, 118),
    ("anthropic", "anthropic/stream-usage-at-start"): Reply("stop", 4 + 1167, 256, cached=1167),
    ("anthropic", "anthropic/no-such-model-404"): Failure(ModelRefused, "thinking_model"),
    ("deepseek", "deepseek/stream-reasoning"): Reply("stop", 6, 212),
    ("gemini", "gemini/stream-thinking"): Reply("stop", 34, 469 + 787),
    ("gemini", "gemini/stopped-for-safety"): Reply("refusal", 14, 0),
    ("gemini", "gemini/max-tokens-no-text"): Reply("length", 15, 2),
    ("gemini", "gemini/array-schema"): Reply("stop", 5, 50 + 453),
    ("gemini", "gemini/wrong-key-400"): Failure(ModelRefused, "GEMINI_API_KEY"),
    ("gemini", "gemini/no-such-model-404"): Failure(ModelRefused, "thinking_model"),
    ("gemini", "gemini/exhausted-429"): Failure(ModelBusy, "overloaded"),
    ("ollama", "ollama/chat-thinking"): Reply("stop", 21, 369),
    ("ollama", "ollama/chat-tool"): Reply("stop", 292, 143),
    ("ollama", "ollama/stream-text"): Reply("stop", 17, 50),
    ("ollama", "ollama/no-prompt-count"): Reply("stop", None, 79),
    ("ollama", "ollama/no-such-model-404"): Failure(ModelRefused, "thinking_model"),
    ("openai", "openai-chat/stream-text"): Reply("stop", 53, 15),
    ("openai", "openai-chat/refusal"): Reply("refusal", 65, 13),
    ("openai", "openai-chat/no-such-model-404"): Failure(ModelRefused, "thinking_model"),
    ("openai", "openai-chat/wrong-parameter-400"): Failure(ModelError, "did not take"),
    ("openai", "openai-chat/wrong-key-401"): Failure(ModelRefused, "OPENAI_API_KEY"),
    # Asked of another API of the same server; chat completions are told so with status 404.
    ("openai", "openai-search/no-such-model-400"): Failure(ModelRefused, "thinking_model"),
    ("openai-compatible", "openai-compatible/stream-no-finish-reason"): Reply("stop", 22, 5),
    ("openai-compatible", "openai-compatible/stream-error-in-mid-stream"): Failure(ModelError, "did not take"),
    ("openai-compatible", "openai-compatible/thinking-parts"): Reply("stop", 28, 35),
    ("openrouter", "openrouter/stream-reasoning"): Reply("stop", 43, 36),
    ("openrouter", "openrouter/stream-error-after-length"): Reply("length", 43, 10),
    ("openrouter", "openrouter/no-finish-reason"): Reply("stop", 10, 261),
    ("openrouter", "openrouter/no-key-401"): Failure(ModelRefused, "OPENROUTER_API_KEY"),
}
REPLIES = {key: wanted for key, wanted in RECORDINGS.items() if isinstance(wanted, Reply)}
FAILURES = {key: wanted for key, wanted in RECORDINGS.items() if isinstance(wanted, Failure)}


def recording(name: str) -> tuple[int, dict[str, str], bytes]:
    kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    body = kept["body"]
    data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return kept["status"], kept["headers"], data.encode()


def words_in(body: bytes) -> tuple[str, str]:
    """Return all words and all thoughts that stand in a recording, wherever a vendor puts them."""
    text = body.decode()
    if text.startswith("data:") or "\ndata:" in text:
        parts = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
        messages = [json.loads(part) for part in parts if part != "[DONE]"]
    elif "\n" in text:
        messages = [json.loads(line) for line in text.splitlines()]
    else:
        messages = [json.loads(text)]
    found: dict[str, list[str]] = {"words": [], "thoughts": []}
    _gather(messages, found, is_thought=False)
    return "".join(found["words"]), "".join(found["thoughts"])


_WORDS, _THOUGHTS = ("content", "text", "partial_json", "refusal"), ("reasoning", "reasoning_content", "thinking")


def _gather(data: Any, found: dict[str, list[str]], *, is_thought: bool) -> None:
    if isinstance(data, list):
        for item in data:
            _gather(item, found, is_thought=is_thought)
    if not isinstance(data, dict) or "failed_generation" in data:
        return
    for key, value in data.items():
        if key == "reasoning_details":
            continue  # says the same once more
        thinks = is_thought or bool(data.get("thought")) or key in _THOUGHTS
        if key == "arguments" or (isinstance(value, str) and key in (*_WORDS, *_THOUGHTS)):
            words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found["thoughts" if thinks else "words"].append(words)
        else:
            _gather(value, found, is_thought=thinks)


def check(reply: object, wanted: Reply, body: bytes) -> None:
    assert isinstance(reply, ModelReply), reply
    assert (reply.text, reply.reasoning) == words_in(body)
    assert reply.stop == wanted.stop
    read = tokens_at_most(REQUEST.text) if wanted.tokens_in is None else wanted.tokens_in
    assert read <= reply.tokens_in <= read + (0 if wanted.tokens_in is not None else 50)
    assert (reply.tokens_out, reply.tokens_cached) == (wanted.tokens_out, wanted.cached)
    assert reply.usd == cost(reply)


@pytest.mark.parametrize(("key", "wanted"), REPLIES.items(), ids=[name for _, name in REPLIES])
async def test_an_answer_comes_out_as_it_was_recorded(key: tuple[str, str], wanted: Reply) -> None:
    provider, name = key
    status, headers, body = recording(name)
    cuts: tuple[Cut, ...] = ("whole", "by seven", "with CRLF")
    for cut in cuts:
        with Replay(status, headers, body, cut) as server:
            check(await server.ask(provider), wanted, body)


@pytest.mark.parametrize(("key", "wanted"), FAILURES.items(), ids=[name for _, name in FAILURES])
async def test_an_error_is_told_with_what_is_to_be_mended(key: tuple[str, str], wanted: Failure) -> None:
    provider, name = key
    status, headers, body = recording(name)
    with Replay(status, headers, body) as server:
        failure = await server.ask(provider, FORMED)
        assert type(failure) is wanted.kind
        assert wanted.says in str(failure)
        is_asked_otherwise = wanted.kind is ModelError and status == 400
        assert server.calls == (3 if is_asked_otherwise else 1)


async def test_what_was_said_before_an_error_is_paid_for() -> None:
    status, headers, body = recording("openai-compatible/stream-error-in-mid-stream")
    with Replay(status, headers, body) as server:
        failure = await server.ask("openai-compatible")
    assert isinstance(failure, CallFailed)
    text, thoughts = words_in(body)
    assert failure.spend.tokens >= tokens_at_most(text) + tokens_at_most(thoughts) > 50
    assert failure.spend.usd > 0


def test_every_recording_of_a_model_is_replayed() -> None:
    folders = "anthropic deepseek gemini ollama openai-chat openai-compatible openrouter".split()
    there = {f"{folder}/{path.stem}" for folder in folders for path in (FOLDER / folder).glob("*.json")}
    assert {name for _, name in RECORDINGS} == there | {"openai-search/no-such-model-400"}


@pytest.mark.parametrize(("key", "wanted"), REPLIES.items(), ids=[name for _, name in REPLIES])
async def test_how_the_bytes_fall_does_not_matter(key: tuple[str, str], wanted: Reply) -> None:
    # Without a socket, where a byte at a time would take seconds.
    provider, name = key
    _, _, body = recording(name)
    known = PROVIDERS[provider]
    module, _, adapter = known.adapter.partition(":")
    vendor = getattr(import_module(f"deep_research.llm.{module}"), adapter)(
        ModelEndpoint(known, "some-model", "http://127.0.0.1")
    )

    async def chunks(cut: Cut) -> AsyncIterator[bytes]:
        for piece in pieces_of(body, cut):
            yield piece

    cuts: tuple[Cut, ...] = ("by one", "in mid-character")
    for cut in cuts:
        answer = GrowingAnswer(max_tokens=4_000)
        try:
            async for piece in pieces_in(chunks(cut), vendor):
                answer.take(piece)
        except CallBroken:
            assert answer.stop, "only after its end may an answer break"
        answer.finish()
        assert (answer.text, answer.reasoning, answer.stop) == (*words_in(body), wanted.stop)
        assert answer.usage(0).written == wanted.tokens_out
