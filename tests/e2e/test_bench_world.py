"""The bench world: what it serves and logs, and whole runs through each of its faults at each kind of call."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from benchmarks.many_runs import question
from benchmarks.world import BenchWorld
from benchmarks.world_calls import (
    KINDS,
    LONG_MODEL,
    NO_WAIT,
    PLANTED,
    SHORT_MODEL,
    Call,
    Fault,
    FaultRule,
    Faults,
    Latencies,
    once_each,
    some_of_all,
)
from benchmarks.world_process import settings_for
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.reasoning.model.prompting import PROMPT_FOLDER
from deep_research.request import ResearchRequest
from deep_research.runner import request_from
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.wiring import build

LIMIT_S = 2.0
SMALL: dict[str, object] = {
    "queries_first_iteration": 2,
    "max_iterations": 2,
    "urls_per_query": 1,
    "respect_robots": False,
    "length": "short",
    "charts": False,
}
TIMEOUTS = ("model_timeout_s", "model_idle_timeout_s", "search_timeout_s", "fetch_timeout_s")
# What a small run asks of its model, each at least once.
ACTS = ("assess", "plan", "extract", "reflect", "draft", "judge", "edit")
PROMPT = f"{(PROMPT_FOLDER / 'clarify.md').read_text().splitlines()[0]}\n\n<asker>\nWhat did trams cost?\n</asker>"
CHAT = {"model": SHORT_MODEL, "messages": [{"role": "user", "content": PROMPT}]}


class _Hasty(SystemClock):
    """The real clock, but no retry waits by it."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture
def world() -> Iterator[BenchWorld]:
    with BenchWorld(NO_WAIT) as world:
        yield world


async def _research(
    world: BenchWorld, folder: Path, count: int = 1, *, limit_s: float = 20.0, **changes: object
) -> Sequence[RunRow]:
    given = settings_for(world.port, world.allowed, folder) | SMALL | dict.fromkeys(TIMEOUTS, limit_s) | changes
    settings = Settings.model_validate(given)
    adapters = replace(build(settings), clock=_Hasty())
    processor = DeepResearchProcessor(adapters)
    try:
        return await asyncio.gather(*(processor.process(_request(settings, number)) for number in range(count)))
    finally:
        await adapters.close()


def _request(settings: Settings, number: int) -> ResearchRequest:
    return request_from(settings, question(number)).model_copy(update={"focus": ("Costs",)})


def _assert_sound(row: RunRow) -> None:
    """Assert that a run ended in a checked report without anything that was planted."""
    assert row.status == "done"
    assert row.result
    assert row.result["is_verified"]
    report = _text(row, "report.md")
    assert "[1]" in report
    assert [lie for lie in PLANTED if lie in report] == []


def _assert_lied_to(row: RunRow) -> None:
    """Assert that there was something to find."""
    record = _text(row, "verify.json")
    assert [lie for lie in PLANTED if lie in record] == list(PLANTED)


def _text(row: RunRow, name: str) -> str:
    return (Path(row.folder) / name).read_text(encoding="utf-8")


def _at_every_act(fault: Fault) -> list[FaultRule]:
    acts = [FaultRule(fault, kind, act, first=1) for act in ACTS for kind in ("short", "long")]
    return [*acts, FaultRule(fault, "search", first=1), FaultRule(fault, "page", first=1)]


@pytest.mark.parametrize("fault", ["500", "429", "malformed", "cut"])
async def test_a_fault_at_each_act_and_each_kind_of_call_ends_in_a_verified_report(fault, world, tmp_path):
    world.plan(_at_every_act(fault))
    (row,) = await _research(world, tmp_path)
    _assert_sound(row)
    _assert_lied_to(row)
    failed = [call for call in world.calls if call.fault]
    assert {call.name for call in failed if call.kind in ("short", "long")} == set(ACTS)
    assert [call.name for call in failed if call.kind == "search"] == ["tavily"]
    assert sum(call.kind == "page" for call in failed) == 1


async def test_a_hang_at_each_kind_of_call_costs_its_timeout_and_ends_in_a_verified_report(world, tmp_path):
    world.plan(once_each("hang"))
    (row,) = await _research(world, tmp_path, limit_s=LIMIT_S)
    _assert_sound(row)
    _assert_lied_to(row)
    assert Counter(call.kind for call in world.calls if call.fault) == Counter(KINDS)


@pytest.mark.long
async def test_runs_side_by_side_with_faults_by_lot_all_end_in_verified_reports(world, tmp_path):
    world.plan(some_of_all(0.1))
    rows = await _research(world, tmp_path, 12, limit_s=10.0, queries_first_iteration=1)
    assert len({row.id for row in rows}) == 12
    for row in rows:
        _assert_sound(row)
    assert len({call.fault for call in world.calls if call.fault}) >= 3
    assert max(call.in_flight for call in world.calls) > 2


@pytest.mark.parametrize("form", [{}, {"stream": True}])
@pytest.mark.parametrize("tool", ["", "answer"])
def test_the_model_answers_whole_and_in_pieces_as_text_and_as_a_tool(form, tool, world):
    choice = {"tool_choice": {"type": "function", "function": {"name": tool}}} if tool else {}
    body = _post(world, "/v1/chat/completions", CHAT | form | choice)
    data = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")] or [json.loads(body)]
    parts = [choice["delta"] if form else choice["message"] for one in data for choice in one["choices"]]
    calls = [call["function"] for part in parts for call in part.get("tool_calls", ())]
    said = (
        "".join(call["arguments"] for call in calls) if tool else "".join(part.get("content") or "" for part in parts)
    )
    assert json.loads(said)["confidence"] == 0.95
    assert {call.get("name") for call in calls if "name" in call} == ({tool} if tool else set())


def test_every_answer_takes_its_time_and_is_logged_with_what_was_in_flight():
    latencies = Latencies(short=0.12, long=0.3, search=0.06, page=0.03, robots=0.01)
    with BenchWorld(latencies) as world, ThreadPoolExecutor(4) as pool:
        article = world.articles[5]
        asked = [
            pool.submit(_post, world, "/v1/chat/completions", CHAT | {"model": LONG_MODEL, "stream": True}),
            pool.submit(_post, world, "/v1/chat/completions", CHAT),
            pool.submit(_post, world, "/tavily/search", {"query": "trams", "max_results": 3}),
            pool.submit(_get, article.host, world.port, article.path),
        ]
        answers = [one.result() for one in asked]
        calls = {call.kind: call for call in world.calls}
    assert len(json.loads(answers[2])["results"]) == 3
    assert "<article>" in answers[3]
    assert set(calls) == set(KINDS)
    assert calls["page"].name == f"{article.host}{article.path}"
    for kind, call in calls.items():
        assert call.is_answered
        assert call.ended_s - call.began_s >= latencies.of(kind) - 0.002
    assert max(call.in_flight for call in calls.values()) > 1


def test_faults_hit_the_first_every_nth_or_a_share_by_lot_and_by_name():
    def hits(rule: FaultRule, names: Sequence[str]) -> list[int]:
        faults = Faults([rule])
        calls = [Call("short", name, f"{place}", 0.0, 1) for place, name in enumerate(names)]
        return [place for place, call in enumerate(calls) if faults.of(call) == rule.fault]

    assert hits(FaultRule("500", "short", first=2), ["plan"] * 5) == [0, 1]
    assert hits(FaultRule("500", "short", every=3), ["plan"] * 7) == [2, 5]
    assert hits(FaultRule("500", "short", "draft", first=1), ["plan", "draft", "draft"]) == [1]
    assert hits(FaultRule("500", "long", first=1), ["plan"]) == []
    lots = hits(FaultRule("500", "short", share=0.05, seed=1), ["plan"] * 2_000)
    assert 60 <= len(lots) <= 140
    assert lots == hits(FaultRule("500", "short", share=0.05, seed=1), ["plan"] * 2_000)
    assert lots != hits(FaultRule("500", "short", share=0.05, seed=2), ["plan"] * 2_000)


def _post(world: BenchWorld, path: str, body: Mapping[str, object]) -> str:
    return _talk("127.0.0.1", world.port, "POST", path, json.dumps(body))


def _get(host: str, port: int, path: str) -> str:
    return _talk(host, port, "GET", path)


def _talk(host: str, port: int, method: str, path: str, body: str = "") -> str:
    with closing(HTTPConnection(host, port, timeout=60)) as connection:
        connection.request(method, path, body)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()
