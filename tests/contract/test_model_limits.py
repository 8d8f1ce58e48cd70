"""What all calls to one provider share, whichever run, thread and event loop they come from, and what they do not."""

import asyncio
import json
import threading
import urllib.request

import pytest

from deep_research.llm.chat import ModelLimits, connect
from deep_research.llm.port import ModelRequest
from deep_research.llm.registry import PROVIDERS, model_named
from deep_research.web.net.slots import slot
from tests.support.model_dialects import Answer, Asked
from tests.support.model_server import ModelServer

REQUEST = ModelRequest(act="plan", role="task", prompt="What is known?", max_tokens=100)


def model_at(server: ModelServer, limits: ModelLimits, provider: str = "openai-compatible"):
    return connect(model_named(f"{provider}:m"), address=server.address_of(provider), key="k", limits=limits)


async def test_ten_runs_share_one_limit():
    with ModelServer(Answer(text="fine", delay_s=0.02)) as server:
        runs = [model_at(server, ModelLimits(calls_in_flight=3)) for _ in range(10)]
        await asyncio.gather(*(run.complete(REQUEST) for run in runs for _ in range(3)))
    assert len(server.requests) == 30
    assert server.peak == 3


def test_threads_with_loops_of_their_own_share_one_limit():
    async def run(server: ModelServer) -> None:
        model = model_at(server, ModelLimits(calls_in_flight=2))
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(4)))

    with ModelServer(Answer(text="fine", delay_s=0.02)) as server:
        threads = [threading.Thread(target=asyncio.run, args=(run(server),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.requests) == 16
    assert server.peak == 2


async def test_other_addresses_are_not_held_up():
    with ModelServer(Answer(text="fine", hang_after=0)) as slow, ModelServer(Answer(text="fine")) as quick:
        limits = ModelLimits(calls_in_flight=1)
        hanging = asyncio.ensure_future(model_at(slow, limits).complete(REQUEST))
        assert (await model_at(quick, limits).complete(REQUEST)).text == "fine"
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging


async def test_waiting_for_a_slot_does_not_count_against_the_time_limit(monkeypatch):
    loop = asyncio.get_running_loop()
    clock = loop.time
    with ModelServer(Answer(text="fine")) as server:
        model = model_at(server, ModelLimits(timeout_s=60, calls_in_flight=1))
        async with slot(server.address_of("openai-compatible"), 1):
            call = asyncio.ensure_future(model.complete(REQUEST))
            await asyncio.sleep(0.1)
            monkeypatch.setattr(loop, "time", lambda: clock() + 3_600)
            await asyncio.sleep(0.1)
        assert (await call).text == "fine"


async def test_cancelled_call_gives_its_slot_back():
    with ModelServer(Answer(text="fine", hang_after=0)) as server:
        model = model_at(server, ModelLimits(calls_in_flight=1))
        calls = [asyncio.ensure_future(model.complete(REQUEST)) for _ in range(3)]
        while not server.requests:
            await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        server.script = lambda _: Answer(text="fine")
        assert (await model.complete(REQUEST)).text == "fine"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_adapter_serves_several_event_loops(provider):
    with ModelServer(Answer(text="fine")) as server:
        model = model_at(server, ModelLimits(), provider)
        assert [asyncio.run(model.complete(REQUEST)).text for _ in range(2)] == ["fine", "fine"]


async def test_server_holds_hundreds_of_connections_at_once():
    body = b'{"model": "m", "stream": true}'
    ask = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with ModelServer(Answer(text="fine", hang_after=0)) as server:
        port = int(server.address_of("ollama").rpartition(":")[2])
        streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        for _, writer in streams:
            writer.write(ask)
        while len(server.requests) < 300:
            await asyncio.sleep(0.01)
        assert server.peak == 300
        for _, writer in streams:
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/chat/completions", {"model": "m"}, ("choices", 0, "message", "content")),
        ("/v1/messages", {"model": "m"}, ("content", 0, "text")),
        ("/v1beta/models/m:generateContent", {}, ("candidates", 0, "content", "parts", 0, "text")),
        ("/api/chat", {"model": "m", "stream": False}, ("message", "content")),
    ],
)
def test_server_answers_in_one_piece_whoever_asks_without_streaming(path, body, place):
    with ModelServer(Answer(text="茶")) as server:
        url = server.address_of("ollama") + path
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
            data = json.load(response)
    for step in place:
        data = data[step]
    assert data == "茶"
    assert isinstance(server.requests[0], Asked)
