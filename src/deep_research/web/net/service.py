"""Calls to services whose address a user has set: JSON or text back, bounded in time and size, errors as ours.

An address that came from a page or a search result never goes through here: `web/net/client.py` has the guard.
"""

import copy
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from socket import gaierror
from typing import Literal, Self, TypeVar

import httpx2

from deep_research.errors import (
    NetworkError,
    QueryRefused,
    SourceBusy,
    SourceError,
    SourceRefused,
    TimedOut,
    Unreachable,
)
from deep_research.value import Json, JsonObject, json_of, value_at
from deep_research.web.net.headers import PROJECT_ADDRESS, retry_after_s, user_agent
from deep_research.web.net.per_loop import PerLoop
from deep_research.web.net.tls import trusted_authorities

T = TypeVar("T")
# `name`: of the model or of the address; the answer does not say which.
Refusal = Literal["key", "model", "name", "credit"]

# Google's `error.details[].reason`, and `error.code` of OpenAI and of those who speak like it.
_REFUSALS: dict[str, Refusal] = {
    "API_KEY_INVALID": "key",
    "invalid_api_key": "key",
    "model_not_found": "model",
    "insufficient_quota": "credit",
}


@dataclass(frozen=True)
class Setup:
    """The settings that errors ask a user to correct, by name; "" where there is nothing to correct."""

    key: str = ""
    model: str = ""
    address: str = ""


_MAX_BYTES = 8 * 1024 * 1024
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
# What is wrong is what was asked: its form, its length or a value in it.
_ABOUT_THE_QUERY = frozenset({400, 413, 414, 422})
# With these statuses the body may say that no call can succeed.
_EXPLAINED = frozenset({400, 429})
Params = Mapping[str, str | int | float | bool | None]


@dataclass(eq=False)
class Service:
    """One configured service: `name` is what errors call it, `setup` what they ask the user to correct.

    Keeps its connections between calls, for each event loop its own. Close it when done; the end of the loop closes
    what is left.
    """

    name: str
    address: str
    _: KW_ONLY
    timeout_s: float
    # It may hold a key.
    headers: Mapping[str, str] = field(repr=False)
    contact: str = PROJECT_ADDRESS
    setup: Setup = Setup()

    def __post_init__(self) -> None:
        self._who = {"User-Agent": user_agent(self.contact)}
        self._clients = PerLoop(_client)

    def at(self, address: str) -> Self:
        """Return the same service at another of its addresses, with the same connections."""
        other = copy.copy(self)
        other.address = address
        return other

    async def aclose(self) -> None:
        """Close the connections of this event loop; a later call opens new ones."""
        await self._clients.aclose()

    async def get_json(self, path: str, *, params: Params | None = None) -> Json:
        """Return the JSON of a GET."""
        return self._json(await self._call("GET", path, params=params))

    async def post_json(self, path: str, *, data: JsonObject) -> Json:
        """Return the JSON of a POST of JSON; what is None is left out, as among the `params` of a GET."""
        return self._json(await self._call("POST", path, json=_without_none(data)))

    async def get_text(
        self, path: str, *, params: Params | None = None, headers: Mapping[str, str] | None = None
    ) -> str:
        """Return the text of a GET: XML, HTML or plain; `headers` take the place of the service's own."""
        return (await self._call("GET", path, params=params, headers=headers)).decode("utf-8", "replace")

    async def post_form(self, path: str, *, form: Mapping[str, str]) -> str:
        """Return the text of a POST of form fields."""
        return (await self._call("POST", path, form=form)).decode("utf-8", "replace")

    async def redirect_at(self, address: str) -> str:
        """Return where an address that the service gave leads on to, "" where it leads nowhere; no key is sent."""
        client = await self._clients.get()
        try:
            async with client.stream("GET", address, headers=self._who, timeout=self.timeout_s) as response:
                return response.headers.get("location", "") if response.is_redirect else ""
        except httpx2.HTTPError:
            return ""

    def _json(self, body: bytes) -> Json:
        try:
            return json_of(body)
        except ValueError as exc:
            raise SourceError(f"{self.name} did not answer in JSON.") from exc

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: JsonObject | None = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        client = await self._clients.get()
        try:
            async with client.stream(
                method,
                self.address.rstrip("/") + path,
                params=_without_none(params or {}) or None,
                json=json,
                data=form,
                headers={**self._who, **self.headers, **(headers or {})},
                timeout=self.timeout_s,
            ) as response:
                if response.status_code in _EXPLAINED:
                    self._check_code(response.status_code, await self._body(response))
                self._check(response)
                return await self._body(response)
        except httpx2.TimeoutException as exc:
            raise TimedOut(f"{self.name} did not answer within {self.timeout_s:g} s.") from exc
        except httpx2.ConnectError as exc:
            why = "its name cannot be looked up: is there a network?" if _is_unknown(exc) else "nobody answers there."
            raise Unreachable(f"{self.name} could not be reached: {why}") from exc
        except httpx2.HTTPError as exc:
            raise NetworkError(f"{self.name} could not be reached: the connection broke off.") from exc

    def _check_code(self, status: int, body: bytes) -> None:
        """Raise `SourceRefused` where the JSON of an error says that no call can succeed."""
        try:
            error = value_at(json_of(body), "error")
        except ValueError:
            return
        details = value_at(error, "details")
        reasons = [value_at(part, "reason") for part in details] if isinstance(details, list) else []
        for code in (value_at(error, "code"), value_at(error, "type"), *reasons):
            if isinstance(code, str) and code in _REFUSALS:
                raise self._refused(_REFUSALS[code], status)

    def _refused(self, refusal: Refusal, status: int) -> SourceRefused:
        setup = self.setup
        to_correct: dict[Refusal, dict[str, str]] = {
            "key": {"variable": setup.key},
            "model": {"setting": setup.model},
            "name": {"setting": setup.model, "address": setup.address},
        }
        names = to_correct.get(refusal, {})
        # Where nothing is set, there is nothing to correct.
        reason, names = (refusal, names) if all(names.values()) else ("access", {})
        return SourceRefused().with_message(f"search.refused_{reason}", service=self.name, status=status, **names)

    def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in _BUSY:
            wait_s = retry_after_s(response.headers)
            raise SourceBusy(f"{self.name} answered with status {status}.", retry_after_s=wait_s)
        if status == 401 or (status == 403 and self.setup.key):
            raise self._refused("key", status)
        if status == 402:
            raise self._refused("credit", status)
        if status == 404 and self.setup.model:
            raise self._refused("name", status)
        if status in _ABOUT_THE_QUERY:
            raise QueryRefused(f"{self.name} answered with status {status}.")
        if not response.is_success:
            raise SourceError(f"{self.name} answered with status {status}.")

    async def _body(self, response: httpx2.Response) -> bytes:
        too_large = SourceError(f"{self.name} answered with more than {_MAX_BYTES // 1024 // 1024} MiB.")
        if int(response.headers.get("content-length") or 0) > _MAX_BYTES:
            raise too_large
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_BYTES:
                raise too_large
        return bytes(body)


def _without_none(values: Mapping[str, T]) -> dict[str, T]:
    return {name: value for name, value in values.items() if value is not None}


def _client() -> httpx2.AsyncClient:
    # Who was here before is nothing that a service needs to know.
    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.AsyncClient(follow_redirects=False, verify=trusted_authorities(), cookies=no_cookies)


def _is_unknown(error: BaseException | None) -> bool:
    """Return whether a connection failed because its host is unknown."""
    while error is not None and not isinstance(error, gaierror):
        error = error.__cause__ or error.__context__
    return error is not None


class LimitedService(Service):
    """A service that refuses frequent callers with status 403, where others use 429, and says so in its headers."""

    def _check(self, response: httpx2.Response) -> None:
        if response.status_code == 403:
            headers = response.headers
            wait_s = retry_after_s(headers)
            # GitHub says how many calls are left, the European Patent Office which of its limits was reached.
            is_limited = headers.get("x-ratelimit-remaining") == "0" or headers.get("x-rejection-reason")
            if wait_s is not None or is_limited:
                raise SourceBusy(f"{self.name} limits its callers (status 403).", retry_after_s=wait_s)
        super()._check(response)
