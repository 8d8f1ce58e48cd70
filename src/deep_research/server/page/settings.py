"""What the server works with: what is set and from where, what works and what is missing; no secret is shown."""

import asyncio
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from deep_research.export.formats import FORMATS, missing_extra
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.views import render, words_for
from deep_research.service.diagnosis import diagnose, shown_settings
from deep_research.service.public_settings import public_settings
from deep_research.text.in_thread import in_thread

router = APIRouter(include_in_schema=False)


class Extra(NamedTuple):
    """An extra of the package that some formats need."""

    name: str
    formats: list[str]
    is_there: bool


@router.get("/settings")
async def show_settings(request: Request, service: Service, who: Who) -> Response:
    """Show what is configured; paths and single settings only to whoever runs the server."""
    return render(
        request,
        "settings.html",
        configured=public_settings(service.settings),
        usage=await service.limits.used_by(who),
        schedules=await service.schedules.list(who),
        shown=shown_settings(service.settings) if "admin" in who.scopes else {},
    )


@router.get("/settings/checks")
async def show_checks(request: Request, service: Service, who: Who) -> Response:
    """Show what works here; trying it takes a while, so it comes after the page."""
    if "admin" not in who.scopes:
        raise HTTPException(404, "There are no checks.")
    words = words_for(request)
    # Servers on this machine are asked whether they answer, which waits.
    lines = await in_thread(lambda: asyncio.run(diagnose(service.settings, words)))
    return render(request, "settings_checks.html", lines=lines, extras=_extras())


def _extras() -> list[Extra]:
    names = dict.fromkeys(each.extra for each in FORMATS.values() if each.extra)
    return [
        Extra(
            name,
            [key for key, each in FORMATS.items() if each.extra == name],
            not any(missing_extra(key) == name for key in FORMATS),
        )
        for name in names
    ]
