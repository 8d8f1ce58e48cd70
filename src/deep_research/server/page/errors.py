"""What a browser is shown when a page cannot be: a drawn page instead of JSON."""

from http import HTTPStatus

from fastapi import Request, Response

from deep_research.server.page.language import language_of, page_words
from deep_research.server.page.views import render

_FOR_PROGRAMS = ("/api", "/v1", "/mcp", "/static", "/health", "/ready", "/metrics", "/openapi.json")


def wants_page(request: Request) -> bool:
    """Say whether somebody reads the answer, not a program."""
    is_for_programs = request.url.path.startswith(_FOR_PROGRAMS)
    return not is_for_programs and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, status: HTTPStatus, detail: str) -> Response:
    """Return an error as a page."""
    words = page_words(language_of(request))
    heading = words("error.unknown" if status == HTTPStatus.NOT_FOUND else "error.wrong")
    return render(request, "error.html", status=status, heading=heading, detail=detail)
