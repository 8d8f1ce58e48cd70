"""The rate limit of a service: no more calls in a time than it allows, in the order in which they were asked for.

Holds for a process, or for all that share their slots.
"""

import asyncio
import threading
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from deep_research.errors import SourceBusy
from deep_research.web.shared_limits.postgres import SharedLimiter

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
# A caller that would have to wait longer gets an error at once, and may ask somewhere else.
MAX_QUEUE_S = 15.0
_POLL_INTERVAL_S = 0.25
# A service that asks for more than that is asked again all the same.
_MAX_HOLD_S = 3600.0


class RateLimit(NamedTuple):
    """How many calls a service allows in a time."""

    calls: int
    per_s: float


@dataclass(eq=False)
class RateLimiter:
    """Gives callers their slots at one service, over all event loops and threads of a process.

    With `shared`, where there is a limit, those of other processes too: `key` is what they call the service.
    """

    service: str
    limit: RateLimit | None = None
    _: KW_ONLY
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep
    shared: SharedLimiter | None = None
    key: str = ""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        # When calls began or will begin, as far back as the limit looks; in order.
        self._starts: list[float] = []
        self._paused_until_s = 0.0

    async def acquire(self, *, within_s: float = MAX_QUEUE_S, check: Callable[[], None] = lambda: None) -> None:
        """Wait for a slot; raise `SourceBusy` at once where it would not come in time.

        `check` is called again and again meanwhile, and may raise, so that no call waits for a service that is closed.
        """
        latest_s = self.clock() + within_s
        while True:
            start_s = await self._reserve(latest_s)
            with ExitStack() as unless_used:
                unless_used.callback(self._give_back, start_s)
                while (wait_s := start_s - self.clock()) > 0:
                    check()
                    await self.sleep(min(wait_s, _POLL_INTERVAL_S))
                # The service may have asked for a pause meanwhile.
                if self._paused_until_s <= start_s:
                    unless_used.pop_all()
                    return

    async def pause(self, seconds: float) -> None:
        """Let no call begin for a while, because the service asks for it."""
        pause_s = min(seconds, _MAX_HOLD_S)
        self._paused_until_s = max(self._paused_until_s, self.clock() + pause_s)
        if self.shared is not None and self.limit is not None:
            await self.shared.pause(self.key, pause_s)

    async def _reserve(self, latest_s: float) -> float:
        if self.shared is not None and self.limit is not None:
            return await self._reserve_among_all(self.shared, self.limit, latest_s)
        with self._lock:
            now_s = self.clock()
            start_s = max(now_s, self._paused_until_s, self._next_s(now_s))
            if start_s > latest_s:
                raise self._busy(start_s, now_s)
            if self.limit is not None:
                self._starts.append(start_s)
            return start_s

    async def _reserve_among_all(self, shared: SharedLimiter, limit: RateLimit, latest_s: float) -> float:
        within_s = latest_s - self.clock()
        wait_s = await shared.reserve_slot(self.key, calls=limit.calls, per_s=limit.per_s, within_s=within_s)
        now_s = self.clock()
        start_s = max(now_s + wait_s, self._paused_until_s)
        if wait_s > within_s:
            raise self._busy(start_s, now_s)
        return start_s

    def _busy(self, start_s: float, now_s: float) -> SourceBusy:
        why = "asks for a pause" if start_s == self._paused_until_s else "is asked as often as it allows"
        wait_s = start_s - now_s
        return SourceBusy(f"{self.service} {why}: the next turn comes in {wait_s:.0f} s.", retry_after_s=wait_s)

    def _next_s(self, now_s: float) -> float:
        if self.limit is None:
            return now_s
        del self._starts[: bisect_left(self._starts, now_s - self.limit.per_s)]
        if not self._starts:
            return now_s
        # No call begins before one that has its slot already, even where the limit would allow it.
        earliest_s = self._starts[-1]
        if len(self._starts) >= self.limit.calls:
            earliest_s = max(earliest_s, self._starts[-self.limit.calls] + self.limit.per_s)
        return earliest_s

    def _give_back(self, start_s: float) -> None:
        with self._lock:
            if start_s in self._starts:
                self._starts.remove(start_s)
