"""Time that jumps, stands still or is lost in a freeze does no harm."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from deep_research.pipeline.clock import Stopwatch, SystemClock
from deep_research.testing import FakeClock
from tests.e2e.harness import Lab, User, assert_emitted_once


def test_active_seconds_add_up_but_a_freeze_does_not_count():
    clock = FakeClock()
    watch = Stopwatch(clock, before_s=10.0)
    clock.pass_time(2.0)
    assert watch.active_s() == 12.0
    clock.pass_time(3600)
    assert watch.active_s() == 17.0
    assert watch.active_s() == 17.0


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_active_seconds_do_not_follow_the_wall_clock(seconds):
    clock = FakeClock()
    watch = Stopwatch(clock, before_s=0.0)
    clock.pass_time(1.0)
    clock.jump(seconds)
    assert watch.active_s() == 1.0


class _Jumpy(SystemClock):
    """An hour forward, an hour back, each time somebody looks."""

    def __init__(self) -> None:
        self._looks = 0

    def now(self) -> datetime:
        self._looks += 1
        return super().now() + timedelta(hours=(1, 0, -1)[self._looks % 3])


def test_a_run_ends_while_the_wall_clock_jumps(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user, change=lambda adapters: replace(adapters, clock=_Jumpy(), lease_s=5.0, heartbeat_s=0.05)).ask()
    assert row.status == "done"
    assert row.epoch == 1, "the lease was lost"
    assert row.active_s < 60
    assert_emitted_once(user.events())
    assert {call.state for call in user.calls()} == {"done"}
    assert "What was left out" not in user.report()
