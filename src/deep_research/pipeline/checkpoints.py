"""LangGraph's checkpoints, fenced by epoch: a thread is `run:epoch`, so an overtaken process writes beside, not over.

Losing this file costs no paid call: the journal plays the run back.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import aiosqlite

from deep_research.database import FileErrors, connect, fault_of, files_of
from deep_research.errors import CannotWrite, StoreCorrupt, StoreLocked
from deep_research.store.port import Claim
from deep_research.store.seals import SEAL, SEAL_FUNCTION, seal_of, sealing_triggers

if TYPE_CHECKING:  # `runs delete` forgets checkpoints without loading LangGraph
    from deep_research.pipeline.saver import UncutSaver

_log = logging.getLogger(__name__)
_TABLES = ("checkpoints", "writes")
_BUSY_TIMEOUT_MS = 30_000
_RETRY_PAUSE_S = 0.01


def thread_id(claim: Claim) -> str:
    """Return the thread that only this claim's owner writes to."""
    return f"{claim.run}:{claim.epoch}"


@asynccontextmanager
async def open_checkpoints(path: Path) -> "AsyncIterator[UncutSaver]":
    """Open the checkpoint file; one that is damaged is moved away and begun anew. Errors of the file become ours."""
    with our_errors(path):
        try:
            saver = await _open_patiently(path)
        except FileErrors as exc:
            if fault_of(exc) not in ("foreign", "damaged"):
                raise
            _move_away(path)
            saver = await _open_patiently(path)
    try:
        yield saver
    finally:
        await saver.settle()
        await saver.conn.close()


@contextmanager
def our_errors(path: Path) -> Iterator[None]:
    """Raise what is wrong with the checkpoint file as one of our errors."""
    try:
        yield
    except OSError as exc:
        raise CannotWrite(f"Cannot write {path}: {exc.strerror}.") from exc
    except FileErrors as exc:
        match fault_of(exc):
            case "locked":
                advice = f"{path} stayed locked by another process: try again, or end that process."
                raise StoreLocked(advice) from exc
            case "refused":
                raise CannotWrite(f"Cannot write {path}: check the rights on it and its folder.") from exc
            case "full":
                raise CannotWrite(f"Cannot write {path}: free space on its disk, or check the disk.") from exc
            case "foreign" | "damaged":
                advice = f"{path} is damaged: move it away; the journal then plays the run back."
                raise StoreCorrupt(advice) from exc
        raise


def _move_away(path: Path) -> None:
    """Make room for a new file; another process may have done so already."""
    damaged = path.with_name(f"{path.name}.damaged")
    _log.warning("the checkpoint file was damaged and is now %s; the journal plays the run back", damaged.name)
    database, *rest = files_of(path)
    with suppress(FileNotFoundError):
        database.replace(damaged)
    for file in rest:
        file.unlink(missing_ok=True)


async def _open_patiently(path: Path) -> "UncutSaver":
    """Open the file; where others open it for the first time too, SQLite does not wait for them by itself."""
    clock = asyncio.get_running_loop().time
    until = clock() + _BUSY_TIMEOUT_MS / 1_000
    while True:
        try:
            return await _open(path)
        except sqlite3.OperationalError as exc:
            if fault_of(exc) != "locked" or clock() >= until:
                raise
        await asyncio.sleep(_RETRY_PAUSE_S)


async def _open(path: Path) -> "UncutSaver":
    from deep_research.pipeline.saver import UncutSaver

    connection = await _connect(path)
    try:
        # A process that dies loses nothing; after a power cut the journal plays the last steps back.
        await connection.execute("PRAGMA synchronous = NORMAL")
        (check,) = await connection.execute_fetchall("PRAGMA integrity_check(1)")
        if check[0] != "ok":
            raise sqlite3.OperationalError("the checkpoint file is damaged")
        saver = UncutSaver(connection, path, our_errors)
        await saver.setup()
        await _keep_seals(connection)
    except BaseException:
        await connection.close()
        raise
    return saver


async def _keep_seals(connection: aiosqlite.Connection) -> None:
    """Let every row that is written carry a seal; in a file of an earlier version those that are there get one."""
    await connection.create_function(SEAL_FUNCTION, -1, seal_of, deterministic=True)
    for table in _TABLES:
        names = await _columns(connection, table)
        if SEAL not in names:
            await connection.execute("BEGIN IMMEDIATE")
            # Another process may have done so meanwhile.
            if SEAL not in await _columns(connection, table):
                await connection.execute(f"ALTER TABLE {table} ADD COLUMN {SEAL} INTEGER NOT NULL DEFAULT 0")
                await connection.execute(f"UPDATE {table} SET {SEAL} = {SEAL_FUNCTION}({', '.join(names)})")
            await connection.commit()
        for trigger in sealing_triggers(table, [name for name in names if name != SEAL]):
            await connection.execute(trigger)


async def _columns(connection: aiosqlite.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in await connection.execute_fetchall(f"PRAGMA table_info({table})")]


async def _is_sound(connection: aiosqlite.Connection, thread: str) -> bool:
    for table in _TABLES:
        columns = ", ".join(name for name in await _columns(connection, table) if name != SEAL)
        found = await connection.execute_fetchall(
            f"SELECT 1 FROM {table} WHERE thread_id = ? AND {SEAL} <> {SEAL_FUNCTION}({columns}) LIMIT 1", (thread,)
        )
        if list(found):
            _log.warning("the checkpoints of %s are damaged; the journal plays the run back", thread)
            return False
    return True


async def take_over(saver: "UncutSaver", claim: Claim, *, afresh: bool) -> bool:
    """Move the newest earlier epoch's rows to this claim's thread, in one transaction; say whether there are any.

    `afresh` drops them instead, and so does damage: the run is then played back from its journal.
    """
    connection = saver.conn
    with our_errors(saver.path):
        async with saver.lock:
            # Before anything is read: a process that was overtaken may be moving the same rows.
            await connection.execute("BEGIN IMMEDIATE")
            try:
                epochs = [int(thread.rpartition(":")[2]) for thread in await _threads(connection, claim.run)]
                earlier = [epoch for epoch in epochs if epoch < claim.epoch]
                newest = f"{claim.run}:{max(earlier, default=0)}"
                is_known = bool(earlier) and not afresh and await _is_sound(connection, newest)
                for table in _TABLES if is_known else ():
                    await connection.execute(
                        f"UPDATE OR REPLACE {table} SET thread_id = ? WHERE thread_id = ?",
                        (thread_id(claim), newest),
                    )
                await _drop(connection, [f"{claim.run}:{epoch}" for epoch in earlier])
                await connection.commit()
            except BaseException:
                await connection.rollback()
                raise
    return is_known


async def forget(path: Path, run: str, *, epoch: int | None = None) -> None:
    """Drop the checkpoints of a run that has ended, or of one epoch that was overtaken; a lost file has none."""
    if not path.exists():
        return
    try:
        connection = await _connect(path)
        try:
            await _drop(connection, [f"{run}:{epoch}"] if epoch is not None else await _threads(connection, run))
            await connection.commit()
        finally:
            await connection.close()
    except (OSError, *FileErrors) as exc:
        _log.warning("the checkpoints of run %s could not be dropped: %s", run, exc)


async def _connect(path: Path) -> aiosqlite.Connection:
    # A connection that fails leaves its thread behind for a moment, and that may be longer than the loop: try without.
    connect(path, timeout_s=_BUSY_TIMEOUT_MS / 1_000).close()
    connection = await aiosqlite.connect(path, isolation_level="IMMEDIATE")
    await connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    return connection


async def _threads(connection: aiosqlite.Connection, run: str) -> list[str]:
    found = await connection.execute_fetchall(
        "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id GLOB ?", (f"{run}:*",)
    )
    return [str(row[0]) for row in found]


async def _drop(connection: aiosqlite.Connection, threads: list[str]) -> None:
    for table in _TABLES:
        for thread in threads:
            await connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread,))
