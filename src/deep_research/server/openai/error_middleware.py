"""What is refused before a route below /v1 is reached (nobody's token, too large), in OpenAI's shape."""

import json
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.server.openai.errors import error_object
from deep_research.server.problems import MEDIA_TYPE

_PREFIX = "/v1/"


class OpenAIErrorMiddleware:
    """Turns problem details below /v1 into errors as OpenAI's clients read them; all else passes as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"].startswith(_PREFIX):
            send = _Reshaped(send).send
        await self._app(scope, receive, send)


class _Reshaped:
    """Holds a problem back until it is whole, and sends it in the other shape."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            is_problem = MutableHeaders(scope=message).get("content-type", "").startswith(MEDIA_TYPE)
            self._start = message if is_problem else None
            if is_problem:
                return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            start, status = self._start, HTTPStatus(self._start["status"])
            body = json.dumps({"error": error_object(json.loads(self._body).get("detail", status.phrase), status)})
            headers = MutableHeaders(scope=start)
            headers["content-type"], headers["content-length"] = "application/json", str(len(body))
            await self._send(start)
            await self._send({"type": "http.response.body", "body": body.encode()})
