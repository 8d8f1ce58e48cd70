"""The cache in one SQLite file, shared by all runs and processes of a home."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final, TypeVar

from deep_research.cache.cache import Cache, CacheRow, Room
from deep_research.database import (
    FileErrors,
    can_be_written,
    closed_on_failure,
    connect_read_only,
    fault_of,
    files_of,
    load_queries,
    open_prepared,
    schema_number,
)

T = TypeVar("T")
Column = str | int | float | bytes

_SCHEMA: Final = 1


class _Foreign(Exception):
    """The file was made by another version of this code."""


class DiskCache(Cache):
    """The cache of a home."""

    def __init__(
        self, path: Path, *, max_bytes: int, now: Callable[[], float] = time.time, busy_timeout_s: float = 2.0
    ) -> None:
        super().__init__(_CacheFile(path, busy_timeout_s), max_bytes=max_bytes, now=now)
        self.path = path


class _CacheFile:
    """One connection, opened on first use; a file that is damaged or of another version is made anew."""

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None

    @property
    def place(self) -> str:
        return str(self._path)

    def find(self, kind: str, key: str, now: float) -> tuple[bytes, float] | None:
        row = self._do(lambda connection: _send(connection, "find", kind=kind, key=key, now=now).fetchone())
        return None if row is None else (row["value"], row["used_at"])

    def touch(self, kind: str, key: str, now: float) -> None:
        with suppress(sqlite3.OperationalError):
            _send(self._opened(), "touch", kind=kind, key=key, now=now)

    def keep(self, row: CacheRow, room: Room) -> None:
        def keep(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            _send(connection, "keep", **row._asdict())
            if _size(connection) > room.max_bytes:
                _send(connection, "drop_expired", now=row.now)
            if _size(connection) > room.max_bytes:
                _send(connection, "drop_least_used", bytes_left=room.bytes_left)
            connection.execute("COMMIT")

        self._do(keep)

    def size(self) -> int:
        return self._do(_size)

    def clear(self) -> int:
        return self._do(_clear)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # A cache that nobody closed closes its file when it is gone.
    __del__ = close

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._opened())
        except _Foreign:
            pass
        except FileErrors as exc:
            if fault_of(exc) not in ("foreign", "damaged"):
                raise
        self.close()
        for file in files_of(self._path):
            file.unlink(missing_ok=True)
        return work(self._opened())

    def _opened(self) -> sqlite3.Connection:
        # The cache sees to it that only one thread at a time uses it.
        if self._connection is None:
            if can_be_written(self._path):
                self._connection = open_prepared(
                    self._path, _prepare, timeout_s=self._busy_timeout_s, check_same_thread=False
                )
            else:
                self._connection = self._opened_as_it_stands()
        return self._connection

    def _opened_as_it_stands(self) -> sqlite3.Connection:
        connection = connect_read_only(self._path, check_same_thread=False)
        with closed_on_failure(connection):
            connection.row_factory = sqlite3.Row
            if schema_number(connection) != _SCHEMA:
                raise _Foreign
        return connection


def _prepare(connection: sqlite3.Connection) -> None:
    # A power cut may cost the last values, never the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    if schema_number(connection) == _SCHEMA:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have made it meanwhile.
    if schema_number(connection) == 0:
        schema = files("deep_research.cache").joinpath("schema.sql").read_text(encoding="utf-8")
        for statement in schema.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_SCHEMA}")
    if schema_number(connection) != _SCHEMA:
        raise _Foreign
    connection.execute("COMMIT")


def _size(connection: sqlite3.Connection) -> int:
    size: int = _send(connection, "size").fetchone()["bytes"]
    return size


def _clear(connection: sqlite3.Connection) -> int:
    freed = _size(connection)
    _send(connection, "drop_all")
    # The disk gets its room back, unless another process is in the middle of something.
    with suppress(sqlite3.OperationalError):
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return freed


def _send(connection: sqlite3.Connection, query: str, **values: Column) -> sqlite3.Cursor:
    return connection.execute(load_queries("deep_research.cache")[query], values)
