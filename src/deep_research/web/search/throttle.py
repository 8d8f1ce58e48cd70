"""What all calls of a process to one service go through: a rate limit, retries and a circuit breaker.

A service that fails several times in a row is not called for a while.
"""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from deep_research.errors import (
    CallFailed,
    ChallengeShown,
    NetworkError,
    QueryRefused,
    ServiceClosed,
    SourceBusy,
    SourceRefused,
    TimedOut,
    Unreachable,
)
from deep_research.value import digest
from deep_research.web.search.rate_limiter import MAX_QUEUE_S, Clock, RateLimit, RateLimiter
from deep_research.web.search.registry import EngineSpec
from deep_research.web.shared_limits.postgres import SharedLimiter

MAX_FAILURES = 3
OPEN_S = 60.0
T = TypeVar("T")

_RETRIES = 2
_FIRST_WAIT_S = 0.5


@dataclass(eq=False)
class CircuitBreaker:
    """Counts how the calls of a process to one service end, and refuses calls that would most likely fail."""

    service: str
    clock: Clock
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failures: int = 0
    _open_until_s: float = 0.0
    _is_on_trial: bool = False
    _reason: str = ""

    def check(self) -> None:
        """Raise `ServiceClosed` while the service is not to be called."""
        left_s = self._open_until_s - self.clock()
        if left_s > 0 or self._is_on_trial:
            raise ServiceClosed(
                f"{self.service} is left alone for a while ({self._reason.rstrip('.')}).",
                retry_after_s=left_s if left_s > 0 else None,
            )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a call and learn from how it ends; raise `ServiceClosed` where it must not begin."""
        with self._lock:
            self.check()
            self._is_on_trial = is_trial = self._failures >= MAX_FAILURES
        try:
            yield
        except QueryRefused:
            # The service is there, and answers others.
            self._succeeded()
            raise
        except CallFailed as failure:
            # These hold for every caller: nothing is there, no program is answered, or none with this key.
            is_for_all = isinstance(failure, Unreachable | SourceRefused | ChallengeShown)
            self._failed(str(failure), count=MAX_FAILURES if is_for_all else 1)
            raise
        except BaseException:
            # Cancelled: this says nothing about the service.
            if is_trial:
                self._is_on_trial = False
            raise
        self._succeeded()

    def _succeeded(self) -> None:
        with self._lock:
            self._failures, self._open_until_s, self._is_on_trial = 0, 0.0, False

    def _failed(self, reason: str, *, count: int) -> None:
        with self._lock:
            self._failures, self._is_on_trial, self._reason = self._failures + count, False, reason
            if self._failures >= MAX_FAILURES:
                self._open_until_s = self.clock() + OPEN_S


@dataclass(eq=False)
class Throttle(RateLimiter):
    """One service for all runs of a process, whichever of its engines they ask."""

    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        super().__post_init__()
        self._breaker = CircuitBreaker(self.service, self.clock)

    async def call(self, perform: Callable[[], Awaitable[T]], *, timeout_s: float) -> T:
        """Return what a call gives; from when it has its slot, all its tries together take `timeout_s` at most."""
        self._breaker.check()
        await self.acquire(check=self._breaker.check)
        # It may have been closed while this call waited.
        with self._breaker.watching():
            return await self._tried(perform, timeout_s)

    async def _tried(self, perform: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        until_s = self.clock() + timeout_s
        attempt = 0
        while True:
            try:
                # The first try keeps to its time by itself, and may have part of an answer when it is over.
                async with asyncio.timeout(until_s - self.clock() if attempt else None):
                    return await perform()
            except TimeoutError as exc:
                raise TimedOut(f"{self.service} did not answer within {timeout_s:g} s in {attempt + 1} tries.") from exc
            except (SourceBusy, NetworkError) as failure:
                if not await self._may_try_again(failure, attempt, until_s):
                    raise
            attempt += 1

    async def _may_try_again(self, failure: SourceBusy | NetworkError, attempt: int, until_s: float) -> bool:
        """Wait until another try makes sense; return whether one does at all, and in time."""
        wait_s = _FIRST_WAIT_S * 2**attempt * (0.5 + self.jitter())
        if isinstance(failure, SourceBusy) and failure.retry_after_s is not None:
            await self.pause(failure.retry_after_s)
            wait_s = 0.0
        # A service that hung until the time was over would hang again; one that is not there rarely comes back soon.
        is_vain = isinstance(failure, TimedOut | Unreachable | ChallengeShown)
        if is_vain or attempt >= _RETRIES or self.clock() + wait_s >= until_s:
            return False
        if wait_s:
            await self.sleep(wait_s)
        try:
            await self.acquire(within_s=min(MAX_QUEUE_S, until_s - self.clock()))
        except SourceBusy:
            return False
        return True


def throttle_of(
    spec: EngineSpec, *, address: str = "", key: str = "", mail: str = "", shared: SharedLimiter | None = None
) -> Throttle:
    """Return the throttle of an engine's service; engines of one service at one address share it."""
    at = address or spec.default_address
    return _throttle(spec.shared_service or spec.title, at, spec.limit_at(at, key, mail), shared)


@cache
def _throttle(service: str, address: str, limit: RateLimit | None, shared: SharedLimiter | None) -> Throttle:
    # An address may hold a key.
    return Throttle(service, limit, shared=shared, key=digest("search", service, address))
