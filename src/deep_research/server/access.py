"""Who may ask for what: every request passes here before anything else looks at it.

A browser proves who it is by a cookie, which it would also send where a page of somebody else makes it. Two things keep
such pages from changing anything, each enough by itself: a request must come from a page of exactly this server, which
browsers name in Origin or Sec-Fetch-Site and no script can change; and it must bring a second cookie, which is
`SameSite=Strict`: browsers send it for nothing that another site begins. The first is `Lax`, so that links lead here.
"""

import hmac
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.server.origin import (
    SAFE_METHODS,
    ClientConnection,
    connection_of,
    is_our_name,
    is_own_page,
    is_proven_own_page,
)
from deep_research.server.page.views import words_for
from deep_research.server.problems import error_response, problem_response
from deep_research.server.route_policy import logged_action, needed_scope
from deep_research.service.accounts.accounts import Accounts
from deep_research.service.accounts.identity import LOCAL, ActionLog, Identity
from deep_research.service.service import ResearchService
from deep_research.settings import Settings
from deep_research.value import digest_of

# What every answer carries, unless whoever made it knows better.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without a referrer browsers name no origin for a form either, and the server could not tell it from a stranger's.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
# Requests of one account that are answered at the same time, streams of events among them.
MAX_AT_ONCE = 100
# A stream looks so often whether whoever reads it still may.
_RECHECK_S = 1.0

FindIdentity = Callable[[], Awaitable[Identity | None]]


class _NoLongerAllowed(Exception):
    """Whoever reads a stream has lost the right to."""


@dataclass
class AccessMiddleware:
    """Lets a request through to the application, or answers why not."""

    app: ASGIApp
    settings: Settings
    _under_way: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; there are no web sockets here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._respond(scope, receive, _CheckedResponse(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _respond(self, scope: Scope, receive: Receive, response: "_CheckedResponse") -> None:
        connection = connection_of(scope, behind_proxy=self.settings.server_behind_proxy)
        if connection is None:
            unusable = problem_response(scope, HTTPStatus.BAD_REQUEST, "The request has no usable Host header.")
            await unusable(scope, receive, response.send)
            return
        if refused := self._refusal(connection, scope):
            await refused(scope, receive, response.send)
            return
        service: ResearchService = scope["app"].state.service
        find = _finder(service.accounts, connection, Headers(scope=scope))
        identity = await find()
        identity = identity and identity.replace(address=connection.address)
        if refused := await _refusal_for(service.accounts, connection, identity, scope):
            await refused(scope, receive, response.send)
            return
        scope.setdefault("state", {}).update(connection=connection, identity=identity)
        user = connection.address
        if identity is not None:
            user, response.find = identity.user, find
        if self._under_way[user] >= MAX_AT_ONCE:
            detail = words_for(Request(scope))("fault.too_many_requests", count=MAX_AT_ONCE)
            await problem_response(scope, HTTPStatus.TOO_MANY_REQUESTS, detail)(scope, receive, response.send)
            return
        self._under_way[user] += 1
        try:
            await self.app(scope, receive, response.send)
        except _NoLongerAllowed:
            await response.send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._under_way[user] -= 1
        await _record(service.action_log, scope, response.status, identity)

    def _refusal(self, connection: ClientConnection, scope: Scope) -> Response | None:
        """Return why a request is answered for nobody, whoever asks."""
        if not is_our_name(connection, self.settings.server_hosts):
            return problem_response(
                scope,
                HTTPStatus.MISDIRECTED_REQUEST,
                f"This server is not called {connection.name}; name it in the setting server_hosts if it is.",
            )
        if not is_own_page(connection, scope["method"], Headers(scope=scope)):
            return problem_response(scope, HTTPStatus.FORBIDDEN, "Pages of other sites may not use this server.")
        return None


def cookie_name(connection: ClientConnection) -> str:
    """Return the name of the cookie of a sign-in; browsers keep one that begins with `__Host-` from other hosts."""
    if connection.scheme == "https":
        return "__Host-deep-research"
    # Servers at other ports of a host get its cookies too; a name of its own keeps those of two servers apart.
    return f"deep-research-{connection.authority.rpartition(':')[2]}"


def strict_cookie_name(connection: ClientConnection) -> str:
    """Return the name of the cookie that browsers send for our own pages only."""
    return f"{cookie_name(connection)}-own"


def strict_cookie_for(secret: str) -> str:
    """Return what that cookie holds beside the secret of a sign-in."""
    return digest_of(f"own page {secret}")


def cookie_of(connection: ClientConnection, headers: Headers) -> str:
    """Return the secret of a sign-in that a request brings, or ""."""
    return _cookie(cookie_name(connection), headers)


def _has_strict_cookie(connection: ClientConnection, headers: Headers) -> bool:
    expected = strict_cookie_for(cookie_of(connection, headers))
    return hmac.compare_digest(_cookie(strict_cookie_name(connection), headers).encode(), expected.encode())


def _cookie(name: str, headers: Headers) -> str:
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
    return ""


def _finder(accounts: Accounts, connection: ClientConnection, headers: Headers) -> FindIdentity:
    """Return what finds out who asks, at the beginning and again while an answer is streamed."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    cookie = cookie_of(connection, headers)

    async def find() -> Identity | None:
        if not await accounts.exist():
            return LOCAL if connection.is_local else None
        if "authorization" in headers:
            return await accounts.of_token(token.strip()) if scheme.lower() == "bearer" else None
        return await accounts.of_sign_in(cookie) if cookie else None

    return find


async def _refusal_for(
    accounts: Accounts, connection: ClientConnection, identity: Identity | None, scope: Scope
) -> Response | None:
    """Return why a request is not answered for whoever asks."""
    method, path, headers = scope["method"], scope["path"], Headers(scope=scope)
    needed, has_accounts = needed_scope(method, path), await accounts.exist()
    if identity is None and not has_accounts:
        return problem_response(
            scope,
            HTTPStatus.FORBIDDEN,
            "This server has no accounts, and answers only on its own machine: deep-research users add NAME",
        )
    if identity is None and needed is not None:
        return _sign_in_first(scope, headers)
    if has_accounts and method not in SAFE_METHODS and "authorization" not in headers:
        is_ours = is_proven_own_page(headers) and (identity is None or _has_strict_cookie(connection, headers))
        if not is_ours:
            return problem_response(
                scope, HTTPStatus.FORBIDDEN, "Only a page of this server may send this; programs send a token."
            )
    if identity is not None and needed is not None and needed not in identity.scopes:
        detail = f"This needs the scope {needed}, which the account or token has not."
        return error_response(Request(scope), HTTPStatus.FORBIDDEN, detail)
    return None


def _sign_in_first(scope: Scope, headers: Headers) -> Response:
    path = scope["path"]
    if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        query = scope.get("query_string", b"").decode("latin-1")
        back = quote(path + (f"?{query}" if query else ""), safe="")
        return RedirectResponse(f"/sign-in?next={back}", status_code=HTTPStatus.SEE_OTHER)
    response = problem_response(scope, HTTPStatus.UNAUTHORIZED, "Sign in, or send a token: Authorization: Bearer …")
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _record(action_log: ActionLog, scope: Scope, status: int, identity: Identity | None) -> None:
    has_succeeded = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    if identity and has_succeeded and (done := logged_action(scope["method"], scope["path"])):
        await action_log.record(identity, *done)


class _CheckedResponse:
    """Passes a response on with our headers, keeps its status, and ends a stream whose reader has lost the right.

    `find` finds out again who reads; where nobody is known, nothing is looked up.
    """

    def __init__(self, send: Send) -> None:
        self.status = 0
        self.find: FindIdentity | None = None
        self._send = send
        self._checked_at = time.monotonic()

    async def send(self, message: Message) -> None:
        """Pass a part of the response on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        elif message.get("more_body") and self.find and time.monotonic() - self._checked_at > _RECHECK_S:
            self._checked_at = time.monotonic()
            if await self.find() is None:
                raise _NoLongerAllowed
        await self._send(message)
