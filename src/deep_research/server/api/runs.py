"""Runs: make, list, read, file under tags, delete."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from deep_research.events import RunStatus
from deep_research.server.api.openapi import problems
from deep_research.server.api.schemas import Run, Runs, run_shape
from deep_research.server.cursor import cursor_after, last_seen
from deep_research.server.dependencies import IdempotencyKey, Service, Who
from deep_research.service.runs.new_run import NewRun, Tag
from deep_research.storage.store.port import RunChoice

router = APIRouter(prefix="/api/runs", tags=["runs"])


class Filing(BaseModel):
    """The words under which a run is filed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tags": ["heat pumps", "水利"]}]})

    tags: tuple[Tag, ...] = Field(max_length=20)


@router.post("", status_code=201, responses=problems(400, 404))
async def create_run(new: NewRun, service: Service, who: Who, key: IdempotencyKey = "") -> Run:
    """Start to research a question."""
    return run_shape(await service.create(new, who, key=key))


@router.get("")
async def list_runs(
    service: Service,
    who: Who,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: Annotated[str, Query(max_length=200, description="Where the page begins: `next` of the one before.")] = "",
    status: RunStatus | None = None,
    q: Annotated[str, Query(max_length=200, description="Words in the question or the report.")] = "",
    tag: Annotated[str, Query(max_length=100)] = "",
) -> Runs:
    """List runs, the newest first."""
    choice = RunChoice(text=q, tag=tag, before=last_seen(cursor))
    rows = await service.list(who, limit=limit + 1, status=status, choice=choice)
    shown = rows[:limit]
    following = cursor_after(shown[-1]) if rows[limit:] else None
    return Runs(runs=[run_shape(row) for row in shown], next=following)


@router.get("/{run}", responses=problems(404))
async def read_run(run: str, service: Service, who: Who) -> Run:
    """Read where a run stands."""
    return run_shape(await service.get(run, who))


@router.patch("/{run}", responses=problems(404))
async def file_run(run: str, filing: Filing, service: Service, who: Who) -> Run:
    """File a run under these words alone."""
    return run_shape(await service.set_tags(run, filing.tags, who))


@router.delete("/{run}", status_code=204, responses=problems(404, 409))
async def delete_run(run: str, service: Service, who: Who) -> None:
    """Delete a run with its report and files, for good; one that is being worked on must be cancelled first."""
    await service.delete(run, who)
