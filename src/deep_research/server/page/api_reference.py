"""The description of the interface for programs, as a page of our own: nothing of it comes from another server."""

from fastapi import APIRouter, Request, Response

from deep_research.server.page.views import render

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def show_reference(request: Request) -> Response:
    """Show every address, what it takes and what it answers."""
    described = request.app.openapi()
    return render(request, "api_reference.html", described=described, schemas=described["components"]["schemas"])
