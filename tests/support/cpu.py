"""Limits on the CPU time of a test or of a stretch of it, which a busy machine does not use up."""

import os
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest

# What takes more is marked `long`. On a machine that many share, the same work takes up to three times as much CPU
# time, and that is no defect: only what takes still more fails.
MAX_TEST_CPU_S = 3.0
_COST = "cpu_s"


def cpu_s() -> float:
    """Return what this process and all its children have used, whether or not they have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used) + sum(map(_used_by, _children_of(os.getpid())))


def _used_by(pid: int) -> float:
    """Return what a process, those of its children that have ended and those that have not have used."""
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:  # It has just ended, or this is no Linux.
        return 0.0
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") + sum(map(_used_by, _children_of(pid)))


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # A process or a thread may end at any moment.
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def note_cost(report: pytest.TestReport, spent_s: float) -> None:
    """Note in the last report of a test what it has taken; a busy machine fails no test."""
    report.user_properties.append((_COST, spent_s))


def costly(reports: Iterable[object]) -> list[str]:
    """Return a line for each test that took more than it may, the costliest first."""
    found = {
        report.nodeid: float(str(value))
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, value in report.user_properties
        if name == _COST and float(str(value)) > MAX_TEST_CPU_S
    }
    return [
        f"{spent_s:.1f} s of CPU time: {name}" for name, spent_s in sorted(found.items(), key=lambda each: -each[1])
    ]


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
