"""A run that waits for an answer holds no process; whoever answers, whenever, makes it go on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import InputError, UsageError
from deep_research.storage.store.port import RunRow
from tests.e2e.harness import Lab, User, assert_emitted_once, assert_explained
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> User:
    """Return a user whose run waits for the answer to one question."""
    user = User(tmp_path_factory.mktemp("asked"))
    ended = user.ask("asking", "--json")
    run = user.only_run().id
    assert f"deep-research runs answer {run[:8]}" in assert_explained(ended, 2)
    shown = json.loads(ended.stdout)
    assert shown["schema_version"] == 1
    assert shown["run"]["status"] == "waiting"
    assert "Which aspect" in shown["pending"]["question"]
    return user


def test_a_waiting_run_is_answered_from_another_process_and_goes_on(asked: User) -> None:
    row = asked.only_run()
    assert row.status == "waiting"
    assert row.owner is None
    waiting = asked.everything()
    assert f"deep-research runs answer {row.id[:8]}" in assert_explained(asked.call("runs", "resume", row.id), 2)
    assert asked.everything() == waiting, "a resume without an answer changes nothing"

    begun = len(asked.begun())
    ended = asked.run("runs", "answer", row.id, "Costs")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("# ")
    assert not any(call in asked.begun()[begun:] for call in asked.begun()[:begun]), "a paid call was repeated"
    clarified = json.loads((Path(row.folder) / "clarify.json").read_text(encoding="utf-8"))
    assert [exchange["answer"] for exchange in clarified["exchanges"]] == ["Costs"]
    events = asked.events()
    assert_emitted_once(events)
    assert [event.data["status"] for event in events if event.kind == "run-status"] == [
        "running",
        "waiting",
        "running",
        "done",
    ]
    assert sum(event.kind == "clarification" for event in events) == 1

    assert "does not wait" in assert_explained(asked.call("runs", "answer", row.id, "Results"), 64)


def test_the_first_answer_stands(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user, world=_curious(1))
    row = lab.ask()
    runtime = lab.processor()
    asyncio.run(runtime.answer(row.id, "Costs"))
    with pytest.raises(UsageError, match=f"runs resume {row.id}"):
        asyncio.run(runtime.answer(row.id, "Results"))
    assert lab.resume(row.id).status == "done"
    exchanges = json.loads((Path(row.folder) / "clarify.json").read_text(encoding="utf-8"))["exchanges"]
    assert [exchange["answer"] for exchange in exchanges] == ["Costs"]


def test_a_run_asks_at_most_three_times(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user, world=_curious(9))
    row = lab.ask()
    asked = 0
    while row.status == "waiting":
        asked += 1
        row = lab.answer(row.id, f"answer {asked}")
    assert (row.status, asked) == ("done", 3)
    assert_emitted_once(user.events())


@pytest.mark.parametrize("answer", ["Start now!", "直接开始研究", "直接開始研究。"])
def test_who_will_not_answer_gets_a_report_all_the_same(tmp_path: Path, answer: str) -> None:
    lab = Lab(User(tmp_path), world=_curious(9))
    assert lab.answer(lab.ask().id, answer).status == "done"


def _curious(questions: int) -> World:
    return World(pages=8, reasoner=ScriptedReasoner(questions=questions))


# The plan


def test_a_plan_waits_for_approval_is_edited_and_used(tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.call("ask", user.question, "--wiring", "worlds:quick", "--confirm-plan")
    row = user.only_run()
    assert f"deep-research runs answer {row.id[:8]}" in assert_explained(ended, 2)
    assert "Costs" in json.dumps(row.pending), "the plan is shown"
    paid = len(user.begun())

    again = Lab(user).answer(row.id, "no idea, what would you do?")
    assert again.status == "waiting", "nonsense is asked again"
    assert again.pending is not None
    assert again.pending["scope"] != (row.pending or {})["scope"]
    assert len(user.begun()) == paid

    edited = _plan(row) | {
        "research_title": "My own title",
        "sections": [{"title": "Measured results", "description": ""}],
    }
    ended = user.call("runs", "answer", row.id, json.dumps(edited))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("# My own title")
    assert "## Measured results" in ended.stdout
    assert "## Costs" not in ended.stdout
    events = user.events()
    assert_emitted_once(events)
    told = [event.data["status"] for event in events if event.kind == "plan-approval"]
    assert told == ["waiting", "waiting", "edited"]


@pytest.mark.parametrize("answer", ["approve", "Yes.", "同意", "確認"])
def test_an_approved_plan_is_used_as_it_is(tmp_path: Path, answer: str) -> None:
    user = User(tmp_path)
    lab = Lab(user)
    row = lab.answer(lab.ask(confirm_plan=True).id, answer)
    assert row.status == "done"
    assert "## Costs" in user.report()
    assert [event.data["status"] for event in user.events() if event.kind == "plan-approval"] == ["waiting", "approved"]


@pytest.mark.parametrize(
    "change",
    [{"sections": []}, {"sections": "Costs"}, {"colour": "red"}, {"research_title": None}],
    ids=["no section", "no list", "unknown field", "no title"],
)
def test_a_plan_that_cannot_be_used_is_asked_for_again(tmp_path: Path, change: dict[str, Any]) -> None:
    lab = Lab(User(tmp_path))
    row = lab.ask(confirm_plan=True)
    try:
        again = lab.answer(row.id, json.dumps(_plan(row) | change))
    except InputError as exc:
        pytest.fail(f"the answer stands, so that the run can never go on: {exc}")
    assert again.status == "waiting"
    assert lab.answer(row.id, "approve").status == "done"


def test_two_sections_of_one_title_are_asked_about_again(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path))
    row = lab.ask(confirm_plan=True)
    sections = [{"title": "Costs", "description": "one"}, {"title": "Costs", "description": "two"}]
    again = lab.answer(row.id, json.dumps(_plan(row) | {"sections": sections}))
    assert again.status == "waiting"
    assert lab.answer(row.id, json.dumps(_plan(row) | {"sections": sections[:1]})).status == "done"


def _plan(row: RunRow) -> dict[str, Any]:
    assert row.pending is not None
    plan = row.pending["plan"]
    assert isinstance(plan, dict)
    return dict(plan)
