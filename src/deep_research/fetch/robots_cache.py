"""The robots.txt of each host, asked for once and kept for a while."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from deep_research.errors import NetworkError, SourceBusy, SourceError
from deep_research.fetch.robots import Robots, parse_robots
from deep_research.net.client import BeforeHop, Response

_KEPT_S: Final = 24 * 3600.0
# A host that cannot say is asked again soon.
_DOUBT_KEPT_S: Final = 60.0
_MAX_HOSTS: Final = 2_000
_MAX_DELAY_S: Final = 5.0


class Client(Protocol):
    """What opens connections: `net.client.GuardedClient`."""

    async def fetch(
        self, address: str, *, headers: Mapping[str, str] | None = None, before_hop: BeforeHop | None = None
    ) -> Response:
        """Return the answer at the address, whatever its status; `before_hop` may object to a redirect."""
        ...


class RobotsCache:
    """Says whether a page may be fetched, and how long to wait between two of its host."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        # What a host allows (None: it could not say), and until when that holds.
        self._known: OrderedDict[str, tuple[Robots | None, float]] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def check(self, address: str) -> float:
        """Return the gap the host asks for, in seconds; raise `SourceError` where the page is not for programs.

        `SourceBusy` says that the host could not be asked, so that nothing of it may be fetched for now.
        """
        try:
            parts = urlsplit(address)
        except ValueError:
            # The guard says what is wrong with such an address.
            return 0.0
        robots = await self._robots(f"{parts.scheme}://{parts.netloc.lower()}")
        if robots is None:
            raise SourceBusy(f"{parts.netloc} could not be asked just now which pages are for programs (robots.txt).")
        if not robots.allows(address):
            raise SourceError(f"{address} is closed to programs by its host (robots.txt).")
        return min(robots.delay_s, _MAX_DELAY_S)

    async def _robots(self, origin: str) -> Robots | None:
        lock = self._asking.setdefault(origin, asyncio.Lock())
        async with lock:
            robots, until_s = self._known.get(origin, (None, 0.0))
            if self._clock() >= until_s:
                robots = await self._fetch(origin)
                kept_s = _DOUBT_KEPT_S if robots is None else _KEPT_S
                self._known[origin] = (robots, self._clock() + kept_s)
                self._known.move_to_end(origin)
        if len(self._known) > _MAX_HOSTS:
            oldest, _ = self._known.popitem(last=False)
            self._asking.pop(oldest, None)
        return robots

    async def _fetch(self, origin: str) -> Robots | None:
        """Return a host's rules; none at all where it has no such file, None where it cannot say."""
        try:
            response = await self._client.fetch(f"{origin}/robots.txt")
        except (NetworkError, SourceBusy):
            return None
        except SourceError:
            # Redirects without end, or far too large: as if there were none (RFC 9309, 2.3.1).
            return Robots()
        if response.status >= 500:
            return None
        if not 200 <= response.status < 300:
            return Robots()
        return parse_robots(response.body.decode("utf-8", "replace"))
