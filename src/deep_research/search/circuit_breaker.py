"""The circuit breaker of one service: who failed several times in a row, or is not there at all, is left alone."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from deep_research.errors import (
    CallFailed,
    ChallengeShown,
    QueryRefused,
    ServiceClosed,
    SourceRefused,
    Unreachable,
)

MAX_FAILURES: Final = 3
OPEN_S: Final = 60.0


class CircuitBreaker:
    """Counts how the calls of a process to one service end, and refuses calls that would most likely fail."""

    def __init__(self, service: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until_s = 0.0
        self._is_on_trial = False
        self._reason = ""

    def check(self) -> None:
        """Raise `ServiceClosed` while nobody is to be sent there."""
        left_s = self._open_until_s - self._clock()
        if left_s > 0:
            raise ServiceClosed(self._told(), retry_after_s=left_s)
        if self._is_on_trial:
            raise ServiceClosed(self._told())

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
            # Who is not there for one, or answers no program, or none with this key, does so for nobody.
            is_for_all = isinstance(failure, Unreachable | SourceRefused | ChallengeShown)
            self._failed(str(failure), count=MAX_FAILURES if is_for_all else 1)
            raise
        except BaseException:
            # Called off: this tells nothing about the service.
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
                self._open_until_s = self._clock() + OPEN_S

    def _told(self) -> str:
        return f"{self._service} is left alone for a while ({self._reason.rstrip('.')})."
