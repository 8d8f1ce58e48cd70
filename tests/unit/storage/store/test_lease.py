"""Who keeps whom out of a run."""

import os
import subprocess
import sys

from deep_research.storage.store.lease import Owner, current_owner, holds_lease

LEASE_S = 30.0


def _later(owner: Owner, **changes: object) -> Owner:
    return owner.model_copy(update=changes)


def test_live_process_holds_its_lease_until_its_heart_stops():
    me = current_owner()
    soon, late = (_later(me, beat_monotonic_s=me.beat_monotonic_s + wait_s) for wait_s in (29.0, 31.0))
    assert holds_lease(me, soon, lease_s=LEASE_S)
    assert not holds_lease(me, late, lease_s=LEASE_S)


def test_wall_clock_that_jumps_changes_nothing_on_one_host():
    me = current_owner()
    for jump_s in (-86_400, 86_400):
        assert holds_lease(me, _later(me, beat_wall_s=me.beat_wall_s + jump_s), lease_s=LEASE_S)


def test_dead_process_on_the_same_host_is_replaced_at_once():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead = _later(current_owner(), pid=child.pid, started="1")
    assert not holds_lease(dead, current_owner(), lease_s=LEASE_S)


def test_process_that_got_a_dead_ones_number_does_not_hold_its_lease():
    namesake = _later(current_owner(), pid=os.getpid(), started="another start")
    assert not holds_lease(namesake, current_owner(), lease_s=LEASE_S)


def test_process_from_before_a_reboot_holds_nothing():
    assert not holds_lease(_later(current_owner(), boot="before"), current_owner(), lease_s=LEASE_S)


def test_process_on_another_host_is_judged_by_the_wall_clock():
    me = current_owner()
    there = _later(me, host="elsewhere", beat_monotonic_s=0.0)
    assert holds_lease(_later(there, beat_wall_s=me.beat_wall_s - 29), me, lease_s=LEASE_S)
    assert not holds_lease(_later(there, beat_wall_s=me.beat_wall_s - 31), me, lease_s=LEASE_S)
