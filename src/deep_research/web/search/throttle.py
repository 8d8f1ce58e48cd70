"""What all calls of a process to one service go through: a rate limit, retries and a circuit breaker."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from deep_research.errors import ChallengeShown, NetworkError, SourceBusy, TimedOut, Unreachable
from deep_research.value import digest
from deep_research.web.search.circuit_breaker import CircuitBreaker
from deep_research.web.search.rate_limiter import MAX_QUEUE_S, RateLimit, RateLimiter
from deep_research.web.search.registry import EngineSpec
from deep_research.web.shared_limits.postgres import SharedLimiter

T = TypeVar("T")

_RETRIES = 2
_FIRST_WAIT_S = 0.5


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
