"""Requests that are too large are refused before they are read; uploads have limits of their own."""

import re
from http import HTTPStatus

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.server.problems import problem_response, words_for

# More than the longest question with the longest conversation before it, however it is spelled in JSON.
MAX_BYTES = 2_000_000
_UPLOADS = re.compile(r"/api/collections/[^/]+/files/?")


class BodyLimitMiddleware:
    """Refuses a request whose body is longer than any that is meant."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BYTES) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or _UPLOADS.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        detail = words_for(request)("fault.body_too_large", limit=self._limit)
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._limit:
            await problem_response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)(scope, receive, send)
            return
        left = self._limit

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                # FastAPI lets this one through while it reads a body.
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            return message

        await self._app(scope, counted, send)
