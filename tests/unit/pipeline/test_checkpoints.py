"""Checkpoints are fenced by epoch: a claim takes the newest earlier ones over and nobody writes to another's."""

import asyncio
import sqlite3
import threading
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from deep_research.errors import CannotWrite, StoreLocked
from deep_research.pipeline import checkpoints
from deep_research.pipeline.checkpoints import forget, open_checkpoints, take_over, thread_id
from deep_research.store.port import Claim
from deep_research.store.seals import teach_seals


def _put(path: Path, thread: str, checkpoint: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id) VALUES (?, '', ?)", (thread, checkpoint)
        )
        connection.execute(
            "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel)"
            " VALUES (?, '', ?, 't', 0, 'c')",
            (thread, checkpoint),
        )
        teach_seals(connection)
        for table in ("checkpoints", "writes"):
            names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})") if name != "seal"]
            connection.execute(f"UPDATE {table} SET seal = seal_of({', '.join(names)})")
        connection.commit()


def _threads(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as connection:
        found: dict[str, list[str]] = {}
        for table in ("checkpoints", "writes"):
            for thread, checkpoint in connection.execute(f"SELECT thread_id, checkpoint_id FROM {table} ORDER BY 1, 2"):
                found.setdefault(thread, []).append(checkpoint)
        return found


async def _claimed(path: Path, epoch: int, *, run: str = "run", afresh: bool = False) -> bool:
    async with open_checkpoints(path) as saver:
        return await take_over(saver, Claim(run=run, epoch=epoch), afresh=afresh)


async def test_a_first_claim_finds_nothing(tmp_path):
    assert await _claimed(tmp_path / "folder" / "checkpoints.db", 1) is False


async def test_a_claim_takes_over_the_newest_earlier_epoch_of_its_own_run(tmp_path):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    for thread, checkpoint in (("run:1", "old"), ("run:9", "new"), ("run:10", "newest"), ("runner:10", "other")):
        _put(path, thread, checkpoint)
    assert await _claimed(path, 12) is True
    assert _threads(path) == {"run:12": ["newest"] * 2, "runner:10": ["other"] * 2}


async def test_what_a_sleeper_writes_later_is_not_taken_for_the_newest(tmp_path):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    _put(path, "run:1", "a")
    assert await _claimed(path, 2) is True
    _put(path, "run:2", "b")
    _put(path, "run:1", "written in its sleep")
    assert await _claimed(path, 3) is True
    assert _threads(path) == {"run:3": ["a", "b"] * 2}


async def test_a_retry_drops_what_was_there(tmp_path):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    _put(path, "run:1", "a")
    assert await _claimed(path, 2, afresh=True) is False
    assert _threads(path) == {}


async def test_a_run_that_has_ended_is_forgotten(tmp_path):
    path = tmp_path / "checkpoints.db"
    await forget(path, "run")
    await _claimed(path, 1)
    _put(path, "run:1", "a")
    _put(path, "other:1", "b")
    await forget(path, "run")
    assert _threads(path) == {"other:1": ["b", "b"]}


async def test_a_damaged_file_is_put_aside_and_forgetting_it_is_no_error(tmp_path, caplog):
    path = tmp_path / "checkpoints.db"
    path.write_bytes(b"nonsense " * 1000)
    await forget(path, "run")
    assert await _claimed(path, 3) is False
    assert (tmp_path / "checkpoints.db.damaged").read_bytes().startswith(b"nonsense")
    assert "damaged" in caplog.text


@pytest.mark.parametrize("in_the_way", ["folder", "folder/checkpoints.db"])
async def test_a_file_that_cannot_be_made_is_said_to_be(tmp_path, in_the_way):
    if in_the_way == "folder":
        (tmp_path / "folder").write_text("in the way")
    else:
        (tmp_path / in_the_way).mkdir(parents=True)
    before = set(threading.enumerate())
    with pytest.raises(CannotWrite, match=r"checkpoints\.db"):
        await _claimed(tmp_path / "folder" / "checkpoints.db", 1)
    # A thread that outlives its loop prints a trace when it ends.
    assert set(threading.enumerate()) - before == set(), "the thread of the connection goes on"


def test_a_thread_belongs_to_one_claim():
    assert thread_id(Claim(run="run", epoch=7)) == "run:7"


async def test_a_file_that_many_open_at_once_is_waited_for(tmp_path, monkeypatch):
    # Seen when ten runs began together: SQLite gives up at once where a new file is to change its way of writing.
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    opened = checkpoints._open
    answers = [busy, busy]

    async def sometimes(path: Path) -> object:
        if answers:
            raise answers.pop()
        return await opened(path)

    monkeypatch.setattr(checkpoints, "_open", sometimes)
    async with open_checkpoints(tmp_path / "checkpoints.db") as saver:
        assert not answers
        assert await saver.conn.execute_fetchall("PRAGMA journal_mode")


async def test_of_two_that_take_over_at_once_the_newer_knows_whether_it_has_the_rows(tmp_path):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    async with open_checkpoints(path) as older, open_checkpoints(path) as newer:
        for epoch in range(2, 22, 2):
            _put(path, "run:1", "a")
            _, is_known = await asyncio.gather(
                take_over(older, Claim(run="run", epoch=epoch), afresh=False),
                take_over(newer, Claim(run="run", epoch=epoch + 1), afresh=False),
            )
            assert is_known is (f"run:{epoch + 1}" in _threads(path))
            await forget(path, "run")


async def test_a_file_that_stays_locked_is_not_said_to_be_full(tmp_path, monkeypatch):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    monkeypatch.setattr(checkpoints, "_BUSY_TIMEOUT_MS", 50)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="locked by another process") as caught:
            await _claimed(path, 2)
    assert caught.value.exit_code == 75


async def test_runs_of_one_process_write_in_turn_and_never_wait_for_a_lock(tmp_path, monkeypatch):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    monkeypatch.setattr(checkpoints, "_BUSY_TIMEOUT_MS", 0)
    async with AsyncExitStack() as stack:
        savers = [await stack.enter_async_context(open_checkpoints(path)) for _ in range(8)]
        writes = [_write(saver, f"run{number}:1") for number, saver in enumerate(savers) for _ in range(10)]
        await asyncio.gather(*writes)
    assert sorted(_threads(path)) == [f"run{number}:1" for number in range(8)]


async def _write(saver: AsyncSqliteSaver, thread: str) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": "c"}}
    await saver.aput_writes(config, [("channel", 1)], "task")


async def test_what_fails_elsewhere_is_not_blamed_on_the_file(tmp_path):
    with pytest.raises(ConnectionResetError):
        async with open_checkpoints(tmp_path / "checkpoints.db"):
            raise ConnectionResetError


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
async def test_damaged_checkpoints_are_dropped_and_the_journal_is_played(tmp_path, caplog, table):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    _put(path, "run:1", "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {table} SET type = 'msgpacl'")
    assert await _claimed(path, 2) is False
    assert _threads(path) == {}
    assert "damaged" in caplog.text


async def test_checkpoints_of_the_last_release_are_taken_over(tmp_path):
    path = tmp_path / "checkpoints.db"
    await _claimed(path, 1)
    _put(path, "run:1", "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in ("checkpoints", "writes"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
    assert await _claimed(path, 2) is True
    assert _threads(path) == {"run:2": ["a", "a"]}
