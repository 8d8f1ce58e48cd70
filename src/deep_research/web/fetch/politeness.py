"""How hard one host may be asked, and for what: a few requests at once, a gap between their starts, and its robots.txt.

That file (RFC 9309) says which pages a program may fetch, and how fast; it is kept for a day.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from deep_research.errors import NetworkError, SourceBusy, SourceError
from deep_research.web.net.client import GuardedClient

IN_FLIGHT_PER_HOST = 2
GAP_S = 0.1
_MAX_UNUSED_HOSTS = 1_000
# The name that a site's owner can address this program by.
AGENT = "deep-research"
_MAX_CHARS = 512 * 1024
_MAX_STARS = 20
_LINE = re.compile(r"^[ \t]*([A-Za-z-]+)[ \t]*:[ \t]*([^#\r\n]*)", re.MULTILINE)
_SAFE = "/:@!$&'()*+,;=~-._%?[]"


@dataclass
class _Host:
    slots: asyncio.Semaphore
    next_start_s: float = 0.0
    users: int = 0
    pacing: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(eq=False)
class Politeness:
    """Limits requests host by host; one object serves all tasks of an event loop."""

    per_host: int = IN_FLIGHT_PER_HOST
    gap_s: float = GAP_S
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _hosts: dict[str, _Host] = field(default_factory=dict, init=False)

    @asynccontextmanager
    async def slot(self, host: str, *, delay_s: float = 0.0) -> AsyncIterator[None]:
        """Wait for a free slot of the host and hold it; `delay_s` is a longer gap that the host itself asks for."""
        entry = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self.per_host)))
        entry.users += 1
        try:
            async with entry.slots:
                async with entry.pacing:
                    wait_s = entry.next_start_s - self.clock()
                    if wait_s > 0:
                        await self.sleep(wait_s)
                    entry.next_start_s = self.clock() + max(self.gap_s, delay_s)
                yield
        finally:
            entry.users -= 1
            self._forget_unused()

    def _forget_unused(self) -> None:
        if len(self._hosts) > _MAX_UNUSED_HOSTS:
            now_s = self.clock()
            self._hosts = {
                host: entry for host, entry in self._hosts.items() if entry.users or entry.next_start_s > now_s
            }


class Robots(NamedTuple):
    """The rules a host has for one program: paths, and whether each is allowed."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0

    def allows(self, address: str) -> bool:
        """Return whether the page may be fetched: the longest rule that fits decides, or the kinder of two."""
        parts = urlsplit(address)
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
        fitting = [(len(path), allows) for path, allows in self.rules if _fits(path, target)]
        return max(fitting, default=(0, True))[1]


def parse_robots(text: str) -> Robots:
    """Return the rules for this program: those of its own groups, else those for everybody."""
    groups: dict[str, list[tuple[str, str]]] = {"*": []}
    named: set[str] = set()
    is_open = True
    for key, value in _LINE.findall(text[:_MAX_CHARS].removeprefix("\ufeff")):
        field, value = key.lower(), value.strip()
        if field == "user-agent":
            # A name without its version; several in a row share the lines after them.
            product = re.split(r"[/\s]", value.lower(), maxsplit=1)[0]
            named = {*(named if is_open else ()), product} & {AGENT, "*"}
            is_open = True
            for name in named:
                groups.setdefault(name, [])
        elif field in ("allow", "disallow", "crawl-delay"):
            is_open = False
            for name in named:
                groups[name].append((field, value))
    lines = groups.get(AGENT, groups["*"])
    rules = tuple(
        (quote(value, safe=_SAFE), field == "allow") for field, value in lines if field != "crawl-delay" and value
    )
    delays = [
        float(value) for field, value in lines if field == "crawl-delay" and re.fullmatch(r"\d+(?:\.\d+)?", value)
    ]
    return Robots(rules, max(delays, default=0.0))


def _fits(path: str, target: str) -> bool:
    """Return whether a rule's path fits: `*` is any text, `$` the end; step by step, so that no pattern takes long."""
    is_whole = path.endswith("$")
    first, *rest = path.removesuffix("$").split("*")[:_MAX_STARS]
    if not target.startswith(first):
        return False
    at = len(first)
    for index, piece in enumerate(rest):
        if is_whole and index == len(rest) - 1:
            return target.endswith(piece) and len(target) - len(piece) >= at
        found = target.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not is_whole or at == len(target) or bool(rest and not rest[-1])


_CACHE_S = 24 * 3600.0
# A host that cannot say is asked again soon.
_FAILURE_CACHE_S = 60.0
_MAX_HOSTS = 2_000
_MAX_DELAY_S = 5.0


class RobotsCache:
    """Decides whether a page may be fetched, and how long to wait between two of its host."""

    def __init__(self, client: GuardedClient) -> None:
        self._client = client
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
            if time.monotonic() >= until_s:
                robots = await self._fetch(origin)
                cache_s = _FAILURE_CACHE_S if robots is None else _CACHE_S
                self._known[origin] = (robots, time.monotonic() + cache_s)
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
