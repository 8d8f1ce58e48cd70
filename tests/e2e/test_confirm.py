"""The plan before the user: shown when it matters and somebody is there, approved, cut or edited, never lost."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from deep_research.errors import InputError
from deep_research.reasoning.values import Brief, Findings, Plan, SectionPlan
from deep_research.report.paragraph import Paragraph
from deep_research.report.sources.hit import SearchQuery
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once, assert_explained
from tests.e2e.terminal import CTRL_D, Terminal
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World

DOCUMENTS = str(Path(__file__).parents[2] / "examples" / "documents")
COMPLEX = "Compare the costs and results of the projects"


# When it is asked for


@pytest.mark.parametrize(
    ("question", "given_request"), [(COMPLEX, {}), (COMPLEX, {"interactive": True, "assume": True})]
)
def test_plan_is_followed_unasked_where_nobody_is_there_or_wants_to_be_asked(
    tmp_path: Path, question: str, given_request: dict[str, Any]
) -> None:
    assert Lab(User(tmp_path)).ask(question, **given_request).status == "done"


@pytest.mark.parametrize("question", [COMPLEX, "全面評估各項目的成本", "全面评估各项目的成本"])
def test_plan_of_a_complex_question_is_confirmed_where_somebody_is_there(tmp_path: Path, question: str) -> None:
    row = Lab(User(tmp_path)).ask(question, interactive=True)
    assert (row.pending or {})["kind"] == "plan-approval"


def test_costly_plan_is_confirmed_and_says_what_it_may_cost(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user, change=lambda adapters: replace(adapters, confirm_above_usd=0.001))
    row = lab.ask(QUESTION, interactive=True)
    assert row.pending is not None
    assert row.pending["kind"] == "plan-approval"
    estimate = row.pending["estimate"]
    assert isinstance(estimate, dict)
    assert f"about ${estimate['usd']:.2f}, at most ${estimate['most_usd']:.2f}" in str(row.pending["question"])
    told = [event.data for event in user.events() if event.kind == "plan-approval"]
    assert told == [{"status": "waiting", "estimate_usd": estimate["usd"]}]


def test_plan_without_a_model_costs_nothing_and_shows_what_it_may_take(tmp_path: Path) -> None:
    user = User(tmp_path)
    flags = ("--confirm-plan", "--focus", "Costs", "--focus", "Effects on people", "--budget-queries", "6")
    said = assert_explained(user.call("ask", "Heat pumps in Halden Bay", "--docs", DOCUMENTS, *flags), 2)
    run = user.only_run().id[:8]
    assert "Plan: Heat pumps in Halden Bay\n  1. Costs\n     · Heat pumps Halden Bay Costs\n" in said
    shown = [line.removeprefix("     · ") for line in said.splitlines() if line.startswith("     · ")]
    assert len(shown) == 6
    assert "description: ''" in user.call("runs", "plan", run).stdout, "no description repeats the question"
    assert "Queries: 6 in the first round, at most 6 in all; rounds: at most 1; pages: at most 18." in said
    assert "No model is paid for" in said
    for command in (f"answer {run} approve", f'answer {run} "drop 2"', f"plan {run} > plan.yaml", "--file plan.yaml"):
        assert f"{command}" in said
    ended = user.call("runs", "answer", run, "drop 2")
    assert ended.returncode == 0, ended.stderr
    assert "## Costs" in ended.stdout
    assert "## Effects on people" not in ended.stdout
    used: list[Any] = [
        event.data["queries"] for event in user.events() if event.kind == "serp-query" and event.data["round"] == 1
    ]
    assert [query["query"] for queries in used for query in queries] == shown[:3], "what was shown is what is used"


def test_focus_and_assumptions_can_be_corrected_while_the_plan_waits(tmp_path: Path) -> None:
    user = User(tmp_path)
    said = assert_explained(user.call("ask", "Heat pumps in Halden Bay", "--docs", DOCUMENTS, "--confirm-plan"), 2)
    assert "Assumed: " in said
    run = user.only_run().id[:8]
    again = assert_explained(user.call("runs", "answer", run, "focus: Noise; Costs"), 2)
    assert "  1. Noise\n" in again
    assert "  2. Costs\n" in again
    again = assert_explained(user.call("runs", "answer", run, "correct: only Kettle Point"), 2)
    assert "Plan: Heat pumps in Halden Bay: Kettle Point\n  1. Noise\n" in again
    ended = user.call("runs", "answer", run, "approve")
    assert ended.returncode == 0, ended.stderr
    assert "Kettle Point" in ended.stdout.splitlines()[0]
    assert "## Costs" in ended.stdout


def test_focus_can_be_named_instead_of_an_answer(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert_explained(user.call("ask", "热泵", "--docs", DOCUMENTS), 2)
    ended = user.call("runs", "answer", user.only_run().id, "重点：费用；噪声")
    assert ended.returncode == 0, ended.stderr
    assert "## 费用" in ended.stdout


def test_queries_that_no_round_may_use_are_not_shown(tmp_path: Path) -> None:
    class Eager(ScriptedReasoner):
        async def plan(self, brief: Brief) -> Plan:
            queries = tuple(SearchQuery(query=f"query {number}") for number in range(1, 10))
            return Plan(research_title="T", sections=(SectionPlan(title="Costs", search_queries=queries),))

    row = Lab(User(tmp_path), world=World(pages=8, reasoner=Eager())).ask(confirm_plan=True, budget={"queries": 8})
    assert row.pending is not None
    assert "· query 8\n" in str(row.pending["question"])
    assert "query 9" not in str(row.pending)


# Without a terminal


def test_plan_is_printed_edited_and_submitted(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user).ask(confirm_plan=True)
    printed = user.call("runs", "plan", row.id[:8])
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("# ")
    plan = yaml.safe_load(printed.stdout)
    assert [section["title"] for section in plan["sections"]] == ["Costs", "Results"]

    waiting = user.everything()
    (tmp_path / "plan.yaml").write_text(printed.stdout + "colour: red\n", encoding="utf-8")
    said = assert_explained(user.call("runs", "plan", row.id, "--file", "plan.yaml"), 65)
    assert said.startswith("plan.yaml: colour: there is no such key")
    assert "cannot be read" in assert_explained(user.call("runs", "plan", row.id, "--file", "no.yaml"), 65)
    assert user.everything() == waiting, "a bad plan changes nothing"

    plan["sections"] = [{"title": "Measured results", "search_queries": ["results of 2024"]}]
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan, allow_unicode=True), encoding="utf-8")
    ended = user.call("runs", "plan", row.id, "--file", "plan.yaml")
    assert ended.returncode == 0, ended.stderr
    assert "## Measured results" in ended.stdout
    assert "## Costs" not in ended.stdout
    assert any("results of 2024" in call for call in user.begun()), "an edited query is searched for"
    assert_emitted_once(user.events())

    assert "Measured results" in user.call("runs", "plan", row.id).stdout, "the plan that was followed"
    assert "does not wait" in assert_explained(user.call("runs", "plan", row.id, "--file", "plan.yaml"), 64)


def test_answer_that_is_neither_approval_nor_plan_is_explained_and_asked_for_again(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user).ask(confirm_plan=True)
    for answer, why in (("looks fine to me", "neither an approval nor a plan"), ("drop 7", "no section 7")):
        said = assert_explained(user.call("runs", "answer", row.id, answer), 2)
        assert why in said
        assert "1. Costs" in said
    assert user.call("runs", "answer", row.id, "approve").returncode == 0


def test_run_without_a_plan_says_so(tmp_path: Path) -> None:
    user = User(tmp_path)
    with pytest.raises(InputError):
        Lab(user, change=_no_documents).ask()
    assert "no plan yet" in assert_explained(user.call("runs", "plan", user.only_run().id), 64)


def _no_documents(adapters: Any) -> Any:
    class Empty:
        async def refresh(self) -> Any:
            raise InputError("The folder holds nothing.")

        async def close(self) -> None: ...

    return replace(adapters, corpus=Empty())


def test_page_of_a_run_says_what_it_waits_for_and_how_to_answer(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user).ask(confirm_plan=True)
    page = user.call("runs", "show", row.id).stdout
    assert "Status: waiting for you" in page
    assert f"Question: {QUESTION}" in page
    assert "1. Costs" in page
    assert f"deep-research runs answer {row.id[:8]} approve" in page
    assert user.call("runs", "answer", row.id, "yes").returncode == 0
    page = user.call("runs", "show", row.id).stdout
    assert "Status: done" in page
    assert "Costs: round 2" in page
    assert "$0.0" in page
    assert row.folder in page
    assert not page.startswith("{")
    shown = json.loads(user.call("runs", "show", row.id, "--json").stdout)["run"]
    assert (shown["status"], shown["pending"]) == ("done", None)


# At a terminal

EDITOR = """#!/bin/sh
if grep -q colour "$1"; then sed -i '/colour/d; s/^research_title: .*/research_title: 我的標題/' "$1"
else echo "colour: red" >> "$1"; fi
"""


def test_plan_is_edited_in_the_users_editor_and_no_edit_is_lost(tmp_path: Path) -> None:
    user, editor = User(tmp_path / "user"), tmp_path / "editor"
    editor.write_text(EDITOR, encoding="utf-8")
    command = ("ask", "比較青嵐市與其他城市的海綿城市改造成本", "--wiring", "worlds:quick")
    with Terminal(user, *command, EDITOR=f"sh {editor}", VISUAL="") as terminal:
        shown = terminal.until("\n> ")
        assert "計畫：比較青嵐市" in shown
        assert "  1. " in shown
        assert "預計費用：約 0." in shown
        terminal.type("好像可以嗎")
        assert "這既不是批准，也不是計畫" in terminal.until("\n> ")
        terminal.type("編輯")
        assert "colour：這裡沒有這個鍵" in terminal.until("\n> ")
        terminal.type("編輯")
        assert terminal.end() == 0, terminal.shown
    assert "# 我的標題" in user.report()


def test_enter_approves_the_plan_at_a_terminal(tmp_path: Path) -> None:
    user = User(tmp_path)
    with Terminal(user, "ask", COMPLEX, "--wiring", "worlds:quick") as terminal:
        shown = terminal.until("\n> ")
        assert shown.index("  1. Costs\n") < shown.index("  2. Results\n")
        terminal.type("")
        assert terminal.end() == 0, terminal.shown
    assert [event.data["status"] for event in user.events() if event.kind == "plan-approval"] == ["waiting", "approved"]


@pytest.mark.parametrize("question", [COMPLEX, "全面评估各项目的成本", "全面評估各項目的成本"])
def test_leaving_the_plan_starts_nothing(tmp_path: Path, question: str) -> None:
    user = User(tmp_path)
    with Terminal(user, "ask", question, "--wiring", "worlds:quick") as terminal:
        assert "Ctrl-D" in terminal.until("\n> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 2, terminal.shown
    assert user.only_run().status == "waiting"
    assert not any(event.kind == "report-plan" for event in user.events())


# What was approved binds whoever writes


class _Forgetful(ScriptedReasoner):
    """Writes the sections in another order, and leaves the last one out."""

    async def draft(self, findings: Findings) -> tuple[Paragraph, ...]:
        written = await super().draft(findings)
        titles = findings.plan.titles[::-1][1:]
        return tuple(one for title in titles for one in written if one.section == title)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "de"])
def test_sections_of_an_approved_plan_stand_in_the_report_in_their_order(tmp_path: Path, language: str) -> None:
    titles = ("Results", "Costs", "Penguins")
    lab = Lab(User(tmp_path), World(pages=8, reasoner=_Forgetful(sections=titles)))
    row = lab.ask(confirm_plan=True, language=language)
    assert lab.answer(row.id, "approve").status == "done"
    headings = [line[3:] for line in lab.user.report().splitlines() if line.startswith("## ")]
    assert [title for title in headings if title in titles] == list(titles)
    assert (lab.user.only_run().result or {})["is_verified"]
    assert (lab.user.only_run().result or {})["language"] == language


def test_sections_of_a_plan_that_nobody_saw_are_left_to_the_writer(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path), World(pages=8, reasoner=_Forgetful(sections=("Results", "Costs", "Penguins"))))
    assert lab.ask().status == "done"
    assert "## Penguins" not in lab.user.report()
