"""`server.db`, or the same tables in PostgreSQL: accounts, collections, schedules and what else is kept beside runs."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from deep_research.settings import Settings
from deep_research.storage.database.port import Column, Database, Session
from deep_research.storage.database.sqlite import SqliteFile, connect
from deep_research.wiring import open_database

T = TypeVar("T")
Records = Session
_SAME_MOMENT_S = 0.05
# For how long a change that another process made in PostgreSQL may go unseen.
_UNSEEN_S = 1.0
_PACKAGE = "deep_research.service"


class ServerDatabase:
    """The tables, used by one thread of this process; other processes may use them at the same time."""

    def __init__(self, location: Path | Database) -> None:
        self._database = _ServerFile(location, package=_PACKAGE) if isinstance(location, Path) else location
        self._own_changes, self._seen, self._seen_at = 0, 0, 0.0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-db")

    async def work(self, work: Callable[[Records], T]) -> T:
        """Do something as if nobody else had a transaction meanwhile; it may be begun again where a first was lost."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._database.write, work)
        finally:
            self._own_changes += 1
            self._seen_at = 0.0

    async def all(self, query: str, **values: Column) -> list[dict[str, Any]]:
        """Return every row of one named query."""
        return await self.work(lambda records: [dict(row) for row in records.all(query, **values)])

    async def run(self, query: str, **values: Column) -> int:
        """Send one named statement by itself and return how many rows it changed."""
        return await self.work(lambda records: records.run(query, **values))

    def version(self) -> int:
        """Return a number that changes with every change of the tables, whoever makes it; quick, never in the way.

        A thousand who ask at the same moment are answered by one look: each look lets busy threads go first.
        """
        if time.monotonic() - self._seen_at >= _SAME_MOMENT_S:
            if isinstance(self._database, _ServerFile):
                self._seen = self._database.version()
            else:
                # What others change is looked up again after a moment, without asking for it before every request.
                self._seen = self._own_changes + int(time.monotonic() / _UNSEEN_S)
            self._seen_at = time.monotonic()
        return self._seen

    async def close(self) -> None:
        """Let go of the tables."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
        self._thread.shutdown(wait=True)


def open_server_database(settings: Settings) -> ServerDatabase:
    """Return the tables of the server: in PostgreSQL where one is named, else in a file."""
    if settings.database_url is None:
        return ServerDatabase(settings.server_path)
    return ServerDatabase(open_database(settings, _PACKAGE, isolation="SERIALIZABLE"))


class _ServerFile(SqliteFile):
    """The tables in one SQLite file, with a second connection that sees the changes of others."""

    _watch: sqlite3.Connection | None = None

    def version(self) -> int:
        """Return a number that changes with every change of the file."""
        with self.our_errors():
            if self._watch is None:
                self._watch = connect(self.path, timeout_s=1.0)
            return int(self._watch.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        super().close()
        if self._watch is not None:
            self._watch.close()
            self._watch = None
