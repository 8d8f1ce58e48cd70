"""Failures: what is tried again by itself, what becomes a gap, and what `runs retry` does about it."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.errors import CallFailed, ModelError, NetworkError, SourceError
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.values import Brief, Plan
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import ResearchRequest, Spend
from deep_research.testing import FakeClock, ScriptedModel
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once, keys_but_status
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


def _failing(act: str, *failures: CallFailed, clock: FakeClock | None = None) -> Callable[[Adapters], Adapters]:
    def change(adapters: Adapters) -> Adapters:
        (model,) = adapters.models
        assert isinstance(model, ScriptedModel)
        model = replace(model, failures={act: failures})
        return replace(adapters, models=(model,), clock=clock or FakeClock())

    return change


def _text(user: User) -> str:
    """Return the report up to the account of the search, which counts what was searched for in vain, too."""
    return user.report().partition("## About this report")[0]


# The retry boundary


@pytest.mark.parametrize("failure", [NetworkError, ModelError])
def test_a_plan_that_fails_twice_is_waited_for(undisturbed: User, tmp_path: Path, failure: type[CallFailed]) -> None:
    user, clock = User(tmp_path), FakeClock()
    row = Lab(user, change=_failing("plan", failure("down"), failure("down again"), clock=clock)).ask()
    assert row.status == "done"
    assert clock.waits == [2, 4]
    told = [event.data for event in user.events() if event.kind == "error"]
    assert [(data["message"], data["retry_count"]) for data in told] == [("down", 1), ("down again", 2)]
    assert {data["category"] for data in told} == {failure.category}
    assert_emitted_once(user.events())
    assert len(user.begun()) == len(undisturbed.begun()) + 2
    assert "What was left out" not in user.report()


def test_a_plan_that_fails_three_times_is_made_by_rules_and_nothing_is_lost(undisturbed: User, tmp_path: Path) -> None:
    user, clock = User(tmp_path), FakeClock()
    failures = [NetworkError("down", spend=Spend(tokens=5)) for _ in range(3)]
    row = Lab(user, change=_failing("plan", *failures, clock=clock)).ask()
    assert row.status == "done"
    assert clock.waits == [2, 4]
    lost = [call for call in user.calls() if call.state == "failed"]
    assert sum(call.spend.tokens for call in lost) == 15
    assert "stood in for 1 step" in user.report().partition("## About this report")[2]
    told = [event.data for event in user.events() if event.kind == "progress" and event.data["step"] == "plan"]
    assert [data["status"] for data in told] == ["started", "failed", "done"]
    assert told[1]["data"] == {"reason": "down"}
    assert_emitted_once(user.events())
    assert Lab(user).resume(row.id, retry=True).status == "done"
    assert _text(user) == _text(undisturbed)


def test_a_source_error_is_not_tried_again(tmp_path: Path) -> None:
    user, clock = User(tmp_path), FakeClock()
    with pytest.raises(SourceError):
        Lab(user, change=_failing("plan", SourceError("no use"), clock=clock)).ask()
    assert clock.waits == []
    assert user.only_run().status == "failed"


def test_a_run_by_rules_is_mended_at_the_command_line(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.ask("planless")
    assert ended.returncode == 0, ended.stderr
    assert "does not answer" in ended.stderr
    row, told = user.only_run(), user.events()

    (user.folder / "mended").touch()
    retried = user.run("runs", "retry", row.id)
    assert retried.returncode == 0, retried.stderr
    assert _text(user) == _text(undisturbed)
    assert user.events()[: len(told)] == told
    assert_emitted_once(user.events())


# Acts of a branch, and acts the run can do without


class _Planning(ScriptedReasoner):
    """Plans the queries of the first round, so that only a later round asks for any."""

    async def plan(self, brief: Brief) -> Plan:
        plan = await super().plan(brief)
        return plan.replace(
            sections=tuple(
                each.replace(search_queries=tuple(SearchQuery(query=f"{each.title} {n}") for n in range(4)))
                for each in plan.sections
            )
        )


@pytest.mark.parametrize("act", ["queries", "extract", "compress", "reflect", "draft"])
def test_a_failed_act_of_a_branch_has_a_stand_in_and_is_named(tmp_path: Path, act: str) -> None:
    user, clock = User(tmp_path), FakeClock()
    lab = Lab(user, World(pages=8, reasoner=_Planning()), change=_failing(act, ModelError("nonsense"), clock=clock))
    assert lab.ask().status == "done"
    assert clock.waits == [], "one branch does not make the others wait"
    report = user.report()
    assert "## Costs" in report
    assert "1 step" in report.partition("## About this report")[2], report[-800:]


def test_a_chart_that_cannot_be_planned_never_fails_the_run(tmp_path: Path) -> None:
    user = User(tmp_path)
    failures = [NetworkError("down") for _ in range(9)]
    assert Lab(user, change=_failing("plan_charts", *failures), charts=True).ask().status == "done"


# Searches and pages


def test_failed_searches_and_pages_are_gaps_until_they_are_retried(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.ask("torn")
    assert ended.returncode == 0, ended.stderr
    row, told = user.only_run(), user.events()
    lost = Counter(call.kind for call in user.calls() if call.state == "failed")
    assert lost["search"] == 2
    assert lost["fetch"] >= 1
    limits = user.report().partition("## About this report")[2]
    assert limits.count("failed: the engine does not answer") == 2
    assert re.search(r"https://example\.test/page/1\b", limits.partition("\n## ")[0])
    assert user.report() != undisturbed.report()
    assert Lab(user).resume(row.id).status == "done"
    assert user.events() == told, "a resume of a finished run does nothing"

    (user.folder / "mended").touch()
    paid, begun = {call.key for call in user.calls() if call.state == "done"}, len(user.begun())
    retried = user.run("runs", "retry", row.id)
    assert retried.returncode == 0, retried.stderr
    assert _text(user) == _text(undisturbed)
    assert len(user.begun()) - begun < len(undisturbed.begun()) / 2, "only what failed, and what follows from it"
    calls = {call.key: call for call in user.calls()}
    assert all(calls[key].state == "done" and calls[key].attempt == 0 for key in paid)
    events = user.events()
    assert events[: len(told)] == told
    assert_emitted_once(events)
    assert keys_but_status(events) >= keys_but_status(told)
    found = [event for event in events[len(told) :] if event.kind == "source"]
    assert {event.data["address"] for event in found} >= {"https://example.test/page/1"}


def test_a_web_that_is_down_still_ends_in_an_honest_report(tmp_path: Path) -> None:
    user = User(tmp_path)

    def down(adapters: Adapters) -> Adapters:
        (engine,) = adapters.engines
        return replace(adapters, engines=(_Broken(engine.name),))

    row = Lab(user, change=down).ask()
    assert row.status == "done"
    assert row.result is not None
    assert row.result["is_verified"] is True
    assert row.result["is_searched"] is False
    assert "No search succeeded" in user.report()
    assert "A program failed at this step" in user.report(), "a bug in an adapter is a gap too"
    assert "ZeroDivisionError" not in user.report()


class _Broken:
    """An engine with a bug."""

    timeout_s = 5.0

    def __init__(self, name: str) -> None:
        self.name = name

    async def search(self, query: object, *, limit: int) -> list:
        return [1 // 0]


def test_two_runs_of_one_runtime_do_not_meet(tmp_path: Path) -> None:
    user = User(tmp_path)
    runtime = Lab(user).processor()

    async def both() -> list[str]:
        rows = [await runtime.create(ResearchRequest(question=QUESTION)) for _ in range(2)]
        ended = await asyncio.gather(*(runtime.resume(row.id) for row in rows))
        return [(Path(row.folder) / "report.md").read_text(encoding="utf-8").partition("\n---\n")[0] for row in ended]

    first, second = asyncio.run(both())
    assert first == second
