"""A limit on the CPU time of a stretch of a test, which a busy machine does not use up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


class _Exceeded(BaseException):
    """No `except Exception` of the code inside catches it."""


@contextmanager
def at_most_cpu_s(seconds: float) -> Iterator[None]:
    """Fail where the code inside takes more CPU time; a pattern that would never end is interrupted too."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _Exceeded

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except _Exceeded:
        # The place where a signal came may have no line, and then pytest breaks over showing it.
        raise pytest.fail.Exception(f"took more than {seconds} s of CPU time", pytrace=False) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
