"""A process that sleeps for a while wakes up to its own run or to somebody else's, and knows which."""

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once, assert_explained, finish, kill
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long

LEASE_S = 2.0
# The stopwatch cannot tell a freeze shorter than this from work.
LONGEST_TICK_S = 5.0
FREEZE_S = 9.0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


@pytest.fixture(scope="module")
def stories(undisturbed: User, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[None]"]]:
    """Play all stories at once: frozen processes need no processor."""
    folder = tmp_path_factory.mktemp("frozen")
    with ThreadPoolExecutor(6) as pool:
        yield {
            "long": pool.submit(_sleep_long, User(folder / "long"), undisturbed),
            "overtaken in plan": pool.submit(_overtake, User(folder / "plan"), undisturbed, "plan"),
            "overtaken in extract": pool.submit(_overtake, User(folder / "extract"), undisturbed, "extract"),
            "overtaken in draft": pool.submit(_overtake, User(folder / "draft"), undisturbed, "draft"),
            "cancelled": pool.submit(_cancel_asleep, User(folder / "cancelled")),
            "late": pool.submit(_sleep_past_a_deadline, User(folder / "late"), undisturbed),
        }


@pytest.mark.parametrize("act", ["plan", "extract", "draft"])
def test_an_overtaken_process_changes_nothing_when_it_wakes(stories: dict[str, "Future[None]"], act: str) -> None:
    stories[f"overtaken in {act}"].result()


def test_a_cancelled_run_stays_cancelled_when_its_owner_wakes(stories: dict[str, "Future[None]"]) -> None:
    stories["cancelled"].result()


def test_a_frozen_process_goes_on_and_is_not_charged_for_the_freeze(stories: dict[str, "Future[None]"]) -> None:
    stories["long"].result()


def test_a_freeze_longer_than_a_call_may_take_loses_nothing(stories: dict[str, "Future[None]"]) -> None:
    stories["late"].result()


def _overtake(user: User, undisturbed: User, act: str) -> None:
    user.env["DEEP_RESEARCH_LEASE_S"] = str(LEASE_S)
    first = user.start("ask", QUESTION, "--wiring", "worlds:slow")
    user.wait_for_act(act)
    user.freeze(first)
    try:
        run, told = user.only_run().id, user.events()
        paid = {row.key for row in user.calls() if row.state == "done"}
        at_the_door = sum(row.state == "started" for row in user.calls()) - _in_flight(user)
        _wait_for_the_lease_to_end(user)
        resumed = user.run("runs", "resume", run)
        assert resumed.returncode == 0, resumed.stderr
        assert user.report() == undisturbed.report()
        before, begun = user.everything(), user.begun()
    finally:
        kill(first, signal.SIGCONT)
    assert run[:8] in assert_explained(finish(first), 75)
    assert user.everything() == before
    # A call that was written down as started is in flight, also where it was not yet made.
    assert len(user.begun()) <= len(begun) + at_the_door, "it went on with calls of a run that it had lost"
    events = user.events()
    assert events[: len(told)] == told
    assert_emitted_once(events)
    assert {row.key for row in user.calls() if row.state == "done"} >= paid


def _cancel_asleep(user: User) -> None:
    user.env["DEEP_RESEARCH_LEASE_S"] = str(LEASE_S)
    first = user.start("ask", QUESTION, "--wiring", "worlds:slow")
    user.wait_for_act("plan")
    user.freeze(first)
    try:
        _wait_for_the_lease_to_end(user)
        assert user.run("runs", "cancel", user.only_run().id).returncode == 0
        assert user.only_run().status == "cancelled"
        before = user.everything()
    finally:
        kill(first, signal.SIGCONT)
    assert_explained(finish(first), 75)
    assert user.everything() == before


def _sleep_long(user: User, undisturbed: User) -> None:
    began = time.monotonic()
    process = user.start("ask", QUESTION, "--wiring", "worlds:slow")
    user.wait_for_act("extract")
    user.freeze(process)
    time.sleep(FREEZE_S)
    kill(process, signal.SIGCONT)
    ended = finish(process)
    whole_s = time.monotonic() - began
    assert ended.returncode == 0, ended.stderr
    assert user.report() == undisturbed.report()
    assert_emitted_once(user.events())
    assert len(user.begun()) == len(undisturbed.begun()), "a call was repeated"
    stats = json.loads((Path(user.only_run().folder) / "stats.json").read_text(encoding="utf-8"))
    assert stats["spent"]["seconds"] <= whole_s - FREEZE_S + LONGEST_TICK_S
    assert user.only_run().active_s <= whole_s - FREEZE_S + LONGEST_TICK_S


def _sleep_past_a_deadline(user: User, undisturbed: User) -> None:
    process = user.start("ask", QUESTION, "--wiring", "worlds:hurried")
    wait_until(lambda: any(call.startswith("search ") for call in user.begun()))
    user.freeze(process)
    time.sleep(3.0)
    kill(process, signal.SIGCONT)
    ended = finish(process)
    assert ended.returncode == 0, ended.stderr
    assert [row.error for row in user.calls() if row.state == "failed"] == []
    assert user.report() == undisturbed.report()


def _in_flight(user: User) -> int:
    return len(user.logged("begin")) - len(user.logged("end"))


def _wait_for_the_lease_to_end(user: User) -> None:
    owner = user.only_run().owner
    assert owner is not None
    wait_until(lambda: time.monotonic() - owner.beat_monotonic_s > LEASE_S)
