"""The window that servers of one's own tell, each in its own form."""

import asyncio
import json
from typing import Any

import pytest

from deep_research.llm import window
from deep_research.llm.registry import model_named
from deep_research.llm.window import told_window
from tests.support.loopback import LoopbackServer, Request


class ModelsServer(LoopbackServer):
    """Answers what a model server says of its models."""

    def __init__(self, told: Any) -> None:
        super().__init__()
        self._body = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.requests: list[Request] = []

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(self._body)}\r\n"
        writer.write(head.encode() + b"connection: close\r\n\r\n" + self._body)
        await writer.drain()
        writer.close()


@pytest.fixture(autouse=True)
def forgotten() -> None:
    window._asked.cache_clear()


def asked(told: Any, model: str = "openai-compatible:own") -> tuple[int | None, list[Request]]:
    with ModelsServer(told) as server:
        return told_window(model_named(model), f"http://127.0.0.1:{server.port}/v1/", "secret"), server.requests


def listed(**fields: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "own", "object": "model", **fields}]}


@pytest.mark.parametrize(
    ("told", "size"),
    [
        (listed(max_model_len=40_960), 40_960),
        (listed(meta={"n_ctx": 16_384, "n_ctx_train": 131_072}), 16_384),
        (listed(max_context_length=131_072, loaded_context_length=12_000), 12_000),
        (listed(context_length=200_000), 200_000),
        (listed(context_length=2_048), 8_000),
        (listed(), None),
        (listed(context_length="big"), None),
        ({"data": [{"id": "other", "context_length": 9_000}, {"id": "own", "context_length": 64_000}]}, 64_000),
        ({"data": [{"id": "a", "context_length": 9_000}, {"id": "b", "context_length": 64_000}]}, None),
        (["own"], None),
        (b"<html>", None),
    ],
)
def test_the_window_of_the_named_model_is_read(told: Any, size: int | None) -> None:
    assert asked(told)[0] == size


def test_the_key_goes_along_and_a_server_is_asked_once_a_minute() -> None:
    with ModelsServer(listed(max_model_len=40_960)) as server:
        for _ in range(3):
            told_window(model_named("openai-compatible:own"), f"http://127.0.0.1:{server.port}/v1", "secret")
        (request,) = server.requests
    assert (request.method, request.target) == ("GET", "/v1/models")
    assert request.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(("held", "size"), [(131_072, 32_000), (16_384, 16_384)])
def test_ollama_tells_what_the_model_was_made_for_and_the_memory_bounds_it(held: int, size: int) -> None:
    found, (request,) = asked({"model_info": {"qwen3.context_length": held, "qwen3.block_count": 36}}, "ollama:qwen3")
    assert found == size
    assert request.target.endswith("/api/show")
    assert json.loads(request.body) == {"model": "qwen3"}


def test_a_server_that_is_not_there_tells_nothing() -> None:
    assert told_window(model_named("openai-compatible:own"), "http://127.0.0.1:9/v1", "") is None
