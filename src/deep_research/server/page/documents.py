"""Collections of documents: what is in them, what could be read of each file, and a search."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from deep_research.server.dependencies import Service, Who
from deep_research.server.page.views import render

router = APIRouter(include_in_schema=False)
_MAX_FOUND = 20
_MB = 1_000_000


@router.get("/documents")
async def show_collections(request: Request, service: Service, who: Who) -> Response:
    """Show all collections."""
    return render(request, "documents.html", collections=await service.documents.list(who))


@router.get("/documents/{collection}")
async def show_collection(
    collection: str, request: Request, service: Service, who: Who, q: Annotated[str, Query(max_length=1_000)] = ""
) -> Response:
    """Show one collection, and what a search in it finds."""
    wanted = q.strip()
    return render(
        request,
        "documents_collection.html",
        collection=await service.documents.read(collection, who),
        wanted=wanted,
        found=await service.documents.search(collection, wanted, who, limit=_MAX_FOUND) if wanted else None,
        most_mb=service.documents.limits.file_bytes // _MB,
    )


@router.get("/documents/{collection}/files")
async def show_files(collection: str, request: Request, service: Service, who: Who) -> Response:
    """Show the files of a collection alone, as they are read one after the other."""
    return render(request, "documents_files.html", collection=await service.documents.read(collection, who))
