"""Time as the pipeline sees it, injected so that tests can move it."""

import asyncio
import threading
import time
from datetime import UTC, datetime
from typing import Protocol

# What passes between two looks at the clock counts up to this.
_LONGEST_TICK_S = 5.0


class Clock(Protocol):
    """Wall time for records, monotonic time for durations, and waiting."""

    def now(self) -> datetime:
        """Return the time of day in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Stopwatch:
    """Active seconds of a run: a process that was frozen is charged for a moment, not for the freeze."""

    def __init__(self, clock: Clock, *, before_s: float) -> None:
        self._clock = clock
        self._active_s = before_s
        self._last = clock.monotonic()
        self._taken_s = before_s
        self._lock = threading.Lock()

    def take_s(self) -> float:
        """Return the active seconds since the last take, for whoever writes them down."""
        active_s = self.active_s()
        with self._lock:
            taken_s, self._taken_s = active_s - self._taken_s, active_s
            return max(taken_s, 0.0)

    def give_back(self, seconds: float) -> None:
        """Take it back that some seconds were written down."""
        with self._lock:
            self._taken_s -= seconds

    def active_s(self) -> float:
        """Return the run's active seconds up to now; somebody must look every few seconds, or time is not counted."""
        with self._lock:
            now = self._clock.monotonic()
            self._active_s += min(max(now - self._last, 0.0), _LONGEST_TICK_S)
            self._last = now
            return self._active_s
