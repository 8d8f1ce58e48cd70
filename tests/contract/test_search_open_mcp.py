"""MCP servers as sources, against real servers: one that is started, one on loopback, and some that misbehave."""

import asyncio
import socket
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from deep_research.errors import ConfigurationError, NetworkError, SourceBusy, SourceError, SourceRefused
from deep_research.report.sources.hit import SearchQuery
from deep_research.value import Json
from deep_research.web.search.mcp import results_in_reply
from deep_research.web.search.mcp_servers import McpServer, connect_server
from tests.contract.mcp_demo_server import server as demo
from tests.support.search_server import Answer, SearchServer
from tests.support.waiting import HANG_S

pytestmark = pytest.mark.processes
_PROGRAM = (sys.executable, str(Path(__file__).with_name("mcp_demo_server.py")))
_KEY = "key-very-secret-0123456789"


@pytest.fixture(scope="module")
def address():
    """Return where the demo server answers over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(demo.streamable_http_app(), log_level="critical", ws="none")
        http = uvicorn.Server(config)
        thread = threading.Thread(target=http.run, kwargs={"sockets": [listener]})
        thread.start()
        while not http.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{port}/mcp"
        http.should_exit = True
        thread.join()


def engine(tool: str = "say", *, timeout_s: float = HANG_S, **options: Any):
    return connect_server(McpServer(name="demo", tool=tool, **options), timeout_s=timeout_s)


async def test_started_server_answers_with_what_it_was_given(capfd):
    corner = {"corner": "東京"}
    found = engine("find", command=_PROGRAM, argument="q", limit_argument="count", arguments=corner)
    hits = await found.search(SearchQuery(query="太陽能"), limit=2)
    assert [(hit.address, hit.title, hit.snippet, hit.published, hit.engine) for hit in hits] == [
        ("https://example.org/0", "太陽能 0", "In 東京.", "2024-05-21", "mcp:demo"),
        ("https://example.org/1", "太陽能 1", "In 東京.", "2024-05-21", "mcp:demo"),
    ]
    assert capfd.readouterr() == ("", "")


async def test_started_server_sees_only_the_variables_meant_for_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    found = engine("environment", command=_PROGRAM, environment={"DEMO_KEY": "mine"})
    hits = await found.search(SearchQuery(query="OPENAI_API_KEY DEMO_KEY"), limit=2)
    assert [hit.title for hit in hits] == ["unset", "mine"]


async def test_server_on_the_network_gives_the_same(address):
    found = engine("find", address=address, argument="q", limit_argument="count")
    assert (found.name, found.timeout_s) == ("mcp:demo", HANG_S)
    hits = await found.search(SearchQuery(query="太陽能"), limit=5)
    assert [hit.address for hit in hits] == [f"https://example.org/{place}" for place in range(5)]


async def test_links_and_enclosed_pages_are_results(address):
    hits = await engine("link", address=address).search(SearchQuery(query="x"), limit=5)
    assert [(hit.address, hit.title, hit.snippet) for hit in hits] == [
        ("https://example.org/l", "Linked", "Described."),
        ("https://example.org/e", "https://example.org/e", "Whole text."),
    ]


@pytest.mark.parametrize("tool", ["fail", "missing", "find"])
async def test_tool_that_fails_is_an_error_that_repeats_nothing(address, tool):
    with pytest.raises(SourceError, match="could not run its tool") as caught:
        await engine(tool, address=address).search(SearchQuery(query="my question"), limit=3)
    assert "very-secret" not in str(caught.value)
    assert "my question" not in str(caught.value)


async def test_silence_is_nothing_found_and_words_without_an_address_are_an_error(address):
    found = engine(address=address)
    assert await found.search(SearchQuery(query=" "), limit=3) == []
    for words in ('{"results": []}', "[]"):
        assert await found.search(SearchQuery(query=words), limit=3) == []
    for words in ("Sorry, the limit is reached.", '{"error": "limit"}', "未找到"):
        with pytest.raises(SourceError, match="without the address"):
            await found.search(SearchQuery(query=words), limit=3)


async def test_waiting_tool_costs_no_more_than_its_time_limit(address):
    with pytest.raises(NetworkError, match=r"within 0\.3 s"):
        await engine("sleep", address=address, timeout_s=0.3).search(SearchQuery(query="x"), limit=3)


async def test_time_that_runs_out_is_told_also_where_the_sdk_fails_over_it(monkeypatch):
    @asynccontextmanager
    async def transport():
        try:
            await asyncio.sleep(HANG_S)
        except asyncio.CancelledError:
            raise ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("broken")]) from None
        yield

    monkeypatch.setattr("mcp.client.streamable_http.streamable_http_client", lambda *_, **__: transport())
    with pytest.raises(NetworkError, match=r"within 0\.1 s"):
        await engine("say", address="http://127.0.0.1:9", timeout_s=0.1).search(SearchQuery(query="x"), limit=3)


@pytest.mark.parametrize("code", ["", "print('no protocol')", "import sys; sys.exit(3)"])
async def test_program_that_is_no_server_is_an_error(code, capfd):
    with pytest.raises(SourceError, match="MCP server demo"):
        await engine(command=(sys.executable, "-S", "-c", code)).search(SearchQuery(query="x"), limit=3)
    assert capfd.readouterr() == ("", "")


async def test_program_that_is_not_there_is_an_error():
    with pytest.raises(NetworkError, match="MCP server demo could not be reached"):
        await engine(command=("/no/such/program",)).search(SearchQuery(query="x"), limit=3)


@pytest.mark.parametrize(
    ("answer", "kind", "wait_s"),
    [
        (Answer("<html>Hello</html>"), SourceError, None),
        (Answer({"error": "who?"}, status=401), SourceRefused, None),
        (Answer(b"", status=429, headers={"Retry-After": "7"}), SourceBusy, 7),
        (Answer(b"", status=503), SourceBusy, None),
        (Answer({"a": 1}), SourceError, None),
        (Answer(b"", status=404), SourceError, None),
    ],
)
async def test_address_that_is_no_server_is_an_error(answer, kind, wait_s):
    with SearchServer(answer) as web, pytest.raises(SourceError, match="MCP server demo") as caught:
        await engine(address=web.address, key=_KEY).search(SearchQuery(query="x"), limit=3)
    assert type(caught.value) is kind
    assert getattr(caught.value, "retry_after_s", None) == wait_s
    assert web.requests[0].headers["authorization"] == f"Bearer {_KEY}"
    assert web.requests[0].headers["user-agent"].startswith("deep-research/")


async def test_address_where_nobody_listens_is_a_network_error():
    with SearchServer(Answer()) as web:
        pass
    with pytest.raises(NetworkError, match="MCP server demo"):
        await engine(address=web.address).search(SearchQuery(query="x"), limit=3)


@pytest.mark.parametrize(
    "options", [{}, {"command": ("x",), "address": "https://example.org"}, {"address": "ftp://example.org"}]
)
def test_half_a_configuration_is_told_at_once(options):
    with pytest.raises(ConfigurationError, match="demo needs"):
        engine(**options)


def test_secrets_are_not_shown():
    assert _KEY not in repr(McpServer(name="demo", tool="x", key=_KEY, environment={"A": _KEY}))


TEA = ("https://example.org/tea", "Tea", "A drink.")
COFFEE = ("https://example.org/coffee_(cup)", "Coffee", "Another.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            (
                "Found 2:\n\n1. [Tea](https://example.org/tea)\n   A drink.\n\n"
                "2. [Coffee](https://example.org/coffee_(cup)) - Another."
            ),
            [TEA, COFFEE],
        ),
        (
            (
                "Title: Tea\nURL: https://example.org/tea\nDescription: A drink.\n\n"
                "**Title:** Coffee\n**URL:** https://example.org/coffee_(cup)\n**Summary:** Another."
            ),
            [TEA, COFFEE],
        ),
        (
            "标题：茶\n链接：https://example.org/茶\n摘要：一种饮料。\n\n標題：茶\n連結：https://example.org/tea\n摘要：一種飲料。",
            [("https://example.org/茶", "茶", "一种饮料。"), ("https://example.org/tea", "茶", "一種飲料。")],
        ),
        (
            "## Tea\nhttps://example.org/tea\nA drink.\nhttps://example.org/coffee_(cup)",
            [TEA, ("https://example.org/coffee_(cup)", "", "")],
        ),
        ("Tea (https://example.org/tea).", [("https://example.org/tea", "Tea", "")]),
        ('[{"link": "https://example.org/tea", "name": "Tea", "summary": "A drink."}]', [TEA]),
        ('{"organic": {"hits": [{"url": "https://example.org/tea", "title": "Tea", "text": "A drink."}]}}', [TEA]),
    ],
)
def test_results_are_found_in_texts_of_many_forms(text, found):
    assert [result[:3] for result in results_in_reply([None], [text]) or ()] == found


def test_data_come_before_texts_and_deep_data_end():
    deep: Json = {"url": "https://example.org/deep"}
    for _ in range(100):
        deep = {"inner": deep}
    result: Json = {"url": "https://example.org/tea", "title": "Tea", "snippet": "A drink."}
    assert [one[:3] for one in results_in_reply([{"results": [result]}], ["https://example.org/other"]) or ()] == [TEA]
    assert results_in_reply([deep], []) is None
