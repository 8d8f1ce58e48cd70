"""The plan of a run: as it waits for approval, as it is followed, and as somebody edited it."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from deep_research.errors import WrongState
from deep_research.events import RunEvent
from deep_research.pipeline.approval import Forecast, answered_plan
from deep_research.pipeline.control import words_of
from deep_research.pipeline.plan_text import MAX_SECTIONS, plan_of
from deep_research.reasoning.values import Plan
from deep_research.request import DepthName
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject, Value

_Line = Annotated[str, Field(max_length=2_000)]


class SectionEdit(BaseModel):
    """A section as somebody wants it; a query that was there before keeps its goal."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=500)]
    description: _Line = ""
    search_queries: tuple[_Line, ...] = Field(default=(), max_length=50)


class PlanEdit(BaseModel):
    """A plan as somebody wants it; what is left out but title and sections stays as it was, the depth too."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "research_title": "What the retrofit cost",
                    "sections": [{"title": "Costs", "search_queries": ["retrofit total cost", "retrofit budget"]}],
                }
            ]
        },
    )

    research_title: Annotated[str, Field(min_length=1, max_length=500)]
    goal: _Line | None = None
    scope: _Line | None = None
    domains: tuple[_Line, ...] | None = Field(default=None, max_length=50)
    sections: tuple[SectionEdit, ...] = Field(min_length=1, max_length=MAX_SECTIONS)
    depth: DepthName | None = None


class PlanView(Value):
    """A plan; while it waits for approval, what it may take and what was wrong with the last answer."""

    plan: Plan
    estimate: Forecast | None = None
    is_waiting: bool = False
    problem: str = ""


def wrong_state(row: RunRow, key: str) -> WrongState:
    """Return the error for what cannot be done with a run as it stands."""
    return WrongState().with_message(key, run=row.short_id, status=row.status)


def plan_view(row: RunRow, events: Sequence[RunEvent]) -> PlanView:
    """Return the plan of a run that has one."""
    plan = plan_of(row, events)
    if plan is None:
        raise wrong_state(row, "fault.no_plan")
    pending = row.pending or {}
    estimate = pending.get("estimate")
    return PlanView(
        plan=plan,
        estimate=None if estimate is None else Forecast.from_json(estimate),
        is_waiting=pending.get("kind") == "plan-approval",
        problem=str(pending.get("problem", "")),
    )


def edited_plan(row: RunRow, edited: PlanEdit) -> JsonObject:
    """Return the answer by which a waiting run follows a plan; raise `InputError` where it cannot be used."""
    answer: JsonObject = edited.model_dump(mode="json", exclude_none=True)
    answered_plan(require_approval(row), answer, words_of(row))
    return answer


def require_approval(row: RunRow) -> Plan:
    """Return the plan that waits for approval; raise `WrongState` where none does."""
    pending = row.pending or {}
    if row.status != "waiting" or pending.get("kind") != "plan-approval":
        raise wrong_state(row, "fault.not_approving")
    return Plan.from_json(pending["plan"])
