"""Pages that are kept for a while: first nobody is asked, then only whether they have changed (SPEC R5).

A page's `max-age` and `no-cache` are not looked at: most pages carry some habit there, and who reads a page of an hour
ago is told when it was fetched. `no-store` is kept to.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

from deep_research.cache.disk import DiskCache
from deep_research.errors import AddressRefused, CallFailed, SourceBusy, SourceError, error_named
from deep_research.fetch.port import Fetched, Validators
from deep_research.sources.address import canonical_address
from deep_research.value import Value, canonical_json, digest, json_of

_KIND: Final = "page"
_NOT_CHANGED: Final = 304
_WEEK_S: Final = 7 * 24 * 3600.0


class ConditionalFetcher(Protocol):
    """A fetcher that can ask whether a page has changed: `fetch.web.WebFetcher`."""

    @property
    def timeout_s(self) -> float:
        """The time after which a fetch gives up."""
        ...

    async def fetch(self, address: str, *, known: Validators | None = None) -> Fetched:
        """Return the page, or one with status 304 where it is as `known`."""
        ...


class _Kept(Value):
    """What is known of an address since `checked_at`, in seconds since 1970: a page, or how it failed."""

    checked_at: float
    page: Fetched | None = None
    failure: tuple[str, str] = ("", "")


class CachedFetcher:
    """A fetcher whose pages are kept, and whose lasting failures are, but only as long as nobody is asked."""

    def __init__(
        self,
        fetcher: ConditionalFetcher,
        cache: DiskCache,
        *,
        identity: str = "",
        fresh_s: float = 3600.0,
        keep_s: float = _WEEK_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take a fetcher; `identity` tells it from one that may open other pages, or opens them in another way."""
        self._fetcher = fetcher
        self._cache = cache
        self._identity = identity
        self._fresh_s = fresh_s
        self._keep_s = keep_s
        self._now = now

    @property
    def timeout_s(self) -> float:
        """The time after which a fetch gives up."""
        return self._fetcher.timeout_s

    async def fetch(self, address: str) -> Fetched:
        """Return the page that is kept, or ask for it; a lasting failure is raised again without asking."""
        key = digest(self._identity, canonical_address(address))
        kept = _unpacked(await self._cache.get(_KIND, key))
        if kept is not None and 0 <= self._now() - kept.checked_at < self._fresh_s:
            if kept.page is None:
                raise error_named(*kept.failure)
            return kept.page
        try:
            page = await self._asked(address, kept.page if kept else None)
        except SourceError as failure:
            if _lasts(failure):
                await self._keep(key, _Kept(checked_at=self._now(), failure=(type(failure).__name__, str(failure))))
            raise
        if "no-store" not in _cache_control(page):
            await self._keep(key, _Kept(checked_at=self._now(), page=page))
        return page

    async def _asked(self, address: str, known: Fetched | None) -> Fetched:
        if known is None or known.validators == Validators():
            return await self._fetcher.fetch(address)
        answer = await self._fetcher.fetch(address, known=known.validators)
        if answer.status != _NOT_CHANGED:
            return answer
        return known.model_copy(update={"fetched_at": answer.fetched_at})

    async def _keep(self, key: str, kept: _Kept) -> None:
        ttl_s = self._fresh_s if kept.page is None else max(self._fresh_s, self._keep_s)
        await self._cache.put(_KIND, key, _packed(kept), ttl_s)


def _lasts(failure: CallFailed) -> bool:
    return not isinstance(failure, SourceBusy | AddressRefused)


def _cache_control(page: Fetched) -> set[str]:
    return {part.strip().lower() for part in page.headers.get("cache-control", "").split(",")}


def _packed(kept: _Kept) -> bytes:
    """Return a line of JSON, then the bytes of the page."""
    head = kept.model_dump(mode="json", exclude={"page": {"raw"}})
    raw = b"" if kept.page is None else kept.page.raw
    return canonical_json(head).encode("utf-8", "surrogatepass") + b"\n" + raw


def _unpacked(value: bytes | None) -> _Kept | None:
    """Return what was kept; None where that is nothing, or another version of this code kept it."""
    if value is None:
        return None
    line, _, raw = value.partition(b"\n")
    try:
        head = json_of(line.decode("utf-8", "surrogatepass"))
        if isinstance(head, dict) and isinstance(page := head.get("page"), dict):
            return _Kept.model_validate({**head, "page": {**page, "raw": raw}})
        return _Kept.model_validate(head)
    except ValueError:
        return None
