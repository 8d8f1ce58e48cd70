"""What a reader prefers, kept in cookies: language and theme."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Response
from fastapi.responses import RedirectResponse

from deep_research.server.page.views import COOKIE, THEME_COOKIE, THEMES
from deep_research.text.messages.language import LANGUAGES

router = APIRouter(include_in_schema=False)
_YEAR_S = 365 * 24 * 3600


@router.post("/preferences")
async def prefer(
    language: Annotated[str, Form()] = "", theme: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/"
) -> Response:
    """Keep what was chosen, and go back to where the reader was."""
    response = RedirectResponse(own_address(back), status_code=303)
    for cookie, value, allowed in ((COOKIE, language, LANGUAGES), (THEME_COOKIE, theme, THEMES)):
        if value in allowed:
            response.set_cookie(cookie, value, max_age=_YEAR_S, samesite="lax", httponly=True)
    return response


def own_address(address: str) -> str:
    """Return an address of this server, the first page where another one is named."""
    try:
        parts = urlsplit(address.replace("\\", "/"))
    except ValueError:
        return "/"
    is_ours = not parts.scheme and not parts.netloc and parts.path.startswith("/") and not parts.path.startswith("//")
    return parts.path + (f"?{parts.query}" if parts.query else "") if is_ours else "/"
