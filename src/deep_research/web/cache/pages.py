"""Pages that are kept for a while: fresh ones are returned without asking, older ones if they have not changed.

A page's `max-age` and `no-cache` are not looked at: most pages carry some default there, and a
report says when a page was fetched. `no-store` is respected.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from deep_research.errors import AddressRefused, SourceBusy, SourceError, error_named
from deep_research.report.sources.address import canonical_address
from deep_research.value import Value, canonical_json, digest, json_of
from deep_research.web.cache.cache import Cache
from deep_research.web.fetch.port import Fetched, Validators

_KIND = "page"
_NOT_CHANGED = 304
_WEEK_S = 7 * 24 * 3600.0


class ConditionalFetcher(Protocol):
    """A fetcher that can ask whether a page has changed: `fetch.web.WebFetcher`."""

    @property
    def timeout_s(self) -> float: ...

    async def fetch(self, address: str, *, known: Validators | None = None) -> Fetched:
        """Return the page, or one with status 304 where it is as `known`."""
        ...


class _CachedPage(Value):
    """What is known of an address since `checked_at`, in seconds since 1970: a page, or how it failed."""

    checked_at: float
    page: Fetched | None = None
    failure: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class CachedFetcher:
    """A fetcher whose pages are kept, and whose lasting failures are, but only while they are fresh.

    `identity` differs for one that may open other pages, or opens them in another way.
    """

    fetcher: ConditionalFetcher
    cache: Cache
    identity: str = ""
    fresh_s: float = 3600.0
    now: Callable[[], float] = time.time

    @property
    def timeout_s(self) -> float:
        return self.fetcher.timeout_s

    async def fetch(self, address: str) -> Fetched:
        """Return the page that is kept, or ask for it; a lasting failure is raised again without asking."""
        key = digest(self.identity, canonical_address(address))
        cached = _unpacked(await self.cache.get(_KIND, key))
        if cached is not None and 0 <= self.now() - cached.checked_at < self.fresh_s:
            if cached.page is None:
                raise error_named(*cached.failure)
            return cached.page
        try:
            page = await self._asked(address, cached.page if cached else None)
        except SourceError as failure:
            if not isinstance(failure, SourceBusy | AddressRefused):
                await self._keep(
                    key, _CachedPage(checked_at=self.now(), failure=(type(failure).__name__, str(failure)))
                )
            raise
        directives = page.headers.get("cache-control", "").lower().split(",")
        if "no-store" not in map(str.strip, directives):
            await self._keep(key, _CachedPage(checked_at=self.now(), page=page))
        return page

    async def _asked(self, address: str, known: Fetched | None) -> Fetched:
        if known is None or known.validators == Validators():
            return await self.fetcher.fetch(address)
        response = await self.fetcher.fetch(address, known=known.validators)
        if response.status != _NOT_CHANGED:
            return response
        return known.replace(fetched_at=response.fetched_at)

    async def _keep(self, key: str, cached: _CachedPage) -> None:
        ttl_s = self.fresh_s if cached.page is None else max(self.fresh_s, _WEEK_S)
        await self.cache.put(_KIND, key, _packed(cached), ttl_s)


def _packed(cached: _CachedPage) -> bytes:
    """Return a line of JSON, then the bytes of the page."""
    head = cached.model_dump(mode="json", exclude={"page": {"raw"}})
    raw = b"" if cached.page is None else cached.page.raw
    return canonical_json(head).encode("utf-8", "surrogatepass") + b"\n" + raw


def _unpacked(value: bytes | None) -> _CachedPage | None:
    """Return what was kept; None where that is nothing, or another version of this code kept it."""
    if value is None:
        return None
    line, _, raw = value.partition(b"\n")
    try:
        head = json_of(line.decode("utf-8", "surrogatepass"))
        if isinstance(head, dict) and isinstance(page := head.get("page"), dict):
            return _CachedPage.model_validate({**head, "page": {**page, "raw": raw}})
        return _CachedPage.model_validate(head)
    except ValueError:
        return None
