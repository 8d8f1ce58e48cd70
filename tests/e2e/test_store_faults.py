"""A store that is locked, read-only, full, newer, damaged or killed: one clear error, and nothing lost."""

import asyncio
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import CannotWrite, DeepResearchError, NewerStore, StoreCorrupt, StoreLocked
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from tests.support.faults import FaultyStore
from tests.support.store_samples import (
    LEASE_S,
    make_call,
    make_document,
    make_event,
    make_evidence,
    make_run,
    start_run,
)
from tests.support.waiting import HANG_S

RUN = "a1b2c3d4"
KILLED = -signal.SIGKILL


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "store.db", busy_timeout_s=0.2))
    yield store
    await store.close()


def _spawn(task: str, *args: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*before, sys.executable, __file__, task, *map(str, args)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(child: subprocess.Popen[str]) -> tuple[int, list[str]]:
    shown, complaint = child.communicate(timeout=HANG_S)
    assert child.returncode in (0, KILLED), complaint
    return child.returncode, shown.splitlines()


def _edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount != 0


# Locked


async def test_store_that_stays_locked_is_said_to_be(store, tmp_path):
    lease = await start_run(store)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match=r"store\.db"):
            await store.record_call(lease, make_call("k"))
        assert (await store.get_run(RUN)).id == RUN
        other.rollback()
    await store.record_call(lease, make_call("k"))


async def test_lock_that_is_given_back_in_time_is_not_noticed(tmp_path):
    patient = Store(SqliteFile(tmp_path / "store.db"))
    lease = await start_run(patient)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.5, other.rollback)
        release.start()
        await patient.record_call(lease, make_call("k"))
        release.join()
    await patient.close()


@pytest.mark.long
def test_processes_may_open_a_new_store_at_the_same_instant(tmp_path):
    start = time.monotonic() + 2
    children = [_spawn("open_together", tmp_path, f"run-{number}", start) for number in range(4)]
    assert [_finish(child) for child in children] == [(0, ["ok"] * 50)] * 4


# Read-only


async def test_read_only_store_is_said_to_be(store, tmp_path):
    await start_run(store)
    await store.close()
    before = _read_only(tmp_path)
    try:
        child = _spawn("open", tmp_path / "store.db", "another-run", before=before)
        code, lines = _finish(child)
    finally:
        tmp_path.chmod(0o755)
    assert (code, lines[0].split(":")[0]) == (0, "CannotWrite 73")
    assert str(tmp_path / "store.db") in lines[0]


async def test_a_log_that_another_process_makes_just_now_does_not_make_a_store_read_only(store, tmp_path, monkeypatch):
    await start_run(store)
    await store.close()
    look = os.access

    def look_and_make_log(file: Path, mode: int) -> bool:
        seen = look(file, mode)
        if str(file).endswith("-wal"):
            file.touch()
        return seen

    monkeypatch.setattr(os, "access", look_and_make_log)
    again = Store(SqliteFile(tmp_path / "store.db"))
    await start_run(again, run="another-run")
    await again.close()


def _read_only(folder: Path) -> tuple[str, ...]:
    """Make a folder read-only and return the command in which it is; root ignores rights, so it gets a mount."""
    if os.geteuid() != 0:
        for file in (*folder.iterdir(), folder):
            file.chmod(0o555 if file.is_dir() else 0o444)
        return ()
    if shutil.which("unshare") is None:
        pytest.skip("root can write anywhere, and there is no unshare to mount the folder read-only")
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mount, str(folder))
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("root can write anywhere, and may not mount here")
    return before


async def test_folder_that_cannot_be_made_is_said_to_be(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = Store(SqliteFile(tmp_path / "file" / "folder" / "store.db"))
    with pytest.raises(CannotWrite, match="folder"):
        await store.size()
    await store.close()


# Full


async def test_file_size_limit_loses_nothing_that_was_acknowledged(store, tmp_path):
    lease = await start_run(store)
    code, lines = _finish(_spawn("fill", tmp_path / "store.db"))
    assert code == 0
    assert lines[-1].startswith("CannotWrite 73:")
    assert len(lines) > 3
    for blob in lines[:-1]:
        assert len(await store.get_blob(blob)) == 20_000
    await store.put_blob(lease, b"there is room again")


async def test_full_store_is_said_to_be_and_goes_on_once_there_is_room(store):
    lease = await start_run(store)
    await store._writes.write(lambda session: session._connection.execute("PRAGMA max_page_count = 60"))
    acknowledged: list[str] = []
    with pytest.raises(CannotWrite, match="free space"):
        await _write_until_refused(store, lease, acknowledged)
    assert [row.key for row in await store.list_calls(RUN)] == acknowledged != []
    await store._writes.write(lambda session: session._connection.execute("PRAGMA max_page_count = 1000000"))
    await store.record_call(lease, make_call("room again"))
    assert [row.key for row in await store.list_calls(RUN)] == [*acknowledged, "room again"]


async def _write_until_refused(store: Store, lease: Lease, acknowledged: list[str]) -> None:
    for number in range(100):
        await store.record_call(lease, make_call(str(number), answer="long " * 1000))
        acknowledged.append(str(number))


# Newer, foreign or damaged


async def test_store_of_a_newer_version_names_both_numbers_and_the_fix(store, tmp_path):
    await start_run(store)
    await store.close()
    _edit(tmp_path / "store.db", "PRAGMA user_version = 99")
    newer = Store(SqliteFile(tmp_path / "store.db"))
    with pytest.raises(NewerStore, match=r"store\.db.*99.*knows 6:.*upgrade.*DEEP_RESEARCH_HOME") as caught:
        await newer.list_runs(limit=1)
    assert caught.value.exit_code == 64
    await newer.close()


async def test_file_that_is_no_database_is_left_as_it_is(store, tmp_path):
    (tmp_path / "store.db").write_text("Dear diary, " * 1000)
    with pytest.raises(StoreCorrupt, match=r"store\.db is not a store"):
        await store.list_runs(limit=1)
    assert (tmp_path / "store.db").read_text() == "Dear diary, " * 1000


async def test_damaged_pages_are_said_to_be(store, tmp_path):
    lease = await start_run(store)
    for number in range(50):
        await store.record_call(lease, make_call(str(number), answer="long " * 500))
    await store.close()
    with (tmp_path / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(4096 * 20))
    damaged = Store(SqliteFile(tmp_path / "store.db"))
    with pytest.raises(StoreCorrupt, match="damaged"):
        await damaged.list_calls(RUN)
    await damaged.close()


Read = Callable[[Store, dict[str, str]], Awaitable[object]]
DAMAGE: dict[str, tuple[str, Read]] = {
    "runs": ("UPDATE runs SET request = '{\"secret'", lambda store, ids: store.get_run(RUN)),
    "runs ": ("UPDATE runs SET status = 'secret'", lambda store, ids: store.get_run(RUN)),
    "journal": ("UPDATE journal SET spend = '[\"secret\"]'", lambda store, ids: store.find_call(RUN, "k")),
    "journal ": ("UPDATE journal SET answer = x'ff'", lambda store, ids: store.list_calls(RUN)),
    "events": ("UPDATE events SET data = 'secret'", lambda store, ids: store.read_events(RUN)),
    "answers": ("UPDATE answers SET answer = 'secret'", lambda store, ids: store.get_answers(RUN)),
    "blobs": ("UPDATE blobs SET packed = 'secret'", lambda store, ids: store.get_blob(ids["text"])),
    "blobs ": ("UPDATE blobs SET packed = x'00ff'", lambda store, ids: store.get_document(ids["document"])),
    "documents": ("UPDATE documents SET about = '{}'", lambda store, ids: store.get_document(ids["document"])),
    "passages": ("UPDATE passages SET start = 1", lambda store, ids: store.get_evidence(RUN, [ids["evidence"]])),
    "evidence": ("UPDATE evidence SET finding = '1'", lambda store, ids: store.get_evidence(RUN, [ids["evidence"]])),
}


@pytest.mark.parametrize("table", DAMAGE)
async def test_damaged_row_is_named_without_its_content(store, tmp_path, table):
    ids = await _fill_every_table(store)
    statement, read = DAMAGE[table]
    await read(store, ids)
    _edit(tmp_path / "store.db", statement)
    # An open store may still know what it has read.
    afresh = Store(SqliteFile(tmp_path / "store.db"))
    with pytest.raises(StoreCorrupt, match=rf"table {table.strip()}, key \w+") as caught:
        await read(afresh, ids)
    await afresh.close()
    assert caught.value.exit_code == 70
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


async def _fill_every_table(store: Store) -> dict[str, str]:
    lease = await start_run(store)
    document = make_document("a text with a passage")
    evidence = make_evidence(document, 0, 6, section="s1")
    await store.record_call(lease, make_call("k"))
    await store.append_events(lease, [make_event("e")])
    await store.put_answer(RUN, "ask", "yes")
    await store.put_document(lease, document, address="a")
    await store.put_evidence(lease, [evidence])
    return {
        "text": await store.put_blob(lease, document.text.encode()),
        "document": document.id,
        "evidence": evidence.id,
    }


@pytest.mark.parametrize("request_column", ["'{'", "CAST(x'ff' AS TEXT)"])
async def test_damaged_run_hides_no_other_and_can_be_deleted(store, tmp_path, caplog, request_column):
    await store.create_run(make_run())
    await store.create_run(make_run("sound-run"))
    _edit(tmp_path / "store.db", f"UPDATE runs SET request = {request_column} WHERE id = '{RUN}'")
    assert [run.id for run in await store.list_runs(limit=9)] == ["sound-run"]
    assert RUN in caplog.text
    with pytest.raises(StoreCorrupt):
        await store.get_run(RUN)
    await store.delete_run(RUN, current_owner())
    assert (await store.size()).runs == 1


# Killed


async def test_everything_acknowledged_before_a_kill_is_there(store, tmp_path):
    await store.create_run(make_run())
    child = _spawn("write", tmp_path / "store.db")
    assert child.stdout is not None
    seen = [child.stdout.readline().strip() for _ in range(200)]
    child.kill()
    code, rest = _finish(child)
    acknowledged = [line for line in seen + rest if line.endswith(".")]
    assert code == KILLED
    keys = {row.key for row in await store.list_calls(RUN)}
    events = await store.read_events(RUN)
    assert {line.rstrip(".") for line in acknowledged} <= keys & {event.key for event in events}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    lease = await store.lease(RUN, current_owner(), lease_s=LEASE_S)
    await store.record_call(lease, make_call("after the kill"))


@pytest.mark.parametrize(("fault", "kept"), [("kill_before", 2), ("kill_after", 3)])
async def test_faulty_store_kills_before_or_after_its_write(store, tmp_path, fault, kept):
    assert _finish(_spawn("die", tmp_path / "store.db", fault)) == (KILLED, [])
    assert [row.key for row in await store.list_calls(RUN)] == [str(number) for number in range(kept)]


async def test_faulty_store_fails_once_and_counts_every_write(store):
    faulty = FaultyStore(store, at=3, fault="fail", error=StoreLocked("now"))
    lease = await start_run(faulty)
    with pytest.raises(StoreLocked, match="now"):
        await faulty.record_call(lease, make_call("k"))
    await faulty.heartbeat(lease, current_owner(), active_s=1.0)
    await faulty.record_call(lease, make_call("l"))
    assert faulty.writes == 4
    assert [row.key for row in await store.list_calls(RUN)] == ["l"]


# What the child processes do


async def _open(store: Store, run: str) -> None:
    try:
        await store.list_runs(limit=1)
        await start_run(store, run)
        print("ok")
    except DeepResearchError as exc:
        print(f"{type(exc).__name__} {exc.exit_code}: {exc}")


async def _open_together(folder: Path, run: str, start: str) -> None:
    for number in range(50):
        # One clock for all processes: each new file is opened by all of them within a millisecond.
        while time.monotonic() < float(start) + number * 0.05:
            pass
        store = Store(SqliteFile(folder / str(number) / "store.db"))
        await _open(store, run)
        await store.close()


async def _fill(store: Store) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        while True:
            print(await store.put_blob(Lease(run=RUN, epoch=1), os.urandom(20_000)), flush=True)
    except DeepResearchError as exc:
        print(f"{type(exc).__name__} {exc.exit_code}: {exc}")


async def _write(store: Store) -> None:
    lease = await store.lease(RUN, current_owner(), lease_s=LEASE_S)
    await asyncio.gather(*(_write_many(store, lease, f"{branch}-") for branch in range(4)))


async def _write_many(store: Store, lease: Lease, prefix: str) -> None:
    for number in range(1_000_000):
        key = f"{prefix}{number}"
        await store.record_call(lease, make_call(key, answer="long " * 100))
        await store.append_events(lease, [make_event(key)])
        print(f"{key}.", flush=True)


async def _die(store: Store, fault: str) -> None:
    lease = await start_run(store)
    faulty = FaultyStore(store, at=3, fault="kill_before" if fault == "kill_before" else "kill_after")
    for number in range(5):
        await faulty.record_call(lease, make_call(str(number)))


TASKS: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "open": _open,
    "fill": _fill,
    "write": _write,
    "die": _die,
}

if __name__ == "__main__":
    task, path, *rest = sys.argv[1:]
    if task == "open_together":
        asyncio.run(_open_together(Path(path), *rest))
    else:
        asyncio.run(TASKS[task](Store(SqliteFile(Path(path))), *rest))
