"""Chat completions as servers really send them: labels, ends and parts that differ, connections that are kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from deep_research.errors import CallFailed, ConfigurationError
from deep_research.llm.chat import ModelLimits, VendorChat, connect
from deep_research.llm.port import ModelRequest
from deep_research.llm.readiness import require_ready
from deep_research.llm.registry import PROVIDERS, ModelName
from tests.support.loopback import stop_accepting
from tests.support.waiting import HANG_S

REQUEST = ModelRequest(act="plan", role="task", prompt="What is known?", max_tokens=300)
LIMITS = ModelLimits(timeout_s=20, idle_timeout_s=20)
NAME = ModelName(PROVIDERS["openai-compatible"], "some-model")


def event(content: object, *, stop: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {"content": content}, "finish_reason": stop}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


END = b"data: [DONE]\n\n"
WHOLE = json.dumps({"choices": [{"message": {"content": "Known."}, "finish_reason": "stop"}]}).encode()


class Wire:
    """Says the same to every request; `connections` counts how often somebody has called."""

    def __init__(self, body: bytes, label: str = "text/event-stream", *, then: str = "end") -> None:
        self.body, self.label, self.then = body, label, then
        self.connections = 0

    @asynccontextmanager
    async def model(self) -> AsyncIterator[VendorChat]:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        chat = connect(NAME, address=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", limits=LIMITS)
        try:
            yield chat
        finally:
            await chat.close()
            await stop_accepting(server)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.partition(b":")[2]))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: " + self.label.encode() + b"\r\n")
                writer.write(b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(self.body), self.body))
                await writer.drain()
                if self.then == "cut":
                    return
                if self.then == "hang":
                    await reader.read()
                    return
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass  # the other side has hung up
        finally:
            writer.close()


async def test_calls_share_a_connection():
    wire = Wire(event("Known.", stop="stop") + END)
    async with wire.model() as model:
        for _ in range(5):
            assert (await model.complete(REQUEST)).text == "Known."
    assert wire.connections == 1


@pytest.mark.parametrize(
    "wire",
    [
        Wire(event("Known.", stop="stop")[:-2]),
        Wire(event("Known.", stop="stop").replace(b"\n", b"\r\n") + END),
        Wire(b"\xef\xbb\xbf" + event("Known.", stop="stop") + END),
        Wire(b": wait\n\ndata:\n\n" + event("Known.", stop="stop") + END),
        Wire(event("Kno") + event("?!", index=1) + event("wn.", stop="stop") + END),
        Wire(event([{"type": "text", "text": "Known."}], stop="stop") + END),
        Wire(event("Known.", stop="stop") + END, label="application/json"),
        Wire(WHOLE, label="application/json"),
        Wire(WHOLE, label="text/plain"),
        Wire(event("Known.", stop="stop"), then="cut"),
    ],
    ids="no-last-break crlf byte-order-mark comments second-choice parts mislabelled whole whole-as-text cut".split(),
)
async def test_an_answer_is_read_as_it_comes(wire):
    async with wire.model() as model:
        assert (await model.complete(REQUEST)).text == "Known."


async def test_a_server_that_does_not_hang_up_after_its_answer_costs_a_moment():
    async with Wire(event("Known.", stop="stop"), then="hang").model() as model, asyncio.timeout(HANG_S):
        assert (await model.complete(REQUEST)).text == "Known."


@pytest.mark.parametrize("wire", [Wire(event("Kno"), then="cut"), Wire(event("", stop="error"))], ids=["cut", "error"])
async def test_what_is_no_whole_answer_is_none(wire):
    async with wire.model() as model:
        with pytest.raises(CallFailed):
            await model.complete(REQUEST)


@pytest.mark.parametrize("key", ["sk-abc“", "sk-abc\n", " sk-abc", "sk\tabc"])
def test_a_key_that_was_copied_with_something_else_is_refused(key):
    with pytest.raises(ConfigurationError, match="DEEP_RESEARCH_OPENAI_COMPATIBLE_API_KEY"):
        require_ready(NAME, address="http://127.0.0.1:9/v1", key=key)
