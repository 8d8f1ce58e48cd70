"""The index file: opening, making it anew when another version made it, transactions, and SQLite's errors as ours."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

from deep_research.database import (
    FileErrors,
    can_be_written,
    connect,
    connect_read_only,
    fault_of,
    files_of,
    load_queries,
)
from deep_research.errors import CannotWrite, StoreCorrupt, StoreLocked
from deep_research.readers.versions import all_extractors, package_version
from deep_research.text.analyzer import ANALYZER_VERSION

Column = str | int | float | bytes | None

# Raise it whenever the tables, the cutting into passages or the search for near-duplicates change what is indexed.
INDEX_VERSION = 2
# They have a say in the terms and texts of all formats.
_PACKAGES = ("snowballstemmer", "PyStemmer", "opencc", "lxml")
_BUSY_TIMEOUT_S = 30.0
# Two processes that open a new file at once: SQLite refuses the switch to WAL without waiting.
_RETRY_PAUSE_S = 0.01


class _NotAnIndex(Exception):
    """The file is a database of something else."""


class IndexSession:
    """One transaction of the index; `folder` is the number of the folder it works on."""

    def __init__(self, connection: sqlite3.Connection, folder: int = 0) -> None:
        self._connection = connection
        self.folder = folder

    def rows(self, query: str, **values: Column) -> sqlite3.Cursor:
        """Return the rows of a named query, one after the other."""
        statement = load_queries("deep_research.corpus")[query].replace("{folder}", str(self.folder))
        return self._connection.execute(statement, {"folder": self.folder, **values})

    def one(self, query: str, **values: Column) -> sqlite3.Row | None:
        """Return the first row of a named query, if there is one."""
        return next(self.rows(query, **values), None)

    def required_row(self, query: str, **values: Column) -> sqlite3.Row:
        """Return the row of a query that always has one: a count, or what was listed in the same transaction."""
        row: sqlite3.Row = next(self.rows(query, **values))
        return row

    def add(self, query: str, **values: Column) -> int:
        """Send an insertion and return the number of the new row."""
        return self.rows(query, **values).lastrowid or 0


class Index:
    """One connection to the index file, opened on first use; it belongs to the thread that uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def reading(self, folder: int = 0) -> AbstractContextManager[IndexSession]:
        """Give one unchanging view of the index."""
        return self._transaction("BEGIN", folder)

    def writing(self, folder: int = 0) -> AbstractContextManager[IndexSession]:
        """Give the only writer's turn; all of it is kept, or nothing."""
        return self._transaction("BEGIN IMMEDIATE", folder)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str, folder: int) -> Iterator[IndexSession]:
        try:
            connection = self._connection = self._connection or self._opened()
            connection.execute(begin)
            try:
                session = IndexSession(connection, folder)
                if not _is_ours(session):
                    raise StoreCorrupt(f"The index {self.path} was taken over by another version: start again.")
                yield session
                connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back by itself.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        except FileErrors as exc:
            match fault_of(exc):
                case "locked":
                    raise StoreLocked(f"The index {self.path} stayed locked by another process: try again.") from exc
                case "refused" | "full":
                    raise CannotWrite(
                        f"The index {self.path} cannot be written: check its rights and the space on its disk."
                    ) from exc
                case "foreign" | "damaged":
                    raise StoreCorrupt(f"The index {self.path} is damaged: delete it, it is then built anew.") from exc
            raise

    def _opened(self) -> sqlite3.Connection:
        if not can_be_written(self.path):
            return self._opened_as_it_stands()
        until = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                connection = connect(self.path, timeout_s=_BUSY_TIMEOUT_S)
            except OSError as exc:
                raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
            try:
                _prepare(connection)
            except _NotAnIndex:
                connection.close()
                self._put_aside()
            except FileErrors as exc:
                connection.close()
                # A file that may be written and is called read-only is being made anew by somebody else.
                is_moved = getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY
                fault = "locked" if is_moved else fault_of(exc)
                if fault not in ("locked", "foreign", "damaged") or time.monotonic() >= until:
                    raise
                if fault != "locked":
                    self._put_aside()
                time.sleep(_RETRY_PAUSE_S)
            else:
                return connection

    def _opened_as_it_stands(self) -> sqlite3.Connection:
        """Open an index that cannot be written, which is of use only if this version made it."""
        connection = connect_read_only(self.path)
        connection.row_factory = sqlite3.Row
        if not _is_ours(IndexSession(connection)):
            connection.close()
            raise CannotWrite(
                f"The index {self.path} was made by another version and cannot be written, so that it cannot be built "
                "anew: check the rights on it and its folder."
            )
        return connection

    def _put_aside(self) -> None:
        """Make room for a new index; what stood there may be something of the user's, so it is kept."""
        database, *rest = files_of(self.path)
        with suppress(FileNotFoundError):
            database.replace(database.with_name(f"{database.name}.damaged"))
        for file in rest:
            file.unlink(missing_ok=True)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    # A power cut may cost the last files read, never the index: they are read again.
    connection.execute("PRAGMA synchronous = NORMAL")
    if _is_ours(IndexSession(connection)):
        return
    connection.execute("BEGIN IMMEDIATE")
    session = IndexSession(connection)
    # Another process may have made it while this one waited.
    if not _is_ours(session):
        tables = session.rows("tables").fetchall()
        if tables and "maker" not in {row["name"] for row in tables}:
            raise _NotAnIndex
        virtual = [row for row in tables if str(row["sql"]).startswith("CREATE VIRTUAL TABLE")]
        # A vocabulary goes before the terms it reads, and terms take their own shadow tables along.
        for row in sorted(virtual, key=lambda row: str(row["name"]), reverse=True):
            connection.execute(f'DROP TABLE "{row["name"]}"')
        for row in session.rows("tables").fetchall():
            connection.execute(f'DROP TABLE "{row["name"]}"')
        for statement in _resource("schema.sql").split(";\n"):
            connection.execute(statement)
        session.add("sign", code=_maker())
    connection.execute("COMMIT")


def _is_ours(session: IndexSession) -> bool:
    try:
        row = session.one("maker")
    except sqlite3.OperationalError as exc:
        # There is no such table.
        if getattr(exc, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
            raise
        return False
    return row is not None and row["code"] == _maker()


def _resource(name: str) -> str:
    return files("deep_research.corpus").joinpath(name).read_text(encoding="utf-8")


@cache
def _maker() -> str:
    """Return what made an index, by its versions: offsets and terms of another version must not be mixed in."""
    own = (f"index/{INDEX_VERSION}", f"analyzer/{ANALYZER_VERSION}")
    return " ".join((*own, *all_extractors(), *(f"{name}/{package_version(name)}" for name in _PACKAGES)))
