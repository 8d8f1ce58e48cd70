"""Bad input and bad times at the command line: one clear sentence, the right exit code, and nothing lost."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.events import RunEvent
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once, assert_explained, finish, keys_but_status
from tests.support.waiting import HANG_S

QUICK = ("--wiring", "worlds:quick")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


def _assert_goes_on(user: User, undisturbed: User) -> None:
    """Resume the run: it ends like any other, and no finished call is made again."""
    begun, paid, told = len(user.begun()), sum(row.state == "done" for row in user.calls()), user.events()
    assert Lab(user).resume(user.only_run().id).status == "done"
    assert len(user.begun()) - begun == len(undisturbed.begun()) - paid, "a finished call was repeated"
    assert user.report() == undisturbed.report()
    events = user.events()
    assert events[: len(told)] == told
    assert_emitted_once(events)
    assert keys_but_status(events) == keys_but_status(undisturbed.events())


# What does not fit

MISUSES: dict[str, tuple[int, str, tuple[str, ...], dict[str, str]]] = {
    "unknown run": (64, "abcdef12", ("runs", "resume", "abcdef12"), {}),
    "unknown run to show": (64, "abcdef12", ("runs", "show", "abcdef12"), {}),
    "unknown run to cancel": (64, "abcdef12", ("runs", "cancel", "abcdef12"), {}),
    "unknown run to answer": (64, "abcdef12", ("runs", "answer", "abcdef12", "yes"), {}),
    "short name": (64, "4", ("runs", "show", "ab"), {}),
    "unknown variable": (
        64,
        "DEEP_RESEARCH_MAX_ITERATIONS",
        ("runs", "list"),
        {"DEEP_RESEARCH_MAX_ITERATION": "3"},
    ),
    "bad value": (64, "max_iterations", ("ask", QUESTION, "--max-iterations", "99"), {}),
    "bad budget": (64, "budget_usd", ("ask", QUESTION, "--budget-usd", "-1"), {}),
    "unknown option": (64, "--no-such-option", ("ask", QUESTION, "--no-such-option"), {}),
    "unknown command": (64, "fly", ("runs", "fly"), {}),
    "unknown status": (64, "waiting", ("runs", "list", "--status", "asleep"), {}),
    "unknown wiring": (64, "worlds:nowhere", ("ask", QUESTION, "--wiring", "worlds:nowhere"), {}),
    "empty question": (65, "question", ("ask", "  ", *QUICK), {}),
    "no place for events": (73, "events", ("ask", QUESTION, *QUICK, "--events", "no/such/folder/events"), {}),
}


@pytest.mark.parametrize("case", MISUSES)
def test_misuse_is_explained(tmp_path: Path, case: str) -> None:
    code, named, arguments, variables = MISUSES[case]
    ended = User(tmp_path).call(*arguments, **variables)
    assert named in assert_explained(ended, code)
    assert ended.stdout == ""


def test_misuse_of_a_real_process_ends_it_with_the_same_codes(tmp_path: Path) -> None:
    user = User(tmp_path)
    for case in ("unknown run", "unknown option", "empty question"):
        code, named, arguments, variables = MISUSES[case]
        assert named in assert_explained(user.run(*arguments, **variables), code)
    assert "question" in assert_explained(user.run("ask", *QUICK), 65)


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    user = User(tmp_path)
    run = Lab(user).ask().id
    before = user.everything()
    _set_schema(user, 99)
    for arguments in (("runs", "list"), ("ask", QUESTION, *QUICK), ("runs", "resume", run)):
        assert "99" in assert_explained(user.call(*arguments), 64)
    _set_schema(user, 1)
    assert user.everything() == before


def _set_schema(user: User, number: int) -> None:
    with closing(sqlite3.connect(user.home / "store.db")) as connection:
        connection.execute(f"PRAGMA user_version = {number}")


def test_a_question_that_is_not_unicode_is_used_or_refused(tmp_path: Path) -> None:
    user = User(tmp_path)
    question = os.fsdecode(b"What did project \xff\xfe cost and achieve?")
    ended = user.run("ask", question, "--clarify", "off", *QUICK)
    assert ended.returncode in (0, 65), ended.stderr
    assert "Traceback" not in ended.stderr


# Faults of the machine


Fault = Iterator[tuple[tuple[str, ...], str]]


@contextmanager
def _locked(user: User) -> Fault:
    with closing(sqlite3.connect(user.home / "store.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield (), "locked"


@contextmanager
def _corrupt(user: User) -> Fault:
    with closing(sqlite3.connect(user.home / "store.db", isolation_level=None)) as connection:
        (key, spend) = connection.execute("SELECT key, spend FROM journal WHERE number = 3").fetchone()
        connection.execute("UPDATE journal SET spend = 'not json' WHERE key = ?", (key,))
        try:
            yield (), key
        finally:
            connection.execute("UPDATE journal SET spend = ? WHERE key = ?", (spend, key))


@contextmanager
def _folder_in_the_way(user: User) -> Fault:
    folder = Path(user.only_run().folder)
    folder.rename(folder.with_name("aside"))
    folder.write_text("I was here first")
    try:
        yield (), str(folder)
    finally:
        folder.unlink()
        folder.with_name("aside").rename(folder)


@contextmanager
def _read_only(user: User) -> Fault:
    if os.geteuid() == 0:
        yield _mounted_read_only(user.home), "store.db"
        return
    files = [*user.home.iterdir(), user.home]
    for path in files:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield (), "store.db"
    finally:
        for path in reversed(files):
            path.chmod(0o755 if path.is_dir() else 0o644)


def _mounted_read_only(folder: Path) -> tuple[str, ...]:
    """Return the command in which a folder is read-only: root ignores rights, so it gets a mount of its own."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mount, str(folder))
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root can write anywhere, and may not mount a folder read-only here")
    return before


FAULTS: dict[str, tuple[int, Callable[[User], AbstractContextManager[tuple[tuple[str, ...], str]]]]] = {
    "locked store": (75, _locked),
    "corrupt row": (70, _corrupt),
    "file instead of run folder": (73, _folder_in_the_way),
    "read-only home": (73, _read_only),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> User:
    """Return a user whose run was killed, and who meets one fault after another."""
    user = User(tmp_path_factory.mktemp("killed"))
    assert user.ask("quick", TEST_KILL_AT="200").returncode == -signal.SIGKILL
    return user


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_explained_and_loses_nothing(killed: User, fault: str) -> None:
    (code, bring), run, told = FAULTS[fault], killed.only_run().id, killed.events()
    paid = {row.key for row in killed.calls() if row.state == "done"}
    with bring(killed) as (before, named):
        ended = replace(killed, before=before).run("runs", "resume", run, DEEP_RESEARCH_STORE_BUSY_TIMEOUT_S="0.3")
    assert named in assert_explained(ended, code)
    assert killed.events()[: len(told)] == told
    assert {row.key for row in killed.calls() if row.state == "done"} >= paid
    assert killed.only_run().status in ("running", "interrupted"), "the run itself has not failed"


def test_the_run_goes_on_once_its_faults_are_gone(killed: User, undisturbed: User) -> None:
    _assert_goes_on(killed, undisturbed)


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> dict[int, "tuple[User, subprocess.CompletedProcess[str]]"]:
    folder = tmp_path_factory.mktemp("cramped")

    def ask(kib: int) -> "tuple[User, subprocess.CompletedProcess[str]]":
        user = User(folder / str(kib))
        return user, replace(user, max_file_kib=kib).run("ask", QUESTION, *QUICK)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SIZES, pool.map(ask, SIZES), strict=True))


SIZES = [8, 250, 500, 1000]


@pytest.mark.parametrize("kib", SIZES)
def test_a_full_disk_is_said_to_be_and_costs_nothing(
    cramped: dict[int, "tuple[User, subprocess.CompletedProcess[str]]"], undisturbed: User, kib: int
) -> None:
    user, ended = cramped[kib]
    assert_explained(ended, 73)
    if kib == SIZES[0]:
        return
    row = user.only_run()
    assert row.status in ("created", "running", "interrupted"), row.error
    _assert_goes_on(user, undisturbed)


def test_a_store_that_is_locked_in_mid_run_lets_go_of_it(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path, env={"DEEP_RESEARCH_STORE_BUSY_TIMEOUT_S": "0.3"})
    process = user.start("ask", QUESTION, "--wiring", "worlds:slow")
    user.wait_for_act("plan")
    with _locked(user):
        assert "locked" in assert_explained(finish(process), 75)
    _assert_goes_on(user, undisturbed)


# What is printed


def test_results_and_events_are_machine_readable(tmp_path: Path) -> None:
    user = User(tmp_path)
    ended = user.ask("quick", "--events", "-")
    assert ended.returncode == 0, ended.stderr
    told = [RunEvent.from_json(json.loads(line)) for line in ended.stdout.splitlines()]
    assert told == user.events()
    run = user.only_run().id

    ended = user.call("runs", "resume", run, "--json", "--events", "events.ndjson")
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(ended.stdout)
    assert shown["schema_version"] == 1
    assert set(shown) >= {"title", "finalReport", "learnings", "sources", "images", "run"}
    assert shown["finalReport"] == (Path(user.only_run().folder) / "report.md").read_text(encoding="utf-8")
    assert shown["sources"]
    assert shown["learnings"]
    assert shown["run"]["id"] == run

    shown = json.loads(user.call("runs", "show", run[:8], "--json").stdout)["run"]
    assert shown["status"] == "done"
    assert shown["active_s"] > 0, "a second of work is on record"
    listed = json.loads(user.call("runs", "list", "--json").stdout)
    assert [entry["id"] for entry in listed["runs"]] == [run]


def test_a_listener_that_goes_away_does_not_stop_the_run(tmp_path: Path) -> None:
    user = User(tmp_path)
    process = user.start("ask", QUESTION, *QUICK, "--events", "-")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(HANG_S) == 0, said
    assert "Traceback" not in said, said[-2000:]
    assert user.only_run().status == "done"
