"""The circuit breaker of one service: after several failures in a row it is not called for a while."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from deep_research.errors import (
    CallFailed,
    ChallengeShown,
    QueryRefused,
    ServiceClosed,
    SourceRefused,
    Unreachable,
)
from deep_research.web.search.rate_limiter import Clock

MAX_FAILURES = 3
OPEN_S = 60.0


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
