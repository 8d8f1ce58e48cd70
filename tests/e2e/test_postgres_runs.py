"""Runs on PostgreSQL: several hosts share them, and no process, host or restart of the database costs a paid call."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

from tests.e2e.harness import (
    QUESTION,
    Lab,
    User,
    assert_emitted_once,
    assert_explained,
    finish,
    keys_but_status,
    kill,
)
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import wait_until

LEASE_S = 2.0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    """Return a user whose run on SQLite nobody disturbed."""
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    with postgres_server(is_durable=True) as server:
        yield server


def hosts(folder: Path, url: str) -> tuple[User, User]:
    """Return a user on two hosts that share the database alone; all calls are noted in one place."""
    users = [User(folder / name, env={"DEEP_RESEARCH_DATABASE_URL": url}) for name in ("here", "there")]
    users[1].env["TEST_CALL_LOG"] = str(users[0].call_log)
    return users[0], users[1]


def assert_undisturbed(user: User, undisturbed: User) -> None:
    assert user.report() == undisturbed.report()
    assert_emitted_once(user.events())
    assert keys_but_status(user.events()) == keys_but_status(undisturbed.events())


@pytest.mark.long
def test_a_run_killed_on_one_host_goes_on_at_another(undisturbed: User, tmp_path: Path, database_url: str) -> None:
    here, there = hosts(tmp_path, database_url)
    assert here.ask("quick", TEST_KILL_AT="200").returncode == -signal.SIGKILL
    run, begun = here.only_run().id, len(here.begun())
    paid = sum(row.state == "done" for row in here.calls())
    rivals = there.run_together(*[("runs", "resume", run, "--quiet")] * 4, before_last=lambda: None)
    codes = [process.returncode for process in rivals]
    # Whoever comes after the end finds a run that is done.
    assert codes.count(0) >= 1, [process.stderr for process in rivals]
    assert set(codes) <= {0, 75}
    assert_undisturbed(here, undisturbed)
    assert len(here.begun()) - begun == len(undisturbed.begun()) - paid, "a paid call was repeated"
    assert not (there.home / "store.db").exists()


def test_a_run_that_waits_on_one_host_is_answered_at_another(tmp_path: Path, database_url: str) -> None:
    here, there = hosts(tmp_path, database_url)
    assert here.ask("asking").returncode == 2
    run = here.only_run().id
    answered = there.run("runs", "answer", run, "Costs")
    assert answered.returncode == 0, answered.stderr
    assert here.only_run().status == "done"
    assert_emitted_once(here.events())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_run_outlives_a_restart_of_its_database(
    undisturbed: User, tmp_path: Path, durable: PostgresServer, how: signal.Signals
) -> None:
    here, _ = hosts(tmp_path, durable.new_database())
    process = here.start("ask", QUESTION, "--wiring", "worlds:slow")
    here.wait_for_act("extract")
    durable.stop(how)
    time.sleep(0.5)
    durable.start()
    ended = finish(process)
    assert ended.returncode == 0, ended.stderr
    assert_undisturbed(here, undisturbed)
    assert len(here.begun()) == len(undisturbed.begun()), "a call was repeated"


def test_a_run_whose_database_stays_away_is_interrupted_and_goes_on_later(
    undisturbed: User, tmp_path: Path, durable: PostgresServer
) -> None:
    here, there = hosts(tmp_path, durable.new_database())
    process = here.start("ask", QUESTION, "--wiring", "worlds:slow", DEEP_RESEARCH_STORE_BUSY_TIMEOUT_S="5")
    here.wait_for_act("extract")
    durable.stop()
    said = assert_explained(finish(process), 75)
    durable.start()
    assert "could not be reached" in said
    run, begun = here.only_run(), len(here.begun())
    assert run.status == "running"
    paid = sum(row.state == "done" for row in here.calls())
    resumed = there.run("runs", "resume", run.id)
    assert resumed.returncode == 0, resumed.stderr
    assert_undisturbed(here, undisturbed)
    assert len(here.begun()) - begun == len(undisturbed.begun()) - paid, "a paid call was repeated"


@pytest.mark.long
@pytest.mark.parametrize("act", ["plan", "extract", "draft"])
def test_an_overtaken_host_changes_nothing_when_it_wakes(
    undisturbed: User, tmp_path: Path, database_url: str, act: str
) -> None:
    here, there = hosts(tmp_path, database_url)
    for user in (here, there):
        user.env["DEEP_RESEARCH_LEASE_S"] = str(LEASE_S)
    first = here.start("ask", QUESTION, "--wiring", "worlds:slow")
    here.wait_for_act(act)
    # Where it stands in the middle of a transaction, the database ends that after a while.
    kill(first, signal.SIGSTOP)
    try:
        run, told = here.only_run(), here.events()
        assert run.owner is not None
        beat_s = run.owner.beat_monotonic_s
        wait_until(lambda: time.monotonic() - beat_s > LEASE_S)
        resumed = there.run("runs", "resume", run.id)
        assert resumed.returncode == 0, resumed.stderr
        assert_undisturbed(here, undisturbed)
        events = here.events()
    finally:
        kill(first, signal.SIGCONT)
    assert run.id[:8] in assert_explained(finish(first), 75)
    assert here.events() == events
    assert events[: len(told)] == told
    assert here.report() == undisturbed.report()
