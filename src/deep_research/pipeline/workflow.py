"""`WorkflowState`: a run in a caller's eyes, projected from its events."""

from collections.abc import Iterable
from typing import TypedDict

from deep_research.events import ENDED, RunEvent, RunStatus
from deep_research.value import JsonObject


class WorkflowState(TypedDict):
    """A run in a caller's eyes: where it is, what it did, and what failed."""

    status: RunStatus
    steps: list[str]
    current_step: str | None
    iterations: int
    errors: list[JsonObject]


def workflow_state(events: Iterable[RunEvent]) -> WorkflowState:
    """Return what a run's events say of it."""
    state = WorkflowState(status="created", steps=[], current_step=None, iterations=0, errors=[])
    for event in events:
        data = event.data
        if event.kind == "run-status":
            state["status"] = data["status"]  # type: ignore[typeddict-item]  # the store only holds what was emitted
        elif event.kind == "progress" and data["status"] == "started":
            state["current_step"] = str(data["step"])
            if data["step"] not in state["steps"]:
                state["steps"].append(str(data["step"]))
        elif event.kind == "section-coverage" and isinstance(data["round"], int):
            state["iterations"] = max(state["iterations"], data["round"])
        elif event.kind == "error":
            state["errors"].append(
                {
                    "error": data["message"],
                    "category": data.get("category", "BUSINESS"),
                    "retry_count": data.get("retry_count", 0),
                    "step": data.get("step", ""),
                }
            )
    if state["status"] in ENDED:
        state["current_step"] = None
    return state
