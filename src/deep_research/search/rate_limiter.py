"""The rate limit of a service: no more calls in a time than it allows, in the order in which they were asked for.

Holds for a process, or for all that share their turns.
"""

import threading
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from deep_research.errors import SourceBusy

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
# A caller that would have to wait longer gets an error at once, and may ask somewhere else.
MAX_QUEUE_S = 15.0
_LOOK_EVERY_S = 0.25
# A service that asks for more than that is asked again all the same.
_MAX_HOLD_S = 3600.0


class RateLimit(NamedTuple):
    """How many calls a service allows in a time."""

    calls: int
    per_s: float


class SharedTurns(Protocol):
    """Turns that several processes share: `shared_limits.postgres.SharedLimits`."""

    def __hash__(self) -> int: ...

    async def take_turn(self, service: str, *, calls: int, per_s: float, within_s: float) -> float:
        """Return in how many seconds a call may begin; where that is more than `within_s`, it has no turn."""
        ...

    async def pause(self, service: str, seconds: float) -> None:
        """Let no call begin for a while."""
        ...


class RateLimiter:
    """Gives callers their turns at one service, over all event loops and threads of a process.

    With `shared`, where there is a limit, those of other processes too: `key` is what they call the service.
    """

    def __init__(
        self,
        service: str,
        limit: RateLimit | None,
        *,
        clock: Clock,
        sleep: Sleep,
        shared: SharedTurns | None = None,
        key: str = "",
    ) -> None:
        self._service = service
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._shared = shared
        self._key = key
        self._lock = threading.Lock()
        # When calls began or will begin, as far back as the limit looks; in order.
        self._starts: list[float] = []
        self._paused_until_s = 0.0

    async def acquire(self, *, within_s: float = MAX_QUEUE_S, check: Callable[[], None] = lambda: None) -> None:
        """Wait for a turn; raise `SourceBusy` at once where it would not come in time.

        `check` is called again and again meanwhile, and may raise, so that no call waits for a service that is closed.
        """
        latest_s = self._clock() + within_s
        while True:
            start_s = await self._reserve(latest_s)
            try:
                while (wait_s := start_s - self._clock()) > 0:
                    check()
                    await self._sleep(min(wait_s, _LOOK_EVERY_S))
            except BaseException:
                self._give_back(start_s)
                raise
            # The service may have asked for a pause meanwhile.
            if self._paused_until_s <= start_s:
                return
            self._give_back(start_s)

    async def pause(self, seconds: float) -> None:
        """Let no call begin for a while, because the service asks for it."""
        held_s = min(seconds, _MAX_HOLD_S)
        self._paused_until_s = max(self._paused_until_s, self._clock() + held_s)
        if self._shared is not None and self._limit is not None:
            await self._shared.pause(self._key, held_s)

    async def _reserve(self, latest_s: float) -> float:
        if self._shared is not None and self._limit is not None:
            return await self._reserve_among_all(self._shared, self._limit, latest_s)
        with self._lock:
            now_s = self._clock()
            start_s = max(now_s, self._paused_until_s, self._next_s(now_s))
            if start_s > latest_s:
                raise self._busy(start_s, now_s)
            if self._limit is not None:
                self._starts.append(start_s)
            return start_s

    async def _reserve_among_all(self, shared: SharedTurns, limit: RateLimit, latest_s: float) -> float:
        within_s = latest_s - self._clock()
        wait_s = await shared.take_turn(self._key, calls=limit.calls, per_s=limit.per_s, within_s=within_s)
        now_s = self._clock()
        start_s = max(now_s + wait_s, self._paused_until_s)
        if wait_s > within_s:
            raise self._busy(start_s, now_s)
        return start_s

    def _busy(self, start_s: float, now_s: float) -> SourceBusy:
        why = "asks for a pause" if start_s == self._paused_until_s else "is asked as often as it allows"
        wait_s = start_s - now_s
        return SourceBusy(f"{self._service} {why}: the next turn comes in {wait_s:.0f} s.", retry_after_s=wait_s)

    def _next_s(self, now_s: float) -> float:
        if self._limit is None:
            return now_s
        del self._starts[: bisect_left(self._starts, now_s - self._limit.per_s)]
        if not self._starts:
            return now_s
        # No call begins before one that has its turn already, even where the limit would allow it.
        earliest_s = self._starts[-1]
        if len(self._starts) >= self._limit.calls:
            earliest_s = max(earliest_s, self._starts[-self._limit.calls] + self._limit.per_s)
        return earliest_s

    def _give_back(self, start_s: float) -> None:
        with self._lock:
            if start_s in self._starts:
                self._starts.remove(start_s)
