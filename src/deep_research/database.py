"""SQLite files: private to their owner, readable where nothing can be written, and what SQLite's errors mean.

Knows no tables; the store, the server, the index and the cache open their files here. Statements are
named in `queries.sql` of a package; the schemas of store and server are numbered `migrations` of theirs.
"""

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from deep_research.errors import NewerStore
from deep_research.private_files import HOME_FILES, make_folder, tighten_files

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


# The second is raised where SQLite quotes something damaged in its message.
FileErrors = (sqlite3.Error, UnicodeDecodeError)


def fault_of(error: Exception) -> Fault | None:
    """Return what is wrong with a file; None where it is our own misuse of the library."""
    if isinstance(error, UnicodeDecodeError):
        return "damaged"
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Python reports a column that is not UTF-8 this way.
        return "damaged" if isinstance(error, sqlite3.OperationalError) else None
    # Extended codes carry more in the higher bits.
    return _FAULTS.get(code & 0xFF, "damaged")


_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_MIGRATION = re.compile(r"^(\d{4})_\w+\.sql$")
OTHER_HOME = "set DEEP_RESEARCH_HOME to another folder"
# Two processes that open a new file at once: SQLite refuses the switch to WAL without waiting.
_RETRY_PAUSE_S = 0.01


@cache
def load_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """Return the statements of a package's file of queries by name."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: _COMMENT.sub("", body).strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


@cache
def load_migrations(package: str) -> dict[int, tuple[str, ...]]:
    """Return the statements of every migration of a package by the schema number they lead to, in order."""
    return {number: _statements(script) for number, script in load_scripts(package, "migrations").items()}


def load_scripts(package: str, folder: str) -> dict[int, str]:
    """Return the migrations of a package's folder by the schema number they lead to, in order."""
    present = files(package).joinpath(folder).iterdir()
    named = sorted((found[1], file) for file in present if (found := _MIGRATION.match(file.name)))
    return {int(number): file.read_text(encoding="utf-8") for number, file in named}


def _statements(script: str) -> tuple[str, ...]:
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
        with transaction(connection, "BEGIN IMMEDIATE"):
            # Another process may have migrated while this one waited.
            present = schema_number(connection)
            for number, statements in load_migrations(package).items():
                for statement in statements if number > present else ():
                    connection.execute(statement)
    if present > newest:
        raise NewerStore(
            f"{path} has schema {present}, this version of Deep Research knows {newest}: "
            f"upgrade Deep Research, or {OTHER_HOME}."
        )


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Keep all that is done meanwhile, or nothing of it, whatever breaks it off."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back by itself, and a disk that fails a write may fail this too.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """Return a database, its log and the index of its log."""
    return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def make_private(path: Path) -> None:
    """Make the folder of a database, and let only the owner read what is there of it."""
    make_folder(path.parent, ours=HOME_FILES)
    tighten_files(files_of(path))


def connect(path: Path, *, timeout_s: float, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a database for reading and writing, for its owner only, and make it where there is none."""
    make_private(path)
    connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=check_same_thread)
    # It is empty where it is new; SQLite gives its log the same rights. It is not opened by ourselves, because closing
    # it again would take the locks of every other connection of this process.
    tighten_files([path])
    return connection


def open_prepared(
    path: Path, prepare: Callable[[sqlite3.Connection], None], *, timeout_s: float, check_same_thread: bool = True
) -> sqlite3.Connection:
    """Open a database with a write-ahead log and prepare it, again for as long as another process is in the way."""
    until = time.monotonic() + timeout_s
    while True:
        connection = connect(path, timeout_s=timeout_s, check_same_thread=check_same_thread)
        try:
            with closed_on_failure(connection):
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA journal_mode = WAL")
                prepare(connection)
            return connection
        except FileErrors as exc:
            # A file that may be written and is called read-only is being made anew by somebody else.
            is_moved = getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY
            if not (is_moved or fault_of(exc) == "locked") or time.monotonic() >= until:
                raise
        time.sleep(_RETRY_PAUSE_S)


def can_be_written(path: Path) -> bool:
    """Return whether a database that is there can be written; one that is not there can be tried."""
    if not os.access(path, os.F_OK):
        return True
    # Another process that closes the database may take its log away between two looks.
    return all(os.access(file, os.W_OK) or not os.access(file, os.F_OK) for file in (path.parent, *files_of(path)))


def connect_read_only(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a database that cannot be written, as it stands; every attempt to change it is refused.

    What its log holds is read too: in place where the log's index is there, else from a private copy.
    """
    _, log, _ = files_of(path)
    if not os.access(log, os.F_OK) or log.stat().st_size == 0:
        return _opened(path, "mode=ro&immutable=1", check_same_thread=check_same_thread)
    try:
        return _opened(path, "mode=ro", check_same_thread=check_same_thread)
    except sqlite3.OperationalError as exc:
        if fault_of(exc) != "refused":
            raise
    return connect_copy(path, check_same_thread=check_same_thread)


def connect_copy(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a private copy of a database and its log, which is gone once the connection is closed."""
    with TemporaryDirectory(prefix="deep-research-", ignore_cleanup_errors=True) as folder:
        for file in files_of(path)[:2]:
            if os.access(file, os.F_OK):
                shutil.copyfile(file, Path(folder, file.name))
        copy = Path(folder, path.name)
        # Without its log it is one file, which stays readable after its name is gone.
        connection = sqlite3.connect(copy, isolation_level=None, check_same_thread=check_same_thread)
        with closed_on_failure(connection):
            connection.execute("PRAGMA journal_mode = MEMORY")
        return connection


def _opened(path: Path, options: str, *, check_same_thread: bool) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=check_same_thread)
    with closed_on_failure(connection):
        connection.execute("SELECT count(*) FROM sqlite_master")
    return connection


@contextmanager
def closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection that cannot be made ready."""
    try:
        yield
    except BaseException:
        connection.close()
        raise
