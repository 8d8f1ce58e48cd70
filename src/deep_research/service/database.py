"""`server.db`, or the same tables in PostgreSQL: accounts, collections, schedules and what else is kept beside runs."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from deep_research.database import FileErrors, connect, fault_of, load_queries, migrate, open_prepared, transaction
from deep_research.errors import CannotWrite, DeepResearchError, StoreCorrupt, StoreLocked
from deep_research.settings import Settings
from deep_research.store.sql import Column, Row
from deep_research.wiring import open_database

if TYPE_CHECKING:
    from deep_research.store.postgres import PostgresDatabase

T = TypeVar("T")
_SAME_MOMENT_S = 0.05
# For how long a change that another process made in PostgreSQL may go unseen.
_UNSEEN_S = 1.0
_PACKAGE = "deep_research.service"


class Records(Protocol):
    """One transaction, as if nobody else had one at the same time."""

    def all(self, query: str, **values: Column) -> list[Row]:
        """Return every row of a named query."""
        ...

    def one(self, query: str, **values: Column) -> Row | None:
        """Return the first row of a named query, if there is one."""
        ...

    def run(self, query: str, **values: Column) -> int:
        """Send a named statement and return how many rows it changed."""
        ...


class _Tables(Protocol):
    def write(self, work: Callable[[Records], T]) -> T: ...

    def version(self) -> int: ...

    def close(self) -> None: ...


class ServerDatabase:
    """The tables, used by one thread of this process; other processes may use them at the same time."""

    def __init__(self, place: "Path | PostgresDatabase", *, busy_timeout_s: float = 30.0) -> None:
        self._tables: _Tables
        self._tables = _ServerFile(place, busy_timeout_s) if isinstance(place, Path) else _SharedTables(place)
        self._seen, self._seen_at = 0, 0.0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-db")

    async def work(self, work: Callable[[Records], T]) -> T:
        """Do something in one transaction, which may be begun again where a first attempt was lost."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._tables.write, work)
        finally:
            self._seen_at = 0.0

    def version(self) -> int:
        """Return a number that changes with every change of the tables, whoever makes it; quick, never in the way.

        A thousand who ask at the same moment are answered by one look: each look lets busy threads go first.
        """
        if time.monotonic() - self._seen_at >= _SAME_MOMENT_S:
            self._seen = self._tables.version()
            self._seen_at = time.monotonic()
        return self._seen

    async def close(self) -> None:
        """Let go of the tables."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._tables.close)
        self._thread.shutdown(wait=True)


def open_server_database(settings: Settings) -> ServerDatabase:
    """Return the tables of the server: in PostgreSQL where one is named, else in a file."""
    if settings.database_url is None:
        return ServerDatabase(settings.server_path)
    return ServerDatabase(open_database(settings, _PACKAGE, isolation="SERIALIZABLE"))


class _SharedTables:
    """The tables in PostgreSQL."""

    def __init__(self, database: "PostgresDatabase") -> None:
        self._database = database
        self._own_changes = 0

    def write(self, work: Callable[[Records], T]) -> T:
        try:
            return self._database.write(work)
        finally:
            self._own_changes += 1

    def version(self) -> int:
        # Asked before every request: what others change is looked up again after a moment, without asking for it.
        return self._own_changes + int(time.monotonic() / _UNSEEN_S)

    def close(self) -> None:
        self._database.close()


class _FileRecords:
    """One transaction on `server.db`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, query: str, **values: Column) -> list[Row]:
        return list(self._connection.execute(load_queries(_PACKAGE)[query], values).fetchall())

    def one(self, query: str, **values: Column) -> Row | None:
        found: Row | None = self._connection.execute(load_queries(_PACKAGE)[query], values).fetchone()
        return found

    def run(self, query: str, **values: Column) -> int:
        return self._connection.execute(load_queries(_PACKAGE)[query], values).rowcount


class _ServerFile:
    """One SQLite file."""

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._watch: sqlite3.Connection | None = None

    def version(self) -> int:
        try:
            if self._watch is None:
                self._watch = connect(self.path, timeout_s=1.0, check_same_thread=False)
            return int(self._watch.execute("PRAGMA data_version").fetchone()[0])
        except FileErrors as exc:
            raise self._in_words(exc) from exc

    def close(self) -> None:
        for connection in (self._watch, self._connection):
            if connection is not None:
                connection.close()
        self._watch = self._connection = None

    def write(self, work: Callable[[Records], T]) -> T:
        try:
            connection = self._connection = self._connection or self._opened()
            with transaction(connection, "BEGIN IMMEDIATE"):
                return work(_FileRecords(connection))
        except FileErrors as exc:
            raise self._in_words(exc) from exc

    def _opened(self) -> sqlite3.Connection:
        def prepare(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, self.path, _PACKAGE)

        return open_prepared(self.path, prepare, timeout_s=self._busy_timeout_s, check_same_thread=False)

    def _in_words(self, exc: Exception) -> DeepResearchError:
        match fault_of(exc):
            case "locked":
                return StoreLocked(f"Another process holds {self.path.name}; try again.")
            case "refused" | "full":
                return CannotWrite(f"Cannot write {self.path}: {exc}.")
        return StoreCorrupt(f"{self.path} cannot be read: {exc}.")
