"""What the server has to work with; nothing secret, and nothing of its machine."""

from fastapi import APIRouter
from pydantic import BaseModel

from deep_research.server.dependencies import Service, Who
from deep_research.service.accounts.identity import Scope
from deep_research.service.accounts.limits import Used
from deep_research.service.public_settings import PublicSettings, public_settings

router = APIRouter(prefix="/api", tags=["server"])


class Me(BaseModel):
    """Who asks, and what the account has used of its limits; `usage` is null where the server has no accounts."""

    name: str
    scopes: list[Scope]
    usage: Used | None


@router.get("/me")
async def read_me(service: Service, who: Who) -> Me:
    """Read whose account this is, what it may do, and what it has used and may use."""
    return Me(name=who.name, scopes=sorted(who.scopes), usage=await service.limits.used_by(who))


@router.get("/settings")
async def read_settings(service: Service, who: Who) -> PublicSettings:  # noqa: ARG001 - only somebody known may ask
    """Read what is configured: models, sources of the web, and what a run does unless you say otherwise."""
    return public_settings(service.settings)
