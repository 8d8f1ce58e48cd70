"""One SQLite file: its queries and migrations, seals on its rows, transactions, and SQLite's errors as ours.

Knows nothing of runs.

A seal is a sum over the columns of a row, kept beside them, by which a flipped byte is seen when the row is read.
Triggers of our own connections keep the seals; nobody else who changes a row can, and that is seen as well.

Writes that come while the disk is busy are kept together, with one wait for the disk.
"""

import asyncio
import marshal
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from deep_research.database import (
    OTHER_HOME,
    FileErrors,
    can_be_written,
    closed_on_failure,
    connect,
    connect_copy,
    connect_read_only,
    fault_of,
    load_migrations,
    load_queries,
    migrate,
    schema_number,
)
from deep_research.errors import CannotWrite, DeepResearchError, InputError, StoreCorrupt, StoreLocked

Column = str | int | float | bytes | None

_PACKAGE = "deep_research.store"
SEAL = "seal"
SEALED = ("runs", "answers", "journal", "events", "documents", "run_documents", "evidence")
SEAL_FUNCTION = "seal_of"
_MARSHAL_FORMAT = 2


def seal_of(*columns: Column) -> int:
    """Return the seal of a row's columns."""
    # This format tells kinds apart, is the same in every version of Python, and takes a third of the time of JSON.
    raw = marshal.dumps(columns, _MARSHAL_FORMAT)
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big", signed=True)


def is_sound(row: sqlite3.Row) -> bool:
    """Return whether a whole row is as it was written."""
    return bool(seal_of(*(row[name] for name in row.keys() if name != SEAL)) == row[SEAL])  # noqa: SIM118 - a row is no mapping


def teach_seals(connection: sqlite3.Connection) -> None:
    """Let the statements of a connection make seals."""
    connection.create_function(SEAL_FUNCTION, -1, seal_of, deterministic=True)


def keep_seals(connection: sqlite3.Connection) -> None:
    """Seal every row that the connection writes."""
    for table in SEALED:
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})") if name != SEAL]
        for trigger in sealing_triggers(table, names):
            connection.execute(trigger)


def sealing_triggers(table: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return what seals rows as they are written, and refuses to change a damaged one, which would seal the damage.

    The triggers are temporary: in the file they would bind everybody who opens it to our function.
    """
    columns, old = ", ".join(names), ", ".join(f"OLD.{name}" for name in names)
    seal = f"UPDATE {table} SET {SEAL} = {SEAL_FUNCTION}({columns}) WHERE rowid = NEW.rowid;"
    refusal = f"WHEN OLD.{SEAL} <> {SEAL_FUNCTION}({old}) BEGIN SELECT RAISE(ABORT, 'the row is damaged'); END"
    return (
        f"CREATE TEMP TRIGGER {table}_added AFTER INSERT ON main.{table} BEGIN {seal} END",
        f"CREATE TEMP TRIGGER {table}_changed AFTER UPDATE OF {columns} ON main.{table} BEGIN {seal} END",
        f"CREATE TEMP TRIGGER {table}_changing BEFORE UPDATE OF {columns} ON main.{table} {refusal}",
    )


T = TypeVar("T")

# SQLite answers some conflicts (switching to WAL, a log being cleaned up) without waiting for its own busy timeout.
_RETRY_PAUSE_S = 0.01


class Session:
    """One transaction: sends named queries and raises our errors."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    def all(self, query: str, **values: Column) -> list[sqlite3.Row]:
        """Return every row of a query."""
        with _our_errors(self.path):
            return self._connection.execute(load_queries(_PACKAGE)[query], values).fetchall()

    def one(self, query: str, **values: Column) -> sqlite3.Row | None:
        """Return the first row of a query, if there is one."""
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def run(self, query: str, **values: Column) -> int:
        """Send a statement and return how many rows it changed."""
        with _our_errors(self.path):
            return self._connection.execute(load_queries(_PACKAGE)[query], values).rowcount


class SqliteFile:
    """A connection that is opened on first use and belongs to the thread that uses it."""

    def __init__(self, path: Path, *, busy_timeout_s: float) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None

    def read(self, work: Callable[[Session], T]) -> T:
        """Do the work on one unchanging view of the store."""
        connection = self._opened()

        def attempt() -> T:
            with self._transaction(connection, "begin_read") as session:
                return work(session)

        return self._patiently(attempt)

    def write(self, work: Callable[[Session], T]) -> T:
        """Do the work as the only writer; all of it is kept, or nothing."""
        with self._transaction(self._opened(), "begin_write") as session:
            return work(session)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[Session]:
        session = Session(connection, self.path)
        self._patiently(lambda: session.run(begin))
        try:
            yield session
            with _our_errors(self.path):
                connection.commit()
        except BaseException:
            # SQLite may have rolled back by itself, and a disk that fails a write may fail this too.
            with suppress(sqlite3.Error):
                connection.rollback()
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            with _our_errors(self.path):
                self._connection = self._open() if can_be_written(self.path) else self._open_as_it_stands()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            connection = connect(self.path, timeout_s=self._busy_timeout_s)
        except OSError as exc:
            raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
        with closed_on_failure(connection):
            session = self._begin(connection)
            self._patiently(lambda: session.run("use_write_ahead_log"))
            session.run("sync_every_commit")
            session.run("check_references")
            self._bring_up_to_date(connection)
            keep_seals(connection)
        return connection

    def _open_as_it_stands(self) -> sqlite3.Connection:
        """Open a store that cannot be written: reading it is possible all the same, and every write is refused."""
        connection = connect_read_only(self.path)
        with closed_on_failure(connection):
            is_old = schema_number(connection) < max(load_migrations(_PACKAGE))
        if is_old:
            # What an older version wrote is read from a copy, which can be brought up to date.
            connection.close()
            connection = connect_copy(self.path)
        with closed_on_failure(connection):
            session = self._begin(connection)
            self._bring_up_to_date(connection)
            session.run("refuse_writes")
        return connection

    def _begin(self, connection: sqlite3.Connection) -> Session:
        connection.row_factory = sqlite3.Row
        teach_seals(connection)
        return Session(connection, self.path)

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        def attempt() -> None:
            with _our_errors(self.path):
                migrate(connection, self.path, _PACKAGE)

        self._patiently(attempt)
        if _layout_of(connection) != _own_layout():
            raise corrupt(self.path)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return attempt()
            except StoreLocked:
                if time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)


def corrupt(path: Path) -> StoreCorrupt:
    """Return what is said of a store whose file is damaged."""
    return StoreCorrupt(f"The store {path} is damaged: restore it from a copy, or {OTHER_HOME}.")


@cache
def _own_layout() -> dict[str, list[tuple[Column, ...]]]:
    """Return the tables and columns that the migrations make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        teach_seals(connection)
        for statements in load_migrations(_PACKAGE).values():
            for statement in statements:
                connection.execute(statement)
        return _layout_of(connection)


def _layout_of(connection: sqlite3.Connection) -> dict[str, list[tuple[Column, ...]]]:
    names = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {
        name: [tuple(row) for row in connection.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in sorted(map(tuple, names))
    }


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as exc:
        raise InputError("An address, a section or another name is not valid Unicode: rename it.") from exc
    except FileErrors as exc:
        ours = _translate(exc, path)
        if ours is None:
            raise
        raise ours from exc


def _translate(error: Exception, path: Path) -> DeepResearchError | None:
    match fault_of(error):
        case "locked":
            return StoreLocked(f"The store {path} stayed locked by another process: try again, or end that process.")
        case "refused":
            return CannotWrite(f"The store {path} cannot be opened for writing: check the rights on it and its folder.")
        case "full":
            return CannotWrite(f"The store {path} cannot be written: free space on its disk, or check the disk.")
        case "foreign":
            return StoreCorrupt(f"{path} is not a store of Deep Research: move it away, or {OTHER_HOME}.")
        case "damaged":
            return corrupt(path)
    return None


_MAX_BATCH = 64


@dataclass(frozen=True)
class _Write:
    """One piece of work; `in_own_transaction` means that it must not be done twice or undone for another."""

    work: Callable[[Session], Any]
    in_own_transaction: bool
    done: Future[Any] = field(default_factory=Future)


class WriteQueue:
    """Hands writes to the thread that owns the file, in the order in which they came."""

    def __init__(self, file: SqliteFile, thread: ThreadPoolExecutor) -> None:
        self._file = file
        self._thread = thread
        self._waiting: deque[_Write] = deque()
        self._lock = threading.Lock()

    async def write(self, work: Callable[[Session], T], *, in_own_transaction: bool = False) -> T:
        """Do the work in a transaction; return once it is on the disk."""
        write = _Write(work, in_own_transaction)
        with self._lock:
            self._waiting.append(write)
        # Whoever comes to the thread first takes along what waits by then; the others find nothing left to do.
        self._thread.submit(self._keep_waiting)
        result: T = await asyncio.wrap_future(write.done)
        return result

    def _keep_waiting(self) -> None:
        wanted = [write for write in self._next_batch() if write.done.set_running_or_notify_cancel()]
        if len(wanted) > 1:
            try:
                results = self._file.write(lambda session: [write.work(session) for write in wanted])
            except (StoreLocked, CannotWrite, StoreCorrupt) as exc:
                # What is wrong with the file is wrong for all; one after the other, they would wait for a lock in turn.
                for write in wanted:
                    write.done.set_exception(exc)
                return
            except Exception:  # Nothing was kept; each is tried by itself, and raises its own failure.
                results = []
            for write, result in zip(wanted, results, strict=False):
                write.done.set_result(result)
            wanted = wanted[len(results) :]
        for write in wanted:
            try:
                write.done.set_result(self._file.write(write.work))
            except Exception as exc:  # Raised where the write is waited for.
                write.done.set_exception(exc)

    def _next_batch(self) -> list[_Write]:
        with self._lock:
            batch: list[_Write] = []
            while self._waiting and len(batch) < _MAX_BATCH:
                if batch and (batch[-1].in_own_transaction or self._waiting[0].in_own_transaction):
                    break
                batch.append(self._waiting.popleft())
            return batch
