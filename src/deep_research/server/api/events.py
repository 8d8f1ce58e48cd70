"""A run while it works: its events as they come, and where it stands, so that a page need not replay them.

Events are server-sent ones: their ids are the run's sequence numbers, so that a reader can come back.
"""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from deep_research.events import ENDED
from deep_research.server.api.schemas import in_json
from deep_research.server.dependencies import Service, Who
from deep_research.service.runs.feed import Batch
from deep_research.service.runs.progress import RunProgress

router = APIRouter(prefix="/api/runs", tags=["runs"])

# How soon a browser comes back to a stream that broke off, in milliseconds.
_COME_BACK = b"retry: 2000\n\n"
# No proxy may keep what is sent, change it, or hold it back until there is more.
_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


@router.get(
    "/{run}/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Events, each with its number as id."},
        204: {"description": "The run is over, and there is nothing after `Last-Event-ID`."},
    },
)
async def stream_events(
    run: str, service: Service, who: Who, last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None
) -> Response:
    """Follow a run: everything since `Last-Event-ID`, then what comes, until the run is over.

    `event: live` is text while it is written, without an id. `event: written` is the report as far as it is written,
    for who comes in the middle of it. `event: stream-gap` says that something was missed: events before `first`
    (`what` is `events`), or live text (`what` is `text`).
    """
    row = await service.get(run, who)
    after = last_event_id or 0
    if row.status in ENDED and after == await service.store.last_seq(row.id):
        # A browser comes back to a stream that has ended, unless it is told this.
        return Response(status_code=204)
    batches = service.feed.batches(row.id, after=after)
    return StreamingResponse(_frames(batches), media_type="text/event-stream", headers=_HEADERS)


async def _frames(batches: AsyncIterator[Batch]) -> AsyncIterator[bytes]:
    yield _COME_BACK
    async for batch in batches:
        yield batch.frames


@router.get("/{run}/progress", response_model=RunProgress)
async def read_progress(run: str, service: Service, who: Who) -> Response:
    """Read where a run stands: stages, queries, sources, coverage, spending, what was lost and what it waits for."""
    return in_json(await service.progress(run, who))
