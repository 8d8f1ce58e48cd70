"""What a question may take, before anything is spent on it."""

from fastapi import APIRouter

from deep_research.server.api.openapi import problems
from deep_research.server.dependencies import Service, Who
from deep_research.service.runs.estimate import Estimate
from deep_research.service.runs.new_run import NewRun

router = APIRouter(prefix="/api", tags=["runs"], responses=problems(400, 404))


@router.post("/estimate")
async def estimate_run(new: NewRun, service: Service, who: Who) -> Estimate:
    """Estimate what a run would take; nothing is kept."""
    return await service.estimate(new, who)
