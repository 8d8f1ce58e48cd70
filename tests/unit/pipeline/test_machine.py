"""Stages can be overridden, sync or async, with an update or a bool; every update is serialisable and small."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import StageFailed
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.state import RunState, Stage, Update
from deep_research.value import Value
from tests.e2e.harness import QUESTION, Lab, User
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World

# An override is met in the smallest run as in any other.
SMALL = World(pages=4, reasoner=ScriptedReasoner(sections=("Costs",), rounds=1))


class _Sync(StateMachine):
    def _stage_chart(self, state: RunState) -> Update | bool:  # type: ignore[override]  # an override may be sync
        return {"figures": []}


class _Async(StateMachine):
    async def _stage_chart(self, state: RunState) -> Update | bool:
        return {"figures": []}


class _Goes(StateMachine):
    def _stage_chart(self, state: RunState) -> bool:  # type: ignore[override]  # an override may be sync
        return True


class _GoesLater(StateMachine):
    async def _stage_chart(self, state: RunState) -> Update | bool:
        return True


@pytest.mark.parametrize("machine", [_Sync(), _Async(), _Goes(), _GoesLater()])
def test_an_override_may_be_sync_or_async_and_return_an_update_or_true(tmp_path: Path, machine: StateMachine) -> None:
    user = User(tmp_path)
    assert Lab(user, SMALL, machine=machine).ask().status == "done"
    assert not any(call.startswith("llm plan_charts") for call in user.begun())


@pytest.mark.parametrize("stage", ["plan", "harvest", "extract", "reflect", "write"])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_override_that_says_false_fails_the_run(tmp_path: Path, stage: str, is_async: bool) -> None:
    async def later(self: StateMachine, state: RunState) -> bool:
        return False

    method = later if is_async else lambda self, state: False
    machine = type("Stopper", (StateMachine,), {f"_stage_{stage}": method})()
    user = User(tmp_path)
    with pytest.raises(StageFailed, match=stage):
        Lab(user, SMALL, machine=machine).ask()
    row = user.only_run()
    assert row.status == "failed"
    assert (row.error or {})["name"] == "StageFailed"
    assert StageFailed.exit_code == 70


def test_an_override_can_build_on_the_stage_and_sees_its_run(tmp_path: Path) -> None:
    seen: list[RunState] = []

    class Renamed(StateMachine):
        async def _stage_plan(self, state: RunState) -> Update | bool:
            seen.append(state)
            update = await super()._stage_plan(state)
            assert isinstance(update, dict)
            return {"plan": {**update["plan"], "research_title": "Renamed"}}

    user = User(tmp_path)
    row = Lab(user, SMALL, machine=Renamed()).ask()
    assert user.report().startswith("# Renamed")
    assert (seen[0].run.id, seen[0].stage, seen[0].scope) == (row.id, Stage.PLAN, "plan")
    assert seen[0].input["brief"]["original"] == QUESTION


@pytest.mark.parametrize("value", [object(), {1}, b"x", float("nan")])
def test_an_override_whose_update_is_not_plain_fails_clearly(tmp_path: Path, value: object) -> None:
    class Odd(StateMachine):
        def _stage_analyze(self, state: RunState) -> Update:  # type: ignore[override]  # an override may be sync
            return {"analysis": value}

    user = User(tmp_path)
    with pytest.raises(StageFailed, match="analyze"):
        Lab(user, SMALL, machine=Odd()).ask()
    assert user.only_run().status == "failed"


def test_an_override_that_returns_no_update_fails_clearly(tmp_path: Path) -> None:
    class Odd(StateMachine):
        def _stage_analyze(self, state: RunState) -> Any:
            return "an analysis"

    user = User(tmp_path)
    with pytest.raises(StageFailed, match="analyze"):
        Lab(user, SMALL, machine=Odd()).ask()


class _Recorder(StateMachine):
    """Keeps the input and the update of every stage."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Stage, Value]] = []

    async def run_stage(self, state: RunState) -> Update:
        update = await super().run_stage(state)
        assert state.stage is not None
        self.seen += [(state.stage, state.input), (state.stage, state.input.model_copy(update=update))]
        return update


def test_every_update_of_a_run_is_plain_and_names_no_text_by_heart(tmp_path: Path) -> None:
    user, machine = User(tmp_path), _Recorder()
    assert Lab(user, machine=machine).ask().status == "done"
    assert {stage for stage, _ in machine.seen} == set(Stage)
    for stage, data in machine.seen:
        spelled = json.dumps(data.to_json(), allow_nan=False)
        assert type(data).from_json(json.loads(spelled)) == data, stage
        assert "Nobody disputes" not in spelled, f"{stage} carries the text of a document"
