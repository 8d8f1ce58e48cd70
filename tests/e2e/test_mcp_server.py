"""The official MCP client against our server, as a program and over HTTP: every tool, and what goes wrong."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.harness import User
from tests.support.accounts import Operator
from tests.support.examples import EXAMPLES, copy_index
from tests.support.gated_model import GatedModel
from tests.support.server import QUESTION, VAGUE, all_documents, server_process, serving, settings_for
from tests.support.waiting import HANG_S

TOOLS = ["research", "research_status", "answer", "report", "cancel", "search", "fetch"]
CHINESE = "哈尔登湾的热泵改造花了多少钱？"
Connect = Callable[[], Any]


def program(folder: Path, **env: str) -> StdioServerParameters:
    """Return how a client starts the server as a program."""
    given = {
        "DEEP_RESEARCH_LOGS": str(folder / "logs"),
        "DEEP_RESEARCH_DOCS": str(EXAMPLES),
        "DEEP_RESEARCH_STRATEGY": "local",
    }
    environment = User(folder, env=given | env).environment()
    return StdioServerParameters(
        command=sys.executable, args=["-m", "deep_research", "mcp"], env=environment, cwd=folder
    )


@pytest.fixture(scope="module", params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "stdio":
        copy_index(folder / "home")
        yield lambda: Client(program(folder))
        return
    with serving(all_documents(folder)) as server:
        yield lambda: Client(f"{server.address}/mcp")


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that works, and return its data."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    data: dict[str, Any] = result.structured_content
    return data


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that refuses, and return why."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.long
async def test_a_question_is_researched_with_progress_and_found_again(connect: Connect) -> None:
    told: list[tuple[float, str]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with connect() as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        assert all(tool.description and tool.output_schema for tool in listed)
        result = await client.call_tool("research", {"question": QUESTION}, progress_callback=on_progress)
        state = result.structured_content
        assert (state["status"], state["is_verified"]) == ("done", True)
        assert result.content[0].text == state["report"]
        assert [number for number, _ in told] == sorted({number for number, _ in told})
        assert any("Searching" in text for _, text in told)
        assert any(text.startswith("+ ") for _, text in told), "sources"

        whole = await call(client, "report", run=state["run"])
        titles = [section["title"] for section in whole["sections"]]
        assert "Findings" in titles
        part = await call(client, "report", run=state["run"], section="findings", format="json")
        assert [section["title"] for section in part["sections"]] == ["Findings"]
        assert [source["number"] for source in part["sources"]] == part["sections"][0]["citations"]
        source = await call(client, "fetch", id=part["sources"][0]["id"])
        assert "146.2 million" in source["text"]

        found = (await call(client, "search", query="cost of the heat pumps in Halden Bay"))["results"]
        assert all(set(item) == {"id", "title", "url"} for item in found)
        assert found[0]["id"] == f"report:{state['run']}"
        assert {item["id"].partition(":")[0] for item in found} == {"report", "source", "file"}
        for item in found:
            fetched = await call(client, "fetch", id=item["id"])
            assert set(fetched) == {"id", "title", "text", "url", "metadata"}
            assert (fetched["id"], fetched["title"]) == (item["id"], item["title"])
            assert fetched["text"]
        # Told in the middle of two documents, and in no title.
        inside = (await call(client, "search", query="acoustic walls decibels"))["results"]
        assert {item["id"].partition(":")[0] for item in inside[:3]} >= {"source", "file"}
        assert "acoustic walls" in (await call(client, "fetch", id=inside[0]["id"]))["text"]
        raw = await client.call_tool("search", {"query": "plant"})
        assert json.loads(raw.content[0].text) == raw.structured_content

        uri = f"deep-research://runs/{state['run']}/report.md"
        assert uri in [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert (await client.read_resource(uri)).contents[0].text == state["report"]


@pytest.mark.long
# What tools do does not depend on the transport, which the test above tries both ways.
@pytest.mark.parametrize("connect", ["http"], indirect=True)
async def test_a_chinese_question_is_asked_back_answered_and_followed_up(connect: Connect) -> None:
    async with connect() as client:
        waiting = await call(client, "research", question="它怎么样？")
        assert waiting["status"] == "waiting"
        assert len(waiting["options"]) >= 2
        assert waiting["run"] in waiting["next"]
        assert (await call(client, "research_status", run=waiting["run"]))["question"] == waiting["question"]
        assert "no option 9" in await refused(client, "answer", run=waiting["run"], answer="9")
        done = await call(client, "answer", run=waiting["run"], answer="1")
        assert (done["status"], done["run"]) == ("done", waiting["run"])
        more = await call(client, "research", question=CHINESE, follow_up_of=done["run"], language="zh-Hant")
        assert "參考" in more["report"]
        found = (await call(client, "search", query="热泵改造"))["results"]
        assert f"report:{more['run']}" in [item["id"] for item in found]


@pytest.mark.parametrize("connect", ["http"], indirect=True)
async def test_refusals_name_a_way_out_and_nothing_of_the_machine(connect: Connect) -> None:
    async with connect() as client:
        unknown = await refused(client, "report", run="0" * 32)
        assert "search" in unknown
        assert "/" not in unknown
        waiting = await call(client, "research", question=VAGUE, wait_seconds=30)
        assert "research_status" in await refused(client, "report", run=waiting["run"])
        assert (await call(client, "cancel", run=waiting["run"]))["status"] == "cancelled"
        assert "cancelled" in await refused(client, "answer", run=waiting["run"], answer="1")
        for given in ({"docs": "/etc"}, {"model": "gpt-5"}, {"wiring": "os:system"}, {"depth": "endless"}):
            assert next(iter(given)) in await refused(client, "research", question=QUESTION, **given)
        assert "collection" in await refused(client, "research", question=QUESTION, documents="../../etc")
        for id_ in ("file:server:../../../../etc/passwd", "source:x:y", "report:..", "nothing", f"report:{'0' * 32}"):
            assert "search" in await refused(client, "fetch", id=id_)
        for question in ("", "x" * 20_000, 7, None):
            assert "question" in await refused(client, "research", question=question)
        with pytest.raises(MCPError):
            await client.read_resource("deep-research://documents/server/../../etc/passwd")
        with pytest.raises(MCPError):
            await client.call_tool("shell", {"command": "id"})


async def test_a_long_research_is_waited_for_in_pieces(tmp_path: Path) -> None:
    with GatedModel() as model, serving(settings_for(tmp_path, **model.settings)) as server:
        async with Client(f"{server.address}/mcp") as client:
            begun = await call(client, "research", question=QUESTION, wait_seconds=1)
            assert begun["status"] in ("created", "running")
            assert "research_status" in begun["next"]
            assert (await call(client, "research_status", run=begun["run"], wait_seconds=0))["report"] == ""
            model.gate.set()
            assert (await call(client, "research_status", run=begun["run"], wait_seconds=60))["status"] == "done"


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    operator = Operator(tmp_path)
    for name in ("ada", "bea"):
        operator.users("add", name)
    return {name: operator.token(name) for name in ("ada", "bea")}


async def test_accounts_are_kept_apart(tmp_path: Path, tokens: dict[str, str]) -> None:
    @asynccontextmanager
    async def client_of(name: str) -> AsyncIterator[Client]:
        headers = {"authorization": f"Bearer {tokens[name]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=HANG_S, trust_env=False) as http,
            Client(streamable_http_client(f"{server.address}/mcp", http_client=http)) as client,
        ):
            yield client

    with serving(settings_for(tmp_path)) as server:
        assert server.http.post("/mcp", json={}).status_code == 401
        assert server.http.post("/mcp", json={}, headers={"host": "evil.example"}).status_code == 421
        async with client_of("ada") as ada, client_of("bea") as bea:
            run = (await call(ada, "research", question=QUESTION))["run"]
            assert "no run" in await refused(bea, "report", run=run)
            assert "nothing" in await refused(bea, "fetch", id=f"report:{run}")
            assert f"report:{run}" not in str(await call(bea, "search", query=QUESTION))
            assert (await bea.list_resources()).resources == []
            with pytest.raises(MCPError):
                await bea.read_resource(f"deep-research://runs/{run}/report.md")


@pytest.mark.long
def test_standard_output_carries_the_protocol_alone_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    with GatedModel() as model:
        env = {"DEEP_RESEARCH_PROVIDER": "ollama:scripted", "DEEP_RESEARCH_OLLAMA_ADDRESS": model.address_of("ollama")}
        given = program(tmp_path, **env)
        with subprocess.Popen(
            [given.command, *given.args],
            env=os.environ | (given.env or {}),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin
            assert process.stdout
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            asked = {"name": "research", "arguments": {"question": QUESTION, "wait_seconds": 1}}
            for message in (
                {"id": 1, "method": "initialize", "params": hello},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": asked | {"_meta": {"progressToken": 1}}},
            ):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                process.stdin.flush()
            answers: list[dict[str, Any]] = []
            while not answers or answers[-1].get("id") != 2:
                answers.append(json.loads(process.stdout.readline()))
            assert all(answer["jsonrpc"] == "2.0" for answer in answers)
            assert [answer for answer in answers if answer.get("method") == "notifications/progress"]
            run = answers[-1]["result"]["structuredContent"]["run"]
            process.send_signal(signal.SIGKILL)
        model.gate.set()
        # Two other servers of the same home find it: one goes on with it, the other leaves it alone.
        with server_process(tmp_path, **env) as first, server_process(tmp_path, **env) as second:
            assert first.client.wait(run, "done")["status"] == "done"
            assert second.client.run(run)["status"] == "done"
            events = first.client.http.get(f"/api/runs/{run}/events").text
        assert events.count('"status":"running"') == 2, "once before the kill, once after it"
