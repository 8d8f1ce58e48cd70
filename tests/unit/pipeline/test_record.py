"""A run in the eyes of a caller, projected from its events."""

from typing import Any

import pytest

from deep_research.events import EventKind, RunEvent
from deep_research.pipeline.workflow import workflow_state
from tests.support.store_samples import START


def _events(*pairs: tuple[EventKind, dict[str, Any]]) -> list[RunEvent]:
    return [
        RunEvent(seq=number, run="r", at=START, kind=kind, key=f"{kind}:{number}", data=data)
        for number, (kind, data) in enumerate(pairs, start=1)
    ]


def test_a_run_that_has_told_nothing_was_only_created():
    assert workflow_state([]) == {
        "status": "created",
        "steps": [],
        "current_step": None,
        "iterations": 0,
        "errors": [],
    }


def test_steps_rounds_and_errors_are_counted():
    coverage: dict[str, Any] = {
        "section": "s",
        "coverage": 0.5,
        "score": 5,
        "is_sufficient": False,
        "gaps": [],
        "reason": "",
    }
    state = workflow_state(
        _events(
            ("run-status", {"status": "running"}),
            ("progress", {"step": "intake", "status": "started"}),
            ("progress", {"step": "intake", "status": "done"}),
            ("progress", {"step": "plan", "status": "started"}),
            ("progress", {"step": "plan", "status": "started"}),
            ("section-coverage", coverage | {"round": 2}),
            ("section-coverage", coverage | {"round": 1}),
            ("error", {"message": "down", "category": "NETWORK", "retry_count": 1, "step": "workflow"}),
            ("error", {"message": "no page"}),
        )
    )
    assert state["status"] == "running"
    assert state["steps"] == ["intake", "plan"]
    assert state["current_step"] == "plan"
    assert state["iterations"] == 2
    assert state["errors"] == [
        {"error": "down", "category": "NETWORK", "retry_count": 1, "step": "workflow"},
        {"error": "no page", "category": "BUSINESS", "retry_count": 0, "step": ""},
    ]


@pytest.mark.parametrize("status", ["done", "failed", "cancelled"])
def test_a_run_that_has_ended_has_no_current_step(status):
    state = workflow_state(
        _events(("progress", {"step": "plan", "status": "started"}), ("run-status", {"status": status}))
    )
    assert (state["status"], state["current_step"]) == (status, None)
