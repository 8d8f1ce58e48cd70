"""Signing in and out in a browser."""

import math
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from deep_research.errors import SignInFailed, TooManyTries
from deep_research.server.access import cookie_name, cookie_of, strict_cookie_for, strict_cookie_name
from deep_research.server.dependencies import Service, Who
from deep_research.server.origin import ClientConnection
from deep_research.server.page.preferences import own_address
from deep_research.server.page.views import render
from deep_research.service.accounts.accounts import SIGN_IN_FOR

router = APIRouter(include_in_schema=False)
_MAX_CHARS = 1_000


@router.get("/sign-in")
async def show_sign_in(
    request: Request, service: Service, back: Annotated[str, Query(alias="next", max_length=4_000)] = "/"
) -> Response:
    """Ask for name and password."""
    if not await service.accounts.exist() or request.state.identity is not None:
        return RedirectResponse(own_address(back), status_code=HTTPStatus.SEE_OTHER)
    connection: ClientConnection = request.state.connection
    return _form(request, back, wrong="" if connection.is_private else "sign_in.not_private")


@router.post("/sign-in")
async def sign_in(
    request: Request,
    service: Service,
    name: Annotated[str, Form(max_length=_MAX_CHARS)] = "",
    password: Annotated[str, Form(max_length=_MAX_CHARS)] = "",
    back: Annotated[str, Form(alias="next", max_length=4_000)] = "/",
) -> Response:
    """Sign in, and go on to the page that was asked for."""
    connection: ClientConnection = request.state.connection
    if not connection.is_private:
        return _form(request, back, name, wrong="sign_in.not_private", status=HTTPStatus.FORBIDDEN)
    before = cookie_of(connection, request.headers)
    try:
        secret = await service.accounts.sign_in(name, password, address=connection.address, before=before)
    except SignInFailed:
        return _form(request, back, name, wrong="sign_in.wrong", status=HTTPStatus.UNAUTHORIZED)
    except TooManyTries as exc:
        minutes = math.ceil(exc.retry_after_s / 60)
        response = _form(
            request, back, name, wrong="sign_in.too_often", minutes=minutes, status=HTTPStatus.TOO_MANY_REQUESTS
        )
        response.headers["Retry-After"] = str(math.ceil(exc.retry_after_s))
        return response
    response = RedirectResponse(own_address(back), status_code=HTTPStatus.SEE_OTHER)
    max_age, secure = int(SIGN_IN_FOR.total_seconds()), connection.scheme == "https"
    response.set_cookie(cookie_name(connection), secret, max_age=max_age, httponly=True, samesite="lax", secure=secure)
    response.set_cookie(
        strict_cookie_name(connection),
        strict_cookie_for(secret),
        max_age=max_age,
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return response


@router.post("/sign-out")
@router.post("/sign-out-everywhere")
async def sign_out(request: Request, service: Service, who: Who) -> Response:
    """Sign out in this browser, or in every browser."""
    connection: ClientConnection = request.state.connection
    everywhere = request.url.path == "/sign-out-everywhere"
    await service.accounts.sign_out(cookie_of(connection, request.headers), who, everywhere=everywhere)
    response = RedirectResponse("/sign-in", status_code=HTTPStatus.SEE_OTHER)
    for name in (cookie_name(connection), strict_cookie_name(connection)):
        response.delete_cookie(name, httponly=True, secure=connection.scheme == "https")
    return response


def _form(
    request: Request,
    back: str,
    name: str = "",
    *,
    wrong: str = "",
    minutes: int = 0,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    values = {"back": own_address(back), "name": name, "wrong": wrong, "minutes": minutes}
    return render(request, "sign_in.html", status=status, navigation=(), **values)
