"""Steer a run: answer it, approve its plan, cancel it, go on with it, follow it up, bring it up to date."""

from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from deep_research.pipeline.research_map import MAX_CHANGED
from deep_research.server.api.openapi import problems
from deep_research.server.api.schemas import Run, run_shape
from deep_research.server.dependencies import IdempotencyKey, Service, Who
from deep_research.service.runs.new_run import EntryName, Focus, NewRun, Question
from deep_research.service.runs.plans import PlanEdit, PlanView

router = APIRouter(prefix="/api/runs", tags=["runs"], responses=problems(404, 409))


class Answer(BaseModel):
    """An answer in words, or the number of an option."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"answer": "1"}, {"answer": "其费用"}]})

    answer: Annotated[str, Field(min_length=1, max_length=10_000)] | int


class Focuses(BaseModel):
    """What to look at, instead of what the run proposes."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"focus": ["costs", "noise"]}]})

    focus: tuple[Focus, ...] = Field(min_length=1, max_length=5)


class MapChanges(BaseModel):
    """What to change about what a run looks for: entries to strike or to add, or that what it has is enough.

    An entry is named as the map names it, or by what stands there before the colon; `section` is where those that are
    added belong.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"strike": ["PEP 517"], "add": ["PEP 660"]}, {"enough": True}]}
    )

    strike: tuple[EntryName, ...] = Field(default=(), max_length=MAX_CHANGED)
    add: tuple[EntryName, ...] = Field(default=(), max_length=MAX_CHANGED)
    section: str = Field(default="", max_length=500)
    enough: bool = False

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not (self.strike or self.add or self.enough):
            raise ValueError("name entries to strike or to add, or say enough")
        return self


class FollowUp(BaseModel):
    """A question that goes on from a report; with `add`, its answer becomes a section of that report."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"question": "And who paid for it?", "add": True}]}
    )

    question: Question
    add: bool = False


@router.post("/{run}/answer")
async def answer_run(run: str, answer: Answer, service: Service, who: Who) -> Run:
    """Answer what a run waits for, in words or by the number of an option; the run goes on."""
    return run_shape(await service.answer(run, str(answer.answer), who))


@router.post("/{run}/focus")
async def set_focus(run: str, focuses: Focuses, service: Service, who: Who) -> Run:
    """Name what a run should look at: it plans anew, and where it works, what has not begun follows."""
    return run_shape(await service.answer(run, {"focus": list(focuses.focus)}, who))


@router.post("/{run}/map")
async def change_map(run: str, changes: MapChanges, service: Service, who: Who) -> Run:
    """Strike entries of the map of a run that works, add some, or have the report written from what there is."""
    return run_shape(await service.answer(run, {"map": changes.model_dump(mode="json")}, who))


@router.get("/{run}/plan")
async def read_plan(run: str, service: Service, who: Who) -> PlanView:
    """Read the plan that waits for approval, or the one that is followed."""
    return await service.plan(run, who)


@router.put("/{run}/plan")
async def submit_plan(run: str, plan: PlanEdit, service: Service, who: Who) -> Run:
    """Give a run that waits for approval its plan as you want it; the run follows it."""
    return run_shape(await service.submit_plan(run, plan, who))


@router.post("/{run}/plan/approve")
async def approve_plan(run: str, service: Service, who: Who) -> Run:
    """Approve the plan that a run waits with."""
    return run_shape(await service.approve_plan(run, who))


@router.post("/{run}/cancel")
async def cancel_run(run: str, service: Service, who: Who) -> Run:
    """Cancel a run; what it has found so far is kept. One that is being worked on `is_stopping` for some seconds."""
    return run_shape(await service.cancel(run, who))


@router.post("/{run}/resume")
async def resume_run(run: str, service: Service, who: Who) -> Run:
    """Go on with a run that was cut off or failed; nothing that was paid for is done again."""
    return run_shape(await service.resume(run, who))


@router.post("/{run}/retry")
async def retry_run(run: str, service: Service, who: Who) -> Run:
    """Do the failed steps of a run that ended again; what succeeded is kept."""
    return run_shape(await service.resume(run, who, retry=True))


@router.post("/{run}/update", status_code=201)
async def update_run(run: str, service: Service, who: Who) -> Run:
    """Research a finished run's question again, in a new run that says what has changed."""
    return run_shape(await service.update(run, who))


@router.post("/{run}/follow-up", status_code=201)
async def follow_up(run: str, asked: FollowUp, service: Service, who: Who, key: IdempotencyKey = "") -> Run:
    """Ask on from a finished run: its sources are looked at first and keep their numbers."""
    new = NewRun(question=asked.question, follow=(await service.get(run, who)).id, add=asked.add)
    return run_shape(await service.create(new, who, key=key))
