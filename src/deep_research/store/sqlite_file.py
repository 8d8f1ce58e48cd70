"""One SQLite file: opening, migrating, transactions, and SQLite's errors as ours. Knows nothing of runs."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from deep_research.errors import CannotWrite, DeepResearchError, InputError, NewerStore, StoreCorrupt, StoreLocked
from deep_research.store.sql import load_migrations, load_queries

Column = str | int | float | bytes | None
T = TypeVar("T")

# SQLite answers some conflicts (switching to WAL, a log being cleaned up) without waiting for its own busy timeout.
_RETRY_PAUSE_S = 0.01
# Primary result codes; extended codes carry more in the higher bits.
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_REFUSED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH})
_NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
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
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as exc:
                raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
            with _our_errors(self.path):
                connection = sqlite3.connect(self.path, timeout=self._busy_timeout_s, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        session = Session(connection, self.path)
        self._patiently(lambda: session.run("use_write_ahead_log"))
        session.run("sync_every_commit")
        session.run("check_references")
        newest = max(load_migrations())
        present = self._patiently(lambda: _schema_number(session))
        if present < newest:
            with self._transaction(connection, "begin_write"):
                # Another process may have migrated while this one waited.
                present = _schema_number(session)
                with _our_errors(self.path):
                    for number, statements in load_migrations().items():
                        for statement in statements if number > present else ():
                            connection.execute(statement)
        if present > newest:
            raise NewerStore(
                f"The store {self.path} has schema {present}, this version of Deep Research knows {newest}: "
                f"upgrade Deep Research, or {_OTHER_HOME}."
            )

    def _patiently(self, attempt: Callable[[], T]) -> T:
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return attempt()
            except StoreLocked:
                if time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)


def _schema_number(session: Session) -> int:
    number: int = session.all("schema_number")[0][0]
    return number


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as exc:
        raise InputError("An address, a section or another name is not valid Unicode: rename it.") from exc
    except sqlite3.Error as exc:
        ours = _translate(exc, path)
        if ours is None:
            raise
        raise ours from exc


def _translate(error: sqlite3.Error, path: Path) -> DeepResearchError | None:
    extended: int | None = getattr(error, "sqlite_errorcode", None)
    if extended is None:
        # Python reports a column that is not UTF-8 this way; everything else without a code is a misuse of ours.
        return _corrupt(path) if isinstance(error, sqlite3.OperationalError) else None
    code = extended & 0xFF
    if code in _LOCKED:
        return StoreLocked(f"The store {path} stayed locked by another process: try again, or end that process.")
    if code in _REFUSED:
        return CannotWrite(f"The store {path} cannot be opened for writing: check the rights on it and its folder.")
    if code in _NO_ROOM:
        return CannotWrite(f"The store {path} cannot be written: free space on its disk, or check the disk.")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreCorrupt(f"{path} is not a store of Deep Research: move it away, or {_OTHER_HOME}.")
    return _corrupt(path)


def _corrupt(path: Path) -> StoreCorrupt:
    return StoreCorrupt(f"The store {path} is damaged: restore it from a copy, or {_OTHER_HOME}.")
