"""Errors as problem details (RFC 9457), for people as pages, and below /v1 as OpenAI's clients read them."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.types import Scope

from deep_research.errors import (
    CannotWrite,
    DeepResearchError,
    InputError,
    LimitReached,
    NotFound,
    RunHeld,
    RunTaken,
    SignInFailed,
    StoreCorrupt,
    StoreLocked,
    TooLarge,
    TooManyTries,
    UsageError,
    WrongState,
)
from deep_research.server.page.views import language_of, page_words, render, words_for
from deep_research.service.public_text import public_message, sendable
from deep_research.text.messages.words import Words

_FOR_PROGRAMS = ("/api", "/v1", "/mcp", "/static", "/health", "/ready", "/metrics", "/openapi.json")
MEDIA_TYPE = "application/problem+json"
# What is below it is answered in OpenAI's shape.
OPENAI = "/v1/"
_OPENAI_TYPES = {
    HTTPStatus.UNAUTHORIZED: ("authentication_error", "invalid_api_key"),
    HTTPStatus.FORBIDDEN: ("permission_error", "insufficient_permissions"),
    HTTPStatus.NOT_FOUND: ("invalid_request_error", "not_found"),
    HTTPStatus.TOO_MANY_REQUESTS: ("rate_limit_error", "rate_limit_exceeded"),
}
# Errors of ours by the status that they are answered with, and the words for those whose own words are the operator's.
_STATUS: tuple[tuple[type[DeepResearchError], HTTPStatus, str], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND, ""),
    (WrongState, HTTPStatus.CONFLICT, ""),
    (UsageError, HTTPStatus.BAD_REQUEST, ""),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, ""),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY, ""),
    (RunHeld, HTTPStatus.CONFLICT, "fault.held"),
    (RunTaken, HTTPStatus.CONFLICT, "fault.held"),
    (StoreLocked, HTTPStatus.SERVICE_UNAVAILABLE, "fault.store_busy"),
    (CannotWrite, HTTPStatus.INSUFFICIENT_STORAGE, ""),
    (SignInFailed, HTTPStatus.UNAUTHORIZED, ""),
    (TooManyTries, HTTPStatus.TOO_MANY_REQUESTS, ""),
    (LimitReached, HTTPStatus.TOO_MANY_REQUESTS, ""),
    (StoreCorrupt, HTTPStatus.INTERNAL_SERVER_ERROR, "fault.unforeseen"),
)


def wants_page(request: Request) -> bool:
    """Say whether somebody reads the answer, not a program."""
    is_for_programs = request.url.path.startswith(_FOR_PROGRAMS)
    return not is_for_programs and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, status: HTTPStatus, detail: str) -> Response:
    """Return an error as a page."""
    words = page_words(language_of(request))
    heading = words("error.unknown" if status == HTTPStatus.NOT_FOUND else "error.wrong")
    return render(request, "error.html", status=status, heading=heading, detail=detail)


class Misfit(BaseModel):
    """One thing that does not fit in a request, and where."""

    at: str
    problem: str


class Problem(BaseModel):
    """What went wrong (RFC 9457); `errors` says what does not fit in a request.

    Where an account has used what it may use, `limit` names what, and `renews_at` when there is more.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "There is no run “3f2a9c1e”.",
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[Misfit] | None = None
    limit: str | None = None
    most: float | None = None
    left: float | None = None
    renews_at: datetime | None = None


def add_problem_details(app: FastAPI) -> None:
    """Have the application answer every error in this shape."""

    @app.exception_handler(DeepResearchError)
    async def ours(request: Request, exc: DeepResearchError) -> Response:
        detail = detail_of(exc, words_for(request))
        if isinstance(exc, LimitReached) and not wants_page(request):
            return _limit(request, exc, detail)
        return error_response(request, status_of(exc), detail)

    @app.exception_handler(HTTPException)
    async def theirs(request: Request, exc: HTTPException) -> Response:
        status, words = HTTPStatus(exc.status_code), words_for(request)
        detail = str(exc.detail)
        if detail == status.phrase and status == HTTPStatus.NOT_FOUND:
            detail = words("fault.no_such_address")
        elif status == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = words("fault.wrong_method", method=request.method)
        return error_response(request, status, detail, exc.headers)

    @app.exception_handler(RequestValidationError)
    async def misfit(request: Request, exc: RequestValidationError) -> Response:
        errors = [{"at": ".".join(map(str, error["loc"])), "problem": error["msg"]} for error in exc.errors()]
        detail = words_for(request)("fault.misfit")
        return problem_response(request.scope, HTTPStatus.UNPROCESSABLE_ENTITY, detail, more={"errors": errors})

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, _: Exception) -> Response:
        return error_response(request, HTTPStatus.INTERNAL_SERVER_ERROR, words_for(request)("fault.unforeseen"))


def status_of(exc: DeepResearchError) -> HTTPStatus:
    """Return the status that an error of ours is answered with."""
    if isinstance(exc, LimitReached) and exc.limit == "usd_a_month":
        return HTTPStatus.PAYMENT_REQUIRED
    return _found(exc)[0]


def detail_of(exc: DeepResearchError, words: Words) -> str:
    """Return what a client is told of an error of ours: no path of this machine, no secret."""
    key = _found(exc)[1]
    return words(key) if key else public_message(exc.in_words(words))


def openai_error(message: str, status: HTTPStatus, *, code: str | None = None, param: str | None = None) -> Any:
    """Return an error as OpenAI's clients read it."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kind, usual = "server_error", "server_error"
    else:
        kind, usual = _OPENAI_TYPES.get(status, ("invalid_request_error", "invalid_value"))
    return {"error": {"message": message, "type": kind, "param": param, "code": code or usual}}


def problem_response(
    scope: Scope,
    status: HTTPStatus,
    detail: str,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, object] | None = None,
) -> Response:
    """Return an error as programs read it that ask where this request does."""
    if scope["path"].startswith(OPENAI):
        text, media_type = json.dumps(openai_error(sendable(detail), status)), "application/json"
    else:
        content = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
        text, media_type = sendable(json.dumps({**content, **(more or {})}, ensure_ascii=False)), MEDIA_TYPE
    # What is too large is not read to its end, so that the connection cannot be used again.
    closing = {"Connection": "close"} if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE else {}
    return Response(text, status_code=status, media_type=media_type, headers={**(headers or {}), **closing})


def _found(exc: DeepResearchError) -> tuple[HTTPStatus, str]:
    unforeseen = (HTTPStatus.INTERNAL_SERVER_ERROR, "fault.unforeseen")
    return next(((status, key) for kind, status, key in _STATUS if isinstance(exc, kind)), unforeseen)


def _limit(request: Request, exc: LimitReached, detail: str) -> Response:
    """Say what is left, and when there is more."""
    renews_at = exc.renews_at.isoformat() if exc.renews_at else None
    left = {"limit": exc.limit, "most": exc.most, "left": exc.left, "renews_at": renews_at}
    seconds = (exc.renews_at - datetime.now(UTC)).total_seconds() if exc.renews_at else 60.0
    wait = {"Retry-After": str(max(1, math.ceil(seconds)))}
    return problem_response(request.scope, status_of(exc), detail, wait, left)


def error_response(
    request: Request, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as whoever asked can read it: a page for people, else problem details."""
    if wants_page(request):
        return error_page(request, status, detail)
    return problem_response(request.scope, status, detail, headers)
