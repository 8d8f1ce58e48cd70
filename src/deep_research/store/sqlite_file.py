"""The database port on one SQLite file: its queries and migrations, transactions, and SQLite's errors as ours.

Knows no tables.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

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
from deep_research.store.seals import keep_seals, teach_seals
from deep_research.store.sql import Column, Row, Session

_STORE = "deep_research.store"


T = TypeVar("T")

# SQLite answers some conflicts (switching to WAL, a log being cleaned up) without waiting for its own busy timeout.
_RETRY_PAUSE_S = 0.01


class SqliteSession(Session):
    """One transaction of a file."""

    trusts_indexes = False

    def __init__(self, connection: sqlite3.Connection, path: Path, package: str) -> None:
        self._connection = connection
        self._path = path
        self._queries = load_queries(package)

    @property
    def place(self) -> str:
        return str(self._path)

    def all(self, query: str, **values: Column) -> list[Row]:
        with our_errors(self._path):
            return list(self._connection.execute(self._queries[query], values).fetchall())

    def run(self, query: str, **values: Column) -> int:
        with our_errors(self._path):
            return self._connection.execute(self._queries[query], values).rowcount

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        with our_errors(self._path):
            self._connection.executemany(self._queries[query], rows)

    def clock_ahead_s(self) -> float:
        """Return 0: a file has no clock, and those who use it are on one machine."""
        return 0.0

    def corrupt(self) -> StoreCorrupt:
        return _corrupt(self._path)


class SqliteFile:
    """A connection that is opened on first use and belongs to the thread that uses it.

    A package has the queries and migrations of its tables: the store's, or the server's.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float, package: str = _STORE) -> None:
        self.path = path
        self._package = package
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None

    def read(self, work: Callable[[Session], T]) -> T:
        connection = self._opened()

        def attempt() -> T:
            with self._transaction(connection, "BEGIN") as session:
                return work(session)

        return self._patiently(attempt)

    def write(self, work: Callable[[Session], T]) -> T:
        with self._transaction(self._opened(), "BEGIN IMMEDIATE") as session:
            return work(session)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[SqliteSession]:
        self._patiently(lambda: self._send(connection, begin))
        try:
            yield SqliteSession(connection, self.path, self._package)
            with our_errors(self.path):
                connection.commit()
        except BaseException:
            # SQLite may have rolled back by itself, and a disk that fails a write may fail this too.
            with suppress(sqlite3.Error):
                connection.rollback()
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            with our_errors(self.path):
                self._connection = self._open() if can_be_written(self.path) else self._open_as_it_stands()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            connection = connect(self.path, timeout_s=self._busy_timeout_s)
        except OSError as exc:
            raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
        with closed_on_failure(connection):
            self._patiently(lambda: self._send(connection, "PRAGMA journal_mode = WAL"))
            self._send(connection, "PRAGMA synchronous = FULL")
            self._send(connection, "PRAGMA foreign_keys = ON")
            self._bring_up_to_date(connection)
            keep_seals(connection)
        return connection

    def _open_as_it_stands(self) -> sqlite3.Connection:
        """Open a store that cannot be written: reading it is possible all the same, and every write is refused."""
        connection = connect_read_only(self.path)
        with closed_on_failure(connection):
            is_old = schema_number(connection) < max(load_migrations(self._package))
        if is_old:
            # What an older version wrote is read from a copy, which can be brought up to date.
            connection.close()
            connection = connect_copy(self.path)
        with closed_on_failure(connection):
            self._bring_up_to_date(connection)
            self._send(connection, "PRAGMA query_only = ON")
        return connection

    def _send(self, connection: sqlite3.Connection, statement: str) -> None:
        with our_errors(self.path):
            connection.execute(statement)

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        def attempt() -> None:
            with our_errors(self.path):
                migrate(connection, self.path, self._package)

        connection.row_factory = sqlite3.Row
        teach_seals(connection)
        self._patiently(attempt)
        if _layout_of(connection) != _own_layout(self._package):
            raise _corrupt(self.path)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return attempt()
            except StoreLocked:
                if time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)


def _corrupt(path: Path) -> StoreCorrupt:
    return StoreCorrupt(f"The store {path} is damaged: restore it from a copy, or {OTHER_HOME}.")


@cache
def _own_layout(package: str) -> dict[str, list[tuple[Column, ...]]]:
    """Return the tables and columns that the migrations make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        teach_seals(connection)
        for statements in load_migrations(package).values():
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
def our_errors(path: Path) -> Iterator[None]:
    """Tell what SQLite raises in words of ours."""
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
            return _corrupt(path)
    return None
