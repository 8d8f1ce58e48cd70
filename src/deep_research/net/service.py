"""Calls to services whose address a user has set: JSON or text back, bounded in time and size, errors as ours.

An address that came from a page or a search result never goes through here; `net/client.py` has the guard for those.
"""

import json
from collections.abc import Mapping
from typing import Final

import httpx2

from deep_research.errors import NetworkError, SourceBusy, SourceError
from deep_research.net.retry_after import retry_after_s
from deep_research.net.tls import trusted_authorities
from deep_research.value import Json

USER_AGENT: Final = "deep-research/0.1 (research agent)"
_MAX_BYTES: Final = 8 * 1024 * 1024
_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
Params = Mapping[str, str | int | float | bool | None]


class Service:
    """One configured service: `name` is what errors call it. Opens a connection when it is first asked."""

    def __init__(self, name: str, address: str, *, timeout_s: float, headers: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._address = address.rstrip("/")
        self._headers = {"User-Agent": USER_AGENT, **(headers or {})}
        self._has_key = bool(headers)

    async def get_json(self, path: str = "", *, params: Params | None = None) -> Json:
        """Return the JSON of a GET."""
        return self._json(await self._call("GET", path, params=params))

    async def post_json(self, path: str = "", *, data: Json, params: Params | None = None) -> Json:
        """Return the JSON of a POST of JSON."""
        return self._json(await self._call("POST", path, params=params, json=data))

    async def get_text(self, path: str = "", *, params: Params | None = None) -> str:
        """Return the text of a GET: XML, HTML or plain."""
        return (await self._call("GET", path, params=params)).decode("utf-8", "replace")

    async def post_form(self, path: str = "", *, form: Mapping[str, str]) -> str:
        """Return the text of a POST of form fields."""
        return (await self._call("POST", path, form=form)).decode("utf-8", "replace")

    def _json(self, body: bytes) -> Json:
        try:
            data: Json = json.loads(body)
        except ValueError as exc:
            raise SourceError(f"{self.name} did not answer in JSON.") from exc
        return data

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: Json = None,
        form: Mapping[str, str] | None = None,
    ) -> bytes:
        wanted = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            async with (
                httpx2.AsyncClient(
                    headers=self._headers, timeout=self.timeout_s, follow_redirects=False, verify=trusted_authorities()
                ) as client,
                client.stream(method, self._address + path, params=wanted or None, json=json, data=form) as response,
            ):
                self._check(response)
                return await self._body(response)
        except httpx2.TimeoutException as exc:
            raise NetworkError(f"{self.name} did not answer within {self.timeout_s:g} s.") from exc
        except httpx2.HTTPError as exc:
            raise NetworkError(f"{self.name} could not be reached ({type(exc).__name__}).") from exc

    def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in _BUSY:
            wait_s = retry_after_s(response.headers)
            raise SourceBusy(f"{self.name} answered with status {status}.", retry_after_s=wait_s)
        if status in (401, 403):
            remedy = ": check its key" if self._has_key else ""
            raise SourceError(f"{self.name} refused the call (status {status}){remedy}.")
        if not response.is_success:
            raise SourceError(f"{self.name} answered with status {status}.")

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_BYTES:
                raise SourceError(f"{self.name} answered with more than {_MAX_BYTES // 1024 // 1024} MiB.")
        return bytes(body)
