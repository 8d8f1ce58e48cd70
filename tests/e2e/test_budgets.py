"""Every kind of budget is hit: the run ends in a report that names what was left out, and keeps to its limit."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.pipeline.budget import ENDING_SHARE
from deep_research.pipeline.journal import spent_so_far
from deep_research.reasoning.values import Brief, Plan
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import BUDGET_KINDS, Budget, BudgetKind
from deep_research.testing import ActPrice
from deep_research.text.messages.words import words_in
from tests.e2e.harness import Lab, User, assert_emitted_once
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World

# Enough to begin with and too little to end with, in the worlds of `worlds.py`.
LIMITS: dict[BudgetKind, str] = {"usd": "0.02", "tokens": "2000", "seconds": "2", "queries": "3", "pages": "4"}
# A call that was allowed in time may begin a moment later on a busy machine.
LATEST_S = 1.0
QUESTIONS = {
    "en": "What did the projects cost and achieve?",
    "zh-Hans": "这些项目花了多少钱，取得了什么成果？",
    "zh-Hant": "這些專案花了多少錢，取得了什麼成果？",
}


@pytest.fixture(scope="module")
def starved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, User]:
    """Return one run for each kind of budget, all begun at the command line."""
    folder = tmp_path_factory.mktemp("starved")
    users: dict[str, User] = {}
    for kind in BUDGET_KINDS:
        user = users[kind] = User(folder / kind)
        world = "paced" if kind == "seconds" else "quick"
        ended = user.call("ask", user.question, "--wiring", f"worlds:{world}", f"--budget-{kind}", LIMITS[kind])
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("# ")
    return users


@pytest.mark.parametrize("kind", BUDGET_KINDS)
def test_a_run_that_hits_a_budget_ends_in_a_report_that_says_so(starved: dict[str, User], kind: BudgetKind) -> None:
    user = starved[kind]
    assert user.only_run().status == "done"
    report = user.report()
    about = report.partition("## About this report\n")[2]
    assert _names_budget(about, kind, float(LIMITS[kind]), "en")
    told = [event for event in user.events() if event.kind == "budget"]
    assert told
    assert {event.data["kind"] for event in told} == {kind}
    assert_emitted_once(user.events())


@pytest.mark.parametrize("kind", BUDGET_KINDS)
def test_no_budget_is_exceeded(starved: dict[str, User], kind: BudgetKind) -> None:
    user, limit = starved[kind], float(LIMITS[kind])
    if kind == "seconds":
        # What a run does without calling anybody takes as long as the machine needs for it.
        calls = (row for row in user.journal() if row.kind in ("search", "fetch", "llm") and row.state != "refused")
        begun = [row.started_at for row in calls]
        assert not begun or (max(begun) - min(begun)).total_seconds() <= limit + LATEST_S
        return
    stats = json.loads((Path(user.only_run().folder) / "stats.json").read_text(encoding="utf-8"))
    spent = spent_so_far(user.journal()).of(kind)
    largest = max(row.estimate.of(kind) for row in user.journal())
    assert limit - largest <= spent <= limit + 1e-9
    assert stats["spent"][kind] == pytest.approx(spent)


@pytest.mark.parametrize("kind", ["usd", "tokens"])
def test_research_leaves_the_ending_its_share(starved: dict[str, User], kind: BudgetKind) -> None:
    ending = ("analyze", "chart", "draft", "verify", "write")
    research = [row for row in starved[kind].calls() if not row.scope.startswith(ending)]
    assert spent_so_far(research).of(kind) <= float(LIMITS[kind]) * (1 - ENDING_SHARE[kind]) + 1e-9
    finished = {row.scope for row in starved[kind].calls() if row.state == "done"}
    assert any(scope.startswith(("draft", "write")) for scope in finished), "nothing was left for the ending"


@pytest.mark.parametrize("kind", BUDGET_KINDS)
def test_a_budget_of_nothing_still_ends_in_a_report(tmp_path: Path, kind: BudgetKind) -> None:
    user = User(tmp_path)
    row = Lab(user).ask(budget=Budget.from_json({kind: 0}))
    assert row.status == "done"
    assert row.result is not None
    assert row.result["is_verified"] is True
    assert spent_so_far(user.journal()).of(kind) == 0
    assert _names_budget(user.report(), kind, 0, "en"), user.report()
    assert {event.data["kind"] for event in user.events() if event.kind == "budget"} == {kind}


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_limits_are_said_in_the_language_of_the_question(tmp_path: Path, language: str) -> None:
    user = User(tmp_path)
    budget = Budget(usd=0.01, pages=3)
    assert Lab(user).ask(QUESTIONS[language], budget=budget).status == "done"
    report = user.report()
    assert _names_budget(report, "usd", 0.01, language), report
    assert _names_budget(report, "pages", 3, language), report
    assert "budget" not in report


def test_budgets_are_told_at_a_chinese_command_line(tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.call("ask", QUESTIONS["zh-Hans"], "--wiring", "worlds:quick", "--budget-tokens", "1000")
    assert ended.returncode == 0, ended.stderr
    assert _names_budget(ended.stdout, "tokens", 1000, "zh-Hans")


def test_a_call_above_its_estimate_is_recorded_and_lowers_the_rest(tmp_path: Path) -> None:
    user = User(tmp_path)
    dear = ActPrice(tokens=300, max_tokens=100, usd=0.003, max_usd=0.001)
    limit = 2000
    assert Lab(user, world=World(pages=8, act=dear, long_act=dear)).ask(budget=Budget(tokens=limit)).status == "done"
    calls = [row for row in user.calls() if row.kind == "llm"]
    assert {row.spend.tokens for row in calls if row.state == "done"} == {300}
    assert any(row.state == "refused" for row in calls)
    for row in calls:
        if row.state == "done":
            before = sum(
                other.spend.tokens for other in calls if other.ended_at is not None and other.ended_at < row.started_at
            )
            assert before + row.estimate.tokens <= limit, "a call was begun that the rest did not allow"


def test_several_budgets_are_all_kept(tmp_path: Path) -> None:
    user = User(tmp_path)
    budget = Budget(usd=0.03, tokens=2500, queries=4, pages=5, seconds=60)
    assert Lab(user).ask(budget=budget).status == "done"
    spent = spent_so_far(user.journal())
    for kind in BUDGET_KINDS:
        assert spent.of(kind) <= (budget.limit(kind) or 0) + 1e-9


class _Wordy(ScriptedReasoner):
    """Plans more queries than anybody will pay for."""

    async def plan(self, brief: Brief) -> Plan:
        plan = await super().plan(brief)
        sections = tuple(
            section.replace(search_queries=tuple(SearchQuery(query=f"{section.title} {each}") for each in range(5)))
            for section in plan.sections
        )
        return plan.model_copy(update={"sections": sections})


def test_planned_queries_that_the_budget_forbids_are_counted(tmp_path: Path) -> None:
    user = User(tmp_path)
    world = replace(World(pages=8), reasoner=_Wordy(rounds=1))
    assert Lab(user, world=world).ask(budget=Budget(queries=2)).status == "done"
    assert spent_so_far(user.journal()).queries == 2
    # One of the ten went to the first look at the web.
    assert words_in("en")("left_out.query", count=9) in user.report(), user.report()[-1500:]


@pytest.mark.long
def test_a_resumed_run_keeps_to_what_is_left(tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.ask("quick", "--budget-tokens", "2000", TEST_KILL_AT="90")
    assert ended.returncode < 0
    assert Lab(user).resume(user.only_run().id).status == "done"
    lost = sum(row.orphaned.tokens for row in user.calls())
    assert spent_so_far(user.journal()).tokens <= 2000
    assert _names_budget(user.report(), "tokens", 2000, "en"), f"{lost} tokens were lost"


def test_the_last_seconds_of_a_process_are_counted_too(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user, change=lambda adapters: replace(adapters, heartbeat_s=60.0)).ask()
    stats = json.loads((Path(row.folder) / "stats.json").read_text(encoding="utf-8"))
    assert row.active_s >= stats["spent"]["seconds"] > 0


def _names_budget(report: str, kind: BudgetKind, limit: float, language: str) -> bool:
    before, _, _ = words_in(language)(f"budget.{kind}", limit=f"{limit:g}", left_out="\0").partition("\0")
    return before in report
