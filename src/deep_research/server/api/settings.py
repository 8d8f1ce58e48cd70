"""What the server has to work with; nothing secret, and nothing of its machine."""

from fastapi import APIRouter

from deep_research.server.dependencies import Service, Who
from deep_research.service.configured import Configured, configured

router = APIRouter(prefix="/api", tags=["server"])


@router.get("/settings")
async def read_settings(service: Service, who: Who) -> Configured:  # noqa: ARG001 - only somebody known may ask
    """Read what is configured: models, sources of the web, and what a run does unless you say otherwise."""
    return configured(service.settings)
