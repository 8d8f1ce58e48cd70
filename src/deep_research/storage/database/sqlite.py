"""SQLite files: private to their owner, readable where nothing can be written, and SQLite's errors as ours.

Knows no tables. A file is opened on first use and brought up to date by the migrations of a package; a subclass may
make it ready in another way, and say what becomes of one that is damaged.
"""

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

from deep_research.errors import CannotWrite, DeepResearchError, InputError, NewerStore, StoreCorrupt, StoreLocked
from deep_research.storage.database.checksums import maintain_checksums, register_checksum
from deep_research.storage.database.port import Column, Row, Session
from deep_research.storage.database.queries import load_queries, load_scripts
from deep_research.storage.private_files import HOME_FILES, make_folder, tighten_files

T = TypeVar("T")
# `locked`: another process has it. `refused`: its rights, or a disk that cannot be written. `full`: no room, or a disk
# that fails. `foreign`: no database. `damaged`: everything else, for nothing that we send is wrong by itself.
Fault = Literal["locked", "refused", "full", "foreign", "damaged"]

_FAULTS: dict[int, Fault] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_READONLY: "refused",
    sqlite3.SQLITE_PERM: "refused",
    sqlite3.SQLITE_CANTOPEN: "refused",
    sqlite3.SQLITE_AUTH: "refused",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_IOERR: "full",
    sqlite3.SQLITE_NOTADB: "foreign",
}
_ERRORS: dict[Fault, type[DeepResearchError]] = {
    "locked": StoreLocked,
    "refused": CannotWrite,
    "full": CannotWrite,
    "foreign": StoreCorrupt,
    "damaged": StoreCorrupt,
}
_OTHER_HOME = "set DEEP_RESEARCH_HOME to another folder"
_STORE_WORDS: Mapping[Fault, str] = {
    "locked": "The store {path} stayed locked by another process: try again, or end that process.",
    "refused": "The store {path} cannot be opened for writing: check the rights on it and its folder.",
    "full": "The store {path} cannot be written: free space on its disk, or check the disk.",
    "foreign": f"{{path}} is not a store of Deep Research: move it away, or {_OTHER_HOME}.",
    "damaged": f"The store {{path}} is damaged: restore it from a copy, or {_OTHER_HOME}.",
}
# A number in the name of a table cannot be a parameter.
_TABLE_NUMBER = re.compile(r"\{(\w+)\}")
# SQLite answers some conflicts (switching to WAL, a log being cleaned up) without waiting for its own busy timeout.
_RETRY_PAUSE_S = 0.01


def _fault_of(error: Exception) -> Fault | None:
    """Return what is wrong with a file; None where it is our own misuse of the library."""
    if isinstance(error, UnicodeDecodeError):
        return "damaged"
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Python reports a column that is not UTF-8 this way.
        return "damaged" if isinstance(error, sqlite3.OperationalError) else None
    # Extended codes carry more in the higher bits.
    return _FAULTS.get(code & 0xFF, "damaged")


@cache
def load_migrations(package: str) -> dict[int, tuple[str, ...]]:
    """Return the statements of every migration of a package by the schema number they lead to, in order."""
    return {number: statements_of(script) for number, script in load_scripts(package, "migrations").items()}


def statements_of(script: str) -> tuple[str, ...]:
    """Return the statements of a script one by one."""
    statements, pending = [], ""
    for line in script.splitlines():
        pending += line + "\n"
        if line.rstrip().endswith(";") and sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    if pending.strip():
        raise ValueError("a migration ends inside a statement")
    return tuple(statements)


def schema_number(connection: sqlite3.Connection) -> int:
    """Return the number of the last migration that a database has seen."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def migrate(connection: sqlite3.Connection, path: Path, package: str) -> None:
    """Bring a database up to the newest schema of a package, all the way or not at all; refuse one that is newer."""
    newest, present = max(load_migrations(package)), schema_number(connection)
    if present < newest:
        with transaction(connection):
            # Another process may have migrated while this one waited.
            present = schema_number(connection)
            for number, statements in load_migrations(package).items():
                for statement in statements if number > present else ():
                    connection.execute(statement)
    if present > newest:
        raise NewerStore(
            f"{path} has schema {present}, this version of Deep Research knows {newest}: "
            f"upgrade Deep Research, or {_OTHER_HOME}."
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Keep all that is done meanwhile as the only writer, or nothing of it, whatever breaks it off."""
    connection.execute("BEGIN IMMEDIATE")
    with _undone_on_failure(connection):
        yield
        connection.execute("COMMIT")


@contextmanager
def _undone_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    finally:
        # A disk that fails a write may fail this too.
        with suppress(sqlite3.Error):
            connection.rollback()


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """Return a database, its log and the index of its log."""
    return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def connect(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Open a database for reading and writing, for its owner only, and make it where there is none."""
    make_folder(path.parent, ours=HOME_FILES)
    tighten_files(files_of(path))
    connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    # It is empty where it is new; SQLite gives its log the same rights. It is not opened by ourselves, because closing
    # it again would take the locks of every other connection of this process.
    tighten_files([path])
    return connection


def _can_be_written(path: Path) -> bool:
    """Return whether a database that is there can be written; one that is not there can be tried."""
    if not os.access(path, os.F_OK):
        return True
    # Another process that opens or closes the database may make its log or take it away between two looks.
    return all(
        os.access(file, os.W_OK) or not os.access(file, os.F_OK) or os.access(file, os.W_OK)
        for file in (path.parent, *files_of(path))
    )


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a database that cannot be written, as it stands; every attempt to change it is refused.

    What its log holds is read too: in place where the log's index is there, else from a private copy.
    """
    _, log, _ = files_of(path)
    if not os.access(log, os.F_OK) or log.stat().st_size == 0:
        return _connect_as_it_stands(path, "mode=ro&immutable=1")
    try:
        return _connect_as_it_stands(path, "mode=ro")
    except sqlite3.OperationalError as exc:
        if _fault_of(exc) != "refused":
            raise
    return _connect_copy(path)


def _connect_copy(path: Path) -> sqlite3.Connection:
    """Open a private copy of a database and its log, which is gone once the connection is closed."""
    with TemporaryDirectory(prefix="deep-research-", ignore_cleanup_errors=True) as folder:
        for file in files_of(path)[:2]:
            if os.access(file, os.F_OK):
                shutil.copyfile(file, Path(folder, file.name))
        copy = Path(folder, path.name)
        # Without its log it is one file, which stays readable after its name is gone.
        connection = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
        with _closed_on_failure(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = MEMORY")
        return connection


def _connect_as_it_stands(path: Path, options: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    with _closed_on_failure(connection):
        connection.row_factory = sqlite3.Row
        connection.execute("SELECT count(*) FROM sqlite_master")
    return connection


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection that cannot be made ready."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


class SqliteSession(Session):
    """One transaction of a file."""

    trusts_indexes = False

    def __init__(self, file: "SqliteFile", connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._queries = load_queries(file.package)
        self.location = file.location

    def all(self, query: str, **values: Column) -> list[Row]:
        with self._file.our_errors():
            return list(self._connection.execute(self._statement(query, values), values).fetchall())

    def run(self, query: str, **values: Column) -> int:
        with self._file.our_errors():
            return self._connection.execute(self._statement(query, values), values).rowcount

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        listed = list(rows)
        if listed:
            with self._file.our_errors():
                self._connection.executemany(self._statement(query, listed[0]), listed)

    def clock_ahead_s(self) -> float:
        """Return 0: a file has no clock, and those who use it are on one machine."""
        return 0.0

    def corrupt(self) -> StoreCorrupt:
        return self._file.corrupt()

    def _statement(self, query: str, values: Mapping[str, Column]) -> str:
        return _TABLE_NUMBER.sub(lambda name: str(values[name[1]]), self._queries[query])


class SqliteFile:
    """One connection, opened on first use; whoever uses it sees to it that one thread at a time does."""

    words: Mapping[Fault, str] = _STORE_WORDS
    synchronous: Literal["FULL", "NORMAL"] = "FULL"

    def __init__(
        self, path: Path, *, busy_timeout_s: float = 30.0, package: str = "deep_research.storage.store"
    ) -> None:
        self.path = path
        self.location = str(path)
        self.package = package
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None

    def read(self, work: Callable[[Session], T]) -> T:
        return self._do(lambda connection: self._patiently(lambda: self._transact(connection, "BEGIN", work)))

    def write(self, work: Callable[[Session], T]) -> T:
        return self._do(lambda connection: self._transact(connection, "BEGIN IMMEDIATE", work))

    def ask(self, query: str, **values: Column) -> list[Row]:
        return self._do(
            lambda connection: self._patiently(lambda: SqliteSession(self, connection).all(query, **values))
        )

    def release_free_space(self) -> None:
        with suppress(StoreLocked, CannotWrite):
            self._send(self._opened(), "VACUUM")
            self._send(self._opened(), "PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def our_errors(self) -> Iterator[None]:
        """Tell what SQLite raises in words of ours, or in its own where we have none."""
        try:
            yield
        except UnicodeEncodeError as exc:
            raise InputError("An address, a section or another name is not valid Unicode: rename it.") from exc
        # The second is raised where SQLite quotes something damaged in its message.
        except (sqlite3.Error, UnicodeDecodeError) as exc:
            fault = _fault_of(exc)
            if fault is None:
                raise
            raise _ERRORS[fault](self.words.get(fault, "{error}").format(path=self.path, error=exc)) from exc

    def corrupt(self) -> StoreCorrupt:
        """Return what is said of a file that is damaged."""
        return StoreCorrupt(self.words["damaged"].format(path=self.path))

    def make_ready(self, connection: sqlite3.Connection) -> None:
        """Make a file ready for writing that another process may make ready at the same time."""
        connection.execute("PRAGMA foreign_keys = ON")
        self._bring_up_to_date(connection)
        maintain_checksums(connection)

    def ready_as_it_stands(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Return what a file is read by that cannot be written; every write is refused."""
        if schema_number(connection) < max(load_migrations(self.package)):
            # What an older version wrote is read from a copy, which can be brought up to date.
            connection.close()
            connection = _connect_copy(self.path)
        with _closed_on_failure(connection):
            self._bring_up_to_date(connection)
            connection.execute("PRAGMA query_only = ON")
        return connection

    def free_space(self) -> bool:
        """Put a file out of the way that is damaged or no use to us, and return whether that was done."""
        return False

    def _do(self, attempt: Callable[[sqlite3.Connection], T]) -> T:
        return attempt(self._opened())

    def _transact(self, connection: sqlite3.Connection, begin: str, work: Callable[[Session], T]) -> T:
        self._patiently(lambda: self._send(connection, begin))
        with _undone_on_failure(connection):
            result = work(SqliteSession(self, connection))
            self._send(connection, "COMMIT")
        return result

    def _send(self, connection: sqlite3.Connection, statement: str) -> None:
        with self.our_errors():
            connection.execute(statement)

    def _opened(self) -> sqlite3.Connection:
        until = time.monotonic() + self._busy_timeout_s
        while self._connection is None:
            try:
                with self.our_errors():
                    self._connection = self._open() if _can_be_written(self.path) else self._open_as_it_stands()
            except (StoreLocked, CannotWrite) as exc:
                # A file that may be written and is called read-only is being made anew by somebody else.
                is_moved = getattr(exc.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY
                if not (is_moved or isinstance(exc, StoreLocked)) or time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)
            except (StoreCorrupt, NewerStore):
                if time.monotonic() >= until or not _can_be_written(self.path) or not self.free_space():
                    raise
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            connection = connect(self.path, timeout_s=self._busy_timeout_s)
        except OSError as exc:
            raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
        with _closed_on_failure(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            self.make_ready(connection)
        return connection

    def _open_as_it_stands(self) -> sqlite3.Connection:
        connection = connect_read_only(self.path)
        with _closed_on_failure(connection):
            return self.ready_as_it_stands(connection)

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        register_checksum(connection)
        migrate(connection, self.path, self.package)
        if _layout_of(connection) != _own_layout(self.package):
            raise self.corrupt()

    def _patiently(self, attempt: Callable[[], T]) -> T:
        until = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return attempt()
            except StoreLocked:
                if time.monotonic() >= until:
                    raise
                time.sleep(_RETRY_PAUSE_S)


@cache
def _own_layout(package: str) -> dict[str, list[tuple[Column, ...]]]:
    """Return the tables and columns that the migrations make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        register_checksum(connection)
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
