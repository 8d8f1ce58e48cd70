"""`RunState`, the frozen record of a run that stages receive, and `WorkflowState`, its picture for callers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypedDict

from deep_research.events import RunEvent, RunStatus
from deep_research.pipeline.context import Ports
from deep_research.pipeline.stage import Stage
from deep_research.store.port import RunRow
from deep_research.value import JsonObject


@dataclass(frozen=True)
class RunState:
    """A run as `runs show` reads it; a stage's copy also carries the stage, its scope, input and ports."""

    run: RunRow
    stage: Stage | None = None
    scope: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    bound: Ports | None = None

    @property
    def ports(self) -> Ports:
        """Return what the stage may touch."""
        if self.bound is None:
            raise RuntimeError("a run's record has ports only inside a stage")
        return self.bound


class WorkflowState(TypedDict):
    """A run in a caller's eyes (document 000), projected from its events."""

    status: RunStatus
    steps: list[str]
    current_step: str | None
    iterations: int
    errors: list[JsonObject]


def workflow_state(events: Iterable[RunEvent]) -> WorkflowState:
    """Project a run's events onto the record of document 000."""
    state = WorkflowState(status="created", steps=[], current_step=None, iterations=0, errors=[])
    for event in events:
        data = event.data
        if event.kind == "run-status":
            state["status"] = data["status"]  # type: ignore[typeddict-item]  # the store only holds what `tell` checked
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
    if state["status"] in ("done", "failed", "cancelled"):
        state["current_step"] = None
    return state
