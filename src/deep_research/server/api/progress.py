"""Where a run stands, in one picture, so that a page that is loaded again needs no replay of its events."""

from fastapi import APIRouter, Response

from deep_research.server.api.schemas import in_json
from deep_research.server.dependencies import Service, Who
from deep_research.service.progress import RunProgress

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("/{run}/progress", response_model=RunProgress)
async def read_progress(run: str, service: Service, who: Who) -> Response:
    """Read where a run stands: stages, queries, sources, coverage, spending, what was lost and what it waits for."""
    return in_json(await service.progress(run, who))
