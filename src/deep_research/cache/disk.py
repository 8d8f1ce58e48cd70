"""`DiskCache`: one SQLite file of values that may be lost at any time, shared by all runs and processes of a home.

Whatever is wrong with the file, nothing is found in it, and no run fails.
"""

import asyncio
import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final, TypeVar

from deep_research.database import (
    FileErrors,
    can_be_written,
    connect,
    connect_read_only,
    fault_of,
    files_of,
    load_queries,
)

T = TypeVar("T")
Column = str | int | float | bytes

_SCHEMA: Final = 1
# Two processes that open a new file at once: SQLite refuses the switch to WAL without waiting.
_RETRY_PAUSE_S: Final = 0.01
# A file that could not be used is left alone for a while, so that not every value waits for it.
_REST_S: Final = 5.0
# A use is noted no more often than that: most look-ups then write nothing.
_TOUCH_EVERY_S: Final = 60.0
# What a row costs beside its value, about; and how full the cache is after the least used have made room.
_ROW_BYTES: Final = 200
_FULL_ENOUGH: Final = 0.9
_log = logging.getLogger(__name__)


class _Foreign(Exception):
    """The file was made by another version of this code."""


class DiskCache:
    """Keeps values by kind and key until they expire or others need the room."""

    def __init__(
        self, path: Path, *, max_bytes: int, now: Callable[[], float] = time.time, busy_timeout_s: float = 2.0
    ) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._max_bytes = max_bytes
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._rests_until_s = 0.0

    async def get(self, kind: str, key: str) -> bytes | None:
        """Return a value, None where there is none that is still good."""
        return await asyncio.to_thread(self._safely, lambda connection: self._find(connection, kind, key), None)

    async def put(self, kind: str, key: str, value: bytes, ttl_s: float) -> None:
        """Keep a value for a time; one that would fill the whole cache is not kept."""

        def put(connection: sqlite3.Connection) -> None:
            packed = zlib.compress(value, 3)
            if len(packed) + _ROW_BYTES <= self._max_bytes * _FULL_ENOUGH:
                self._keep(connection, kind, key, packed, ttl_s)

        await asyncio.to_thread(self._safely, put, None)

    async def size(self) -> int:
        """Return how many bytes are kept."""
        return await asyncio.to_thread(self._safely, _size, 0)

    async def clear(self) -> int:
        """Forget everything, and return how many bytes that were."""
        return await asyncio.to_thread(self._safely, _clear, 0)

    async def close(self) -> None:
        """Close the file; a later use opens it again."""
        await asyncio.to_thread(self._close)

    def _find(self, connection: sqlite3.Connection, kind: str, key: str) -> bytes | None:
        now = self._now()
        row = _send(connection, "find", kind=kind, key=key, now=now).fetchone()
        if row is None:
            return None
        packed, used_at = row
        if abs(now - used_at) > _TOUCH_EVERY_S:
            # Others may be writing; the value is none the worse for it.
            with suppress(sqlite3.OperationalError):
                _send(connection, "touch", kind=kind, key=key, now=now)
        try:
            return zlib.decompress(packed)
        except zlib.error:
            return None

    def _keep(self, connection: sqlite3.Connection, kind: str, key: str, packed: bytes, ttl_s: float) -> None:
        now, cost = self._now(), len(packed) + _ROW_BYTES
        connection.execute("BEGIN IMMEDIATE")
        _send(connection, "keep", kind=kind, key=key, expires_at=now + ttl_s, now=now, bytes=cost, value=packed)
        if _size(connection) > self._max_bytes:
            _send(connection, "drop_expired", now=now)
        if _size(connection) > self._max_bytes:
            _send(connection, "drop_least_used", room=int(self._max_bytes * _FULL_ENOUGH))
        connection.execute("COMMIT")

    def _safely(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do the work on the open file, once more on a new one where it is damaged; else return the other answer."""
        with self._lock:
            if time.monotonic() < self._rests_until_s:
                return otherwise
            try:
                return self._do(work)
            except (*FileErrors, OSError) as exc:
                self._drop_connection()
                self._rests_until_s = time.monotonic() + _REST_S
                _log.warning("The cache %s cannot be used just now: %s", self.path, exc)
                return otherwise

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._opened())
        except _Foreign:
            pass
        except FileErrors as exc:
            if fault_of(exc) not in ("foreign", "damaged"):
                raise
        self._drop_connection()
        for file in files_of(self.path):
            file.unlink(missing_ok=True)
        return work(self._opened())

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # The lock sees to it that only one thread at a time uses it.
            is_writable = can_be_written(self.path)
            if is_writable:
                connection = connect(self.path, timeout_s=self._busy_timeout_s, check_same_thread=False)
            else:
                connection = connect_read_only(self.path, check_same_thread=False)
            try:
                if is_writable:
                    _prepare(connection, self._busy_timeout_s)
                elif _version(connection) != _SCHEMA:
                    raise _Foreign
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        with self._lock:
            self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # A cache that nobody closed closes its file when it is gone.
    __del__ = _drop_connection


def _prepare(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    until = time.monotonic() + busy_timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as exc:
            if fault_of(exc) != "locked" or time.monotonic() >= until:
                raise
            time.sleep(_RETRY_PAUSE_S)
    # A power cut may cost the last values, never the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) == _SCHEMA:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have made it meanwhile.
    if _version(connection) == 0:
        for statement in _resource("schema.sql").split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_SCHEMA}")
    if _version(connection) != _SCHEMA:
        raise _Foreign
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def _size(connection: sqlite3.Connection) -> int:
    size: int = _send(connection, "size").fetchone()[0]
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


def _resource(name: str) -> str:
    return files("deep_research.cache").joinpath(name).read_text(encoding="utf-8")
