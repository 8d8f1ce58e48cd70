"""What a run has read: its sources, their texts with places, and the pages as they came."""

import mimetypes

from fastapi import APIRouter, Response

from deep_research.server.api.files import attachment, file_name, safe_media_type
from deep_research.server.api.openapi import files, problems
from deep_research.server.api.schemas import Sources
from deep_research.server.dependencies import Service, Who
from deep_research.service.runs.sources import SourceText, list_sources, read_snapshot, read_source

router = APIRouter(prefix="/api/runs", tags=["sources"], responses=problems(404))


@router.get("/{run}/sources")
async def list_run_sources(run: str, service: Service, who: Who) -> Sources:
    """List what a run has read so far: what its report cites first, by number."""
    row = await service.get(run, who)
    return Sources(sources=await list_sources(row, service.store))


@router.get("/{run}/sources/{document}")
async def read_run_source(run: str, document: str, service: Service, who: Who) -> SourceText:
    """Read the text of a source, with its places (pages, headings, cells) and the passages that the report cites."""
    row = await service.get(run, who)
    return await read_source(row, document, service.store)


@router.get(
    "/{run}/sources/{document}/snapshot", response_class=Response, responses=files("application/octet-stream", "*/*")
)
async def read_run_snapshot(run: str, document: str, service: Service, who: Who) -> Response:
    """Get the page or file that a source was read from, as it came."""
    row = await service.get(run, who)
    found, content = await read_snapshot(row, document, service.store)
    media_type = safe_media_type(found.media_type)
    ending = (mimetypes.guess_extension(media_type) or ".bin").lstrip(".")
    return attachment(content, name=file_name(found.title or "source", ending), media_type=media_type)
