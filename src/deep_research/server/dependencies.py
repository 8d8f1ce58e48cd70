"""What a request is answered with: the service, who asks, and under which key."""

from typing import Annotated, cast

from fastapi import Depends, Header, Request

from deep_research.server.origin import ClientConnection
from deep_research.service.accounts.identity import Identity
from deep_research.service.report_text import Links
from deep_research.service.service import ResearchService


def identity_of(request: Request) -> Identity:
    """Return who asks; `access.py` has found out."""
    return cast("Identity", request.state.identity)


def links_of(request: Request) -> Links:
    """Return where things are found, under the address by which the asker knows this server."""
    connection: ClientConnection = request.state.connection
    return Links(f"{connection.scheme}://{connection.authority}")


# FastAPI would run dependencies that are no coroutines in a thread each.
async def _service(request: Request) -> ResearchService:
    return cast("ResearchService", request.app.state.service)


async def _identity(request: Request) -> Identity:
    return identity_of(request)


Service = Annotated[ResearchService, Depends(_service)]
Who = Annotated[Identity, Depends(_identity)]
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=255,
        pattern=r"^[!-~]*$",
        description="Makes it safe to send a request again: for 24 hours, the same key and the same request are the "
        "same run. The same key with another request is refused.",
    ),
]
