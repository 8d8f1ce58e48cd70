"""`server.db`: accounts, collections of documents, schedules and what else a server keeps beside the runs."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from deep_research.database import FileErrors, closed_on_failure, connect, fault_of, load_queries, migrate
from deep_research.errors import CannotWrite, DeepResearchError, StoreCorrupt, StoreLocked

T = TypeVar("T")
Column = str | int | float | bytes | None
_SAME_MOMENT_S = 0.05
_RETRY_PAUSE_S = 0.01
_PACKAGE = "deep_research.service"


class Records:
    """One transaction on `server.db`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, query: str, **values: Column) -> list[sqlite3.Row]:
        """Return every row of a named query."""
        return self._connection.execute(load_queries(_PACKAGE)[query], values).fetchall()

    def one(self, query: str, **values: Column) -> sqlite3.Row | None:
        """Return the first row of a named query, if there is one."""
        found: sqlite3.Row | None = self._connection.execute(load_queries(_PACKAGE)[query], values).fetchone()
        return found

    def run(self, query: str, **values: Column) -> int:
        """Send a named statement and return how many rows it changed."""
        return self._connection.execute(load_queries(_PACKAGE)[query], values).rowcount


class ServerDatabase:
    """One SQLite file, used by one thread of this process; other processes may use it at the same time."""

    def __init__(self, path: Path, *, busy_timeout_s: float = 30.0) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._watch: sqlite3.Connection | None = None
        self._seen, self._seen_at = 0, 0.0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-db")

    async def work(self, work: Callable[[Records], T]) -> T:
        """Do something in one transaction."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)
        finally:
            self._seen_at = 0.0

    def version(self) -> int:
        """Return a number that changes with every change of the file, whoever makes it; quick, and never in the way.

        A thousand who ask at the same moment are answered by one look: each look lets busy threads go first.
        """
        if time.monotonic() - self._seen_at < _SAME_MOMENT_S:
            return self._seen
        try:
            if self._watch is None:
                self._watch = connect(self.path, timeout_s=1.0, check_same_thread=False)
            self._seen = int(self._watch.execute("PRAGMA data_version").fetchone()[0])
        except FileErrors as exc:
            raise self._in_words(exc) from exc
        self._seen_at = time.monotonic()
        return self._seen

    async def close(self) -> None:
        """Close the file."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=True)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _transaction(self, work: Callable[[Records], T]) -> T:
        try:
            connection = self._connection = self._connection or self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(Records(connection))
            except BaseException:  # Nothing is kept of work that was broken off, by whatever; it is raised again.
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return result
        except FileErrors as exc:
            raise self._in_words(exc) from exc

    def _opened(self) -> sqlite3.Connection:
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return self._open()
            except FileErrors as exc:
                # SQLite does not wait by itself while another process turns a new file to its log.
                if fault_of(exc) != "locked" or time.monotonic() >= until:
                    raise
            time.sleep(_RETRY_PAUSE_S)

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path, timeout_s=self._busy_timeout_s, check_same_thread=False)
        with closed_on_failure(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, self.path, _PACKAGE)
        return connection

    def _in_words(self, exc: Exception) -> DeepResearchError:
        match fault_of(exc):
            case "locked":
                return StoreLocked(f"Another process holds {self.path.name}; try again.")
            case "refused" | "full":
                return CannotWrite(f"Cannot write {self.path}: {exc}.")
        return StoreCorrupt(f"{self.path} cannot be read: {exc}.")
