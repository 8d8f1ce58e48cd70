"""Plays a model's server that says the same bytes to everybody, cut as told. What they mean is for the tests to say."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

from deep_research.errors import CallFailed
from deep_research.llm.chat import ModelLimits, VendorChat, connect
from deep_research.llm.port import ModelReply, ModelRequest
from deep_research.llm.prices import Price
from deep_research.llm.registry import PROVIDERS, ModelName
from tests.support.loopback import LoopbackServer, Request, head_of

Cut = Literal["whole", "by one", "by seven", "in mid-character", "with CRLF"]
CUTS: tuple[Cut, ...] = ("whole", "by one", "by seven", "in mid-character", "with CRLF")
PRICE = {"in": 2.0, "cached": 0.5, "cache_write": 2.5, "out": 10.0}
REQUEST = ModelRequest(act="plan", role="task", prompt="What is known? 已知什么？", max_tokens=4_000)
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
FORMED = REQUEST.model_copy(update={"answer_schema": SCHEMA})


class Replay(LoopbackServer):
    """Answers every request with one status, some headers and a body; `calls` counts the requests."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, cut: Cut = "whole") -> None:
        super().__init__()
        self.status, self.headers = status, dict(headers)
        self.pieces = list(pieces_of(body, cut))
        self.calls = 0

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Send it all."""
        self.calls += 1
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in self.pieces)
        writer.write(head_of(self.status, {**self.headers, "transfer-encoding": "chunked"}) + chunks + b"0\r\n\r\n")
        await writer.drain()

    def model(self, provider: str, limits: ModelLimits | None = None) -> VendorChat:
        """Return a model of a provider that is served here."""
        name = ModelName(PROVIDERS[provider], "some-model")
        prices = {provider: {"some-model": Price.model_validate(PRICE)}}
        address = f"http://127.0.0.1:{self.port}/v1" if provider != "anthropic" else f"http://127.0.0.1:{self.port}"
        limits = limits or ModelLimits(timeout_s=60, idle_timeout_s=60)
        return connect(name, address=address, key="k", prices=prices, limits=limits)

    async def ask(self, provider: str, request: ModelRequest = REQUEST) -> ModelReply | CallFailed:
        """Return what comes of a call."""
        model = self.model(provider)
        try:
            return await model.complete(request)
        except CallFailed as failure:
            return failure
        finally:
            await model.close()


def pieces_of(body: bytes, cut: Cut) -> Iterator[bytes]:
    """Cut a body, so that characters of several bytes are cut too."""
    if cut == "with CRLF":
        yield body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    elif cut == "in mid-character":
        inside = [place for place, byte in enumerate(body) if 0x80 <= byte < 0xC0]
        for start, end in pairwise([0, *inside, len(body)]):
            yield body[start:end]
    else:
        size = {"whole": len(body), "by one": 1, "by seven": 7}[cut]
        for start in range(0, len(body), size):
            yield body[start : start + size]


def cost(reply: ModelReply, cache_written: int = 0) -> float:
    """Return what a reply costs by the prices above."""
    fresh = reply.tokens_in - reply.tokens_cached - cache_written
    total = fresh * 2 + reply.tokens_cached * 0.5 + cache_written * 2.5 + reply.tokens_out * 10
    return round(total / 1e6, 10)
