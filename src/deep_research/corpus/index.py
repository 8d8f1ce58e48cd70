"""The index file: opening, making it anew when other code made it, transactions, and SQLite's errors as ours."""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from deep_research.errors import CannotWrite, DeepResearchError, StoreCorrupt, StoreLocked
from deep_research.value import digest

Column = str | int | float | bytes | None

_BUSY_TIMEOUT_S = 30.0
# Two processes that open a new file at once: SQLite refuses the switch to WAL without waiting.
_RETRY_PAUSE_S = 0.01
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
)
_DAMAGED = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_MAKING = ("deep_research.text", "deep_research.readers", "deep_research.corpus")
_LIBRARIES = tuple(
    "opencc snowballstemmer PyStemmer pypdfium2 python-docx python-pptx openpyxl trafilatura lxml".split()
)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class _NotAnIndex(Exception):
    """The file is a database of something else."""


class Session:
    """One transaction of the index; `folder` is the number of the folder it works on."""

    def __init__(self, connection: sqlite3.Connection, folder: int = 0) -> None:
        self._connection = connection
        self.folder = folder

    def rows(self, query: str, **values: Column) -> sqlite3.Cursor:
        """Return the rows of a named query, one after the other."""
        statement = _queries()[query].replace("{folder}", str(self.folder))
        return self._connection.execute(statement, {"folder": self.folder, **values})

    def one(self, query: str, **values: Column) -> sqlite3.Row | None:
        """Return the first row of a named query, if there is one."""
        row: sqlite3.Row | None = self.rows(query, **values).fetchone()
        return row

    def add(self, query: str, **values: Column) -> int:
        """Send an insertion and return the number of the new row."""
        return self.rows(query, **values).lastrowid or 0


class Index:
    """One connection to the index file, opened on first use; it belongs to the thread that uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def reading(self, folder: int = 0) -> Iterator[Session]:
        """Give one unchanging view of the index."""
        with self._transaction("BEGIN", folder) as session:
            yield session

    @contextmanager
    def writing(self, folder: int = 0) -> Iterator[Session]:
        """Give the only writer's turn; all of it is kept, or nothing."""
        with self._transaction("BEGIN IMMEDIATE", folder) as session:
            yield session

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str, folder: int) -> Iterator[Session]:
        with self._our_errors():
            if self._connection is None:
                self._connection = self._opened()
            connection = self._connection
            connection.execute(begin)
            try:
                session = Session(connection, folder)
                if not _is_ours(session):
                    raise StoreCorrupt(f"The index {self.path} was taken over by another version: start again.")
                yield session
                connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back by itself.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
        until = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            try:
                _prepare(connection)
            except _NotAnIndex:
                connection.close()
                self._put_aside()
            except sqlite3.Error as exc:
                connection.close()
                code = _code(exc)
                if code in _DAMAGED:
                    self._put_aside()
                elif code not in _LOCKED or time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)
            else:
                return connection

    def _put_aside(self) -> None:
        """Make room for a new index; what stood there may be something of the user's, so it is kept."""
        with suppress(FileNotFoundError):
            self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            ours = self._translated(_code(exc))
            if ours is None:
                raise
            raise ours from exc

    def _translated(self, code: int) -> DeepResearchError | None:
        if code in _LOCKED:
            return StoreLocked(f"The index {self.path} stayed locked by another process: try again.")
        if code in _UNWRITABLE:
            return CannotWrite(f"The index {self.path} cannot be written: check its rights and the space on its disk.")
        if code in _DAMAGED:
            return StoreCorrupt(f"The index {self.path} is damaged: delete it, it is then built anew.")
        return None


def _prepare(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    # A power cut may cost the last files read, never the index: they are read again.
    connection.execute("PRAGMA synchronous = NORMAL")
    if _is_ours(Session(connection)):
        return
    connection.execute("BEGIN IMMEDIATE")
    session = Session(connection)
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
        for statement in _schema():
            connection.execute(statement)
        session.add("sign", code=_maker())
    connection.execute("COMMIT")


def _is_ours(session: Session) -> bool:
    try:
        row = session.one("maker")
    except sqlite3.OperationalError as exc:
        if _code(exc) != sqlite3.SQLITE_ERROR:
            raise
        return False
    return row is not None and row["code"] == _maker()


def _code(error: sqlite3.Error) -> int:
    # Extended codes carry more in the higher bits.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@cache
def _queries() -> dict[str, str]:
    parts = _NAME.split(_resource("queries.sql"))
    return dict(zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True))


def _schema() -> list[str]:
    return [statement for statement in _resource("schema.sql").split(";\n") if statement.strip()]


def _resource(name: str) -> str:
    return files("deep_research.corpus").joinpath(name).read_text(encoding="utf-8")


@cache
def _maker() -> str:
    """Return a name for the code that reads and cuts files: offsets and terms of other code must not be mixed in."""
    sources = [
        (file.name, file.read_text(encoding="utf-8"))
        for package in _MAKING
        for file in sorted(files(package).iterdir(), key=lambda file: file.name)
        if file.name.endswith((".py", ".sql"))
    ]
    return digest(sources, [_version(name) for name in _LIBRARIES])


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
