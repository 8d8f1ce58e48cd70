"""A server that never comes to an end, in every way there is: a call ends at its bound, with an error of its kind."""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from deep_research.errors import ModelError, NetworkError
from deep_research.llm.answer import MAX_THOUGHT_CHARS, GrowingAnswer
from deep_research.llm.chat import ModelLimits, VendorChat, connect
from deep_research.llm.openai import OpenaiVendor
from deep_research.llm.port import ModelRequest
from deep_research.llm.registry import PROVIDERS, ModelName
from deep_research.llm.vendor import ModelEndpoint, Piece
from deep_research.llm.wire import MAX_OBJECT_BYTES, CallBroken, pieces_in
from tests.support.loopback import stop_accepting

REQUEST = ModelRequest(act="plan", role="task", prompt="What is known?", max_tokens=300)
MAX_BYTES = 1024 * 1024
# What sockets on both sides hold when a call ends.
IN_SOCKETS = 12 * 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
NO_ENDS = {
    "a line": (OK + b'data: {"choices": [', b'{"index": 1}, '),
    "blanks": (OK, b" " * 64),
    "line breaks": (OK, b"\r\n" * 64),
    "comments": (OK, b": keep alive\n\n"),
    "events of nothing": (OK, b'data: {"x": "' + b"x" * 1_000 + b'"}\n\n'),
    "an object": (OK + b'{"choices": [\n', b'{"index": 1},\n'),
    "a list": (OK + b"[", b'{"candidates": []},\n'),
    "brackets": (OK + b"data: ", b"["),
    "words in one piece": (OK + b'data: {"choices": [{"delta": {"content": "', b"tea "),
    "an error": (b"HTTP/1.1 500 Oops\r\n\r\n" + b'{"error": "', b"tea "),
}


class NoEnd:
    """Sends a beginning once and then the rest again and again; `sent_bytes` counts."""

    def __init__(self, begin: bytes, again: bytes) -> None:
        self.begin, self.again = begin, again * (65_536 // len(again) + 1)
        self.sent_bytes = 0

    @asynccontextmanager
    async def model(self, provider: str = "openai-compatible") -> AsyncIterator[VendorChat]:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        limits = ModelLimits(timeout_s=100, idle_timeout_s=100, max_answer_bytes=MAX_BYTES)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        model = connect(ModelName(PROVIDERS[provider], "m"), address=address, key="k", limits=limits)
        try:
            yield model
        finally:
            await model.close()
            await stop_accepting(server)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            writer.write(self.begin)
            while True:
                writer.write(self.again)
                self.sent_bytes += len(self.again)
                await writer.drain()
        except ConnectionError:
            pass  # the other side has had enough
        finally:
            writer.close()


@pytest.mark.parametrize("provider", ["openai-compatible", "ollama"])
@pytest.mark.parametrize("case", NO_ENDS)
async def test_an_answer_without_end_is_cut_off_at_its_bound(case: str, provider: str) -> None:
    server = NoEnd(*NO_ENDS[case])
    async with server.model(provider) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(REQUEST)
    assert server.sent_bytes < MAX_BYTES + IN_SOCKETS
    said = {"fault.busy"} if case == "an error" else {"fault.too_large", "fault.malformed"}
    assert caught.value.words_key in said
    assert caught.value.spend.tokens == 0 or case == "events of nothing"


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\n"])
async def test_headers_without_end_are_cut_off(begin: bytes) -> None:
    server = NoEnd(begin, b"a: b\r\n" if begin.endswith(b"\n") else b"tea ")
    async with server.model() as model:
        with pytest.raises(NetworkError):
            await model.complete(REQUEST)
    assert server.sent_bytes < IN_SOCKETS


def _event(kind: str, words: str) -> bytes:
    return f'data: {{"choices": [{{"index": 0, "delta": {{"{kind}": "{words}"}}}}]}}\n\n'.encode()


def _different_words(kind: str, chance: random.Random) -> Iterator[bytes]:
    while True:
        yield _event(kind, f"{chance.getrandbits(4_000):x} ")


async def _chunks(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


VENDOR = OpenaiVendor(ModelEndpoint(PROVIDERS["openai"], "m", "http://127.0.0.1"))


async def test_words_beyond_the_limit_that_was_set_end_the_answer_as_the_limit_would() -> None:
    server = NoEnd(OK, b"".join(itertools.islice(_different_words("content", random.Random(3)), 40)))
    async with server.model() as model:
        reply = await model.complete(REQUEST)
    assert reply.stop == "length"
    assert 32 * 300 < len(reply.text) < 32 * 300 + 2_000


def test_thoughts_without_end_are_too_large() -> None:
    answer, chance = GrowingAnswer(max_tokens=300), random.Random(4)
    while not answer.is_too_large:
        answer.take(Piece(thought=f"{chance.getrandbits(40_000):x} "))
        assert len(answer.reasoning) <= MAX_THOUGHT_CHARS + 20_000


async def test_one_object_has_a_bound_of_its_own() -> None:
    line = b"data: " + b" " * MAX_OBJECT_BYTES
    with pytest.raises(CallBroken):
        async for _ in pieces_in(_chunks(itertools.repeat(line[:65_536])), VENDOR):
            pass


async def test_brackets_in_each_other_are_no_answer() -> None:
    server = NoEnd(OK + b"data: " + b"[" * 100_000 + b"\n", b"\n")
    async with server.model() as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(REQUEST)
    assert caught.value.words_key == "fault.malformed"


async def test_a_line_that_comes_in_crumbs_costs_in_proportion_to_its_length() -> None:
    async def cpu_s(size: int) -> float:
        line = _event("content", "tea " * (size // 4))
        begin = time.process_time()
        async for piece in pieces_in(_chunks(line[at : at + 3] for at in range(0, len(line), 3)), VENDOR):
            assert len(piece.text) == size
        return time.process_time() - begin

    # Proportion is 8; what is joined crumb by crumb comes to 40 and more.
    large, small = [min([await cpu_s(size) for _ in range(3)]) for size in (400_000, 50_000)]
    assert large < 24 * max(small, 0.01)
