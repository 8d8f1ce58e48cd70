"""One SQLite file: opening, migrating, transactions, and SQLite's errors as ours. Knows nothing of runs."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from deep_research.database import FileErrors, can_be_written, connect, connect_copy, connect_read_only, fault_of
from deep_research.errors import CannotWrite, DeepResearchError, InputError, NewerStore, StoreCorrupt, StoreLocked
from deep_research.store.sql import Column, load_migrations, load_queries
from deep_research.store.sqlite_seals import keep_seals, teach_seals

T = TypeVar("T")

# SQLite answers some conflicts (switching to WAL, a log being cleaned up) without waiting for its own busy timeout.
_RETRY_PAUSE_S = 0.01
_OTHER_HOME = "set DEEP_RESEARCH_HOME to another folder"


class Session:
    """One transaction: sends named queries and raises our errors."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    def all(self, query: str, **values: Column) -> list[sqlite3.Row]:
        """Return every row of a query."""
        with _our_errors(self.path):
            return self._connection.execute(load_queries()[query], values).fetchall()

    def one(self, query: str, **values: Column) -> sqlite3.Row | None:
        """Return the first row of a query, if there is one."""
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def run(self, query: str, **values: Column) -> int:
        """Send a statement and return how many rows it changed."""
        with _our_errors(self.path):
            return self._connection.execute(load_queries()[query], values).rowcount


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
        with _closed_on_failure(connection):
            session = self._begin(connection)
            self._patiently(lambda: session.run("use_write_ahead_log"))
            session.run("sync_every_commit")
            session.run("check_references")
            self._bring_up_to_date(session, connection)
            keep_seals(connection)
        return connection

    def _open_as_it_stands(self) -> sqlite3.Connection:
        """Open a store that cannot be written: reading it is possible all the same, and every write is refused."""
        connection = connect_read_only(self.path)
        with _closed_on_failure(connection):
            is_old = _schema_number(self._begin(connection)) < max(load_migrations())
        if is_old:
            # What an older version wrote is read from a copy, which can be brought up to date.
            connection.close()
            connection = connect_copy(self.path)
        with _closed_on_failure(connection):
            session = self._begin(connection)
            self._bring_up_to_date(session, connection)
            session.run("refuse_writes")
        return connection

    def _begin(self, connection: sqlite3.Connection) -> Session:
        connection.row_factory = sqlite3.Row
        teach_seals(connection)
        return Session(connection, self.path)

    def _bring_up_to_date(self, session: Session, connection: sqlite3.Connection) -> None:
        newest = max(load_migrations())
        present = self._patiently(lambda: _schema_number(session))
        if present < newest:
            with self._transaction(connection, "begin_write"):
                # Another process may have migrated while this one waited.
                present = _schema_number(session)
                for number, statements in load_migrations().items():
                    for statement in statements if number > present else ():
                        connection.execute(statement)
        if present > newest:
            raise NewerStore(
                f"The store {self.path} has schema {present}, this version of Deep Research knows {newest}: "
                f"upgrade Deep Research, or {_OTHER_HOME}."
            )
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
    return StoreCorrupt(f"The store {path} is damaged: restore it from a copy, or {_OTHER_HOME}.")


def _schema_number(session: Session) -> int:
    number: int = session.all("schema_number")[0][0]
    return number


@cache
def _own_layout() -> dict[str, list[tuple[Column, ...]]]:
    """Return the tables and columns that the migrations make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        teach_seals(connection)
        for statements in load_migrations().values():
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
def _closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


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
            return StoreCorrupt(f"{path} is not a store of Deep Research: move it away, or {_OTHER_HOME}.")
        case "damaged":
            return corrupt(path)
    return None
