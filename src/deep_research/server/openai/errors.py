"""Errors in OpenAI's shape, for everything that goes wrong below /v1, in the middle of a stream too."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException

from deep_research.errors import DeepResearchError
from deep_research.server.page.language import words_for
from deep_research.server.problems import detail_of, openai_error, status_of
from deep_research.text.messages.words import Words, words_in

_log = logging.getLogger(__name__)
# A comment, which clients pass over: it keeps proxies from taking a silent connection for a dead one.
PING = ": ping\n\n"


class Refused(Exception):
    """A request that is not served, and why."""

    def __init__(
        self, message: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST, code: str | None = None, param: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param or None


def refusal_of(exc: Exception, words: Words) -> tuple[HTTPStatus, Any]:
    """Return the status and the error of whatever went wrong; what is not ours is told to the log alone."""
    match exc:
        case Refused():
            return exc.status, openai_error(str(exc), exc.status, code=exc.code, param=exc.param)
        case DeepResearchError():
            status = status_of(exc)
            # OpenAI's clients know no other status for a request that cannot be used.
            status = HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status
            return status, openai_error(detail_of(exc, words), status)
        case RequestValidationError() | ValidationError():
            return HTTPStatus.BAD_REQUEST, _misfit(exc)
        case StarletteHTTPException():
            status = HTTPStatus(exc.status_code)
            return status, openai_error(str(exc.detail), status)
    _log.error("a request below /v1 failed", exc_info=exc)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return status, openai_error(words("fault.unforeseen"), status)


def _misfit(exc: RequestValidationError | ValidationError) -> Any:
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    message = f"{where}: {first['msg']}" if where else str(first["msg"])
    return openai_error(message, HTTPStatus.BAD_REQUEST, param=where or None)


class OpenAIRoute(APIRoute):
    """A route whose errors have OpenAI's shape; after a failure clients are told not to ask again by themselves."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, with its errors put into shape."""
        handle = super().get_route_handler()

        async def handle_in_shape(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as exc:  # Clients read no other shape, whatever went wrong.
                status, error = refusal_of(exc, words_for(request))
                headers = dict(exc.headers or {}) if isinstance(exc, HTTPException) else {}
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    # Another try would start the research anew.
                    headers["x-should-retry"] = "false"
                # Escaped, as a message may repeat what no encoding holds.
                body = json.dumps(error)
                return Response(body, status_code=status, headers=headers, media_type="application/json")

        return handle_in_shape


def event_stream(frames: AsyncIterator[str], frame_of: Callable[[Any], str]) -> Response:
    """Return an event stream that nothing on its way holds back.

    An error in its middle is its last frame, as a status has been sent by then.
    """

    async def guarded() -> AsyncIterator[str]:
        try:
            async for frame in frames:
                yield frame
        except Exception as exc:  # Without a last frame a client would take the stream for whole.
            yield frame_of(refusal_of(exc, words_in("en"))[1])

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(guarded(), media_type="text/event-stream", headers=headers)
