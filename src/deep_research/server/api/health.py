"""Whether the server lives, whether it can be used, and its figures: for whatever keeps servers running."""

import asyncio
import os
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import cast

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from deep_research.errors import DeepResearchError
from deep_research.server.api.schemas import in_json
from deep_research.server.dependencies import Service
from deep_research.server.metrics import Metrics
from deep_research.server.problems import problem_response

router = APIRouter(tags=["health"])

_PATIENCE_S = 5.0
# As much as a small write to the store takes.
_PROBE = bytes(65_536)


class Health(BaseModel):
    """The server answers."""

    status: str = "ok"


@router.get("/health")
async def health() -> Health:
    """Say that the process lives."""
    return Health()


@router.get("/ready", responses={503: {"description": "The store cannot be written, or no run would be begun."}})
async def ready(request: Request, service: Service) -> Response:
    """Say whether a run that is asked for now can be kept and begun."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            if service.settings.database_url is None:
                await asyncio.to_thread(_write_something, service.settings.home)
            await service.database.work(lambda _: None)
            await service.store.count_by_status()
    except (DeepResearchError, OSError) as exc:
        return problem_response(
            request.scope, HTTPStatus.SERVICE_UNAVAILABLE, f"The store cannot be used: {type(exc).__name__}."
        )
    if not service.is_accepting:
        return problem_response(request.scope, HTTPStatus.SERVICE_UNAVAILABLE, "The server is starting or stopping.")
    return in_json(Health())


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, service: Service) -> Response:
    """Return the server's figures in the format of Prometheus."""
    figures = cast("Metrics", request.app.state.metrics)
    return Response(await figures.text(service), media_type=CONTENT_TYPE_LATEST)


def _write_something(folder: Path) -> None:
    """Write to the disk that the store is on, and take it away again."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(_PROBE)
        probe.flush()
        os.fsync(probe.fileno())
