"""Requests that are too large or come too slowly are refused; uploads have limits of their own."""

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.server.page.views import words_for
from deep_research.server.problems import problem_response

# More than the longest question with the longest conversation before it, however it is spelled in JSON.
_MAX_BYTES = 2_000_000
# For a body of that size; the head of a request has a limit of its own (server/listening.py).
_BODY_S = 60.0
_UPLOADS = re.compile(r"/api/collections/[^/]+/files/?")


@dataclass
class BodyLimitMiddleware:
    """Refuses a request whose body is longer than any that is meant."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or _UPLOADS.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        detail = words_for(request)("fault.body_too_large", limit=_MAX_BYTES)
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > _MAX_BYTES:
            await problem_response(scope, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)(scope, receive, send)
            return
        left = _MAX_BYTES
        until: float | None = None
        is_whole = False

        async def counted() -> Message:
            nonlocal left, until, is_whole
            until = until or asyncio.get_running_loop().time() + _BODY_S
            try:
                # What comes after the body is the end of the connection: a stream waits for it as long as it lasts.
                async with asyncio.timeout_at(None if is_whole else until):
                    message = await receive()
            except TimeoutError:
                slow = words_for(request)("fault.body_too_slow", seconds=int(_BODY_S))
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, slow, {"Connection": "close"}) from None
            is_whole = not message.get("more_body", False)
            left -= len(message.get("body", b""))
            if left < 0:
                # FastAPI lets this one through while it reads a body.
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            return message

        await self.app(scope, counted, send)
