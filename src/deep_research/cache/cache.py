"""`Cache`: values that may be lost at any time, kept by kind and key until they expire or others need the room.

Knows no database. Whatever is wrong with the one that holds the values, nothing is found in it, and no run fails.
"""

import asyncio
import logging
import threading
import time
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeVar

from deep_research.database import FileErrors
from deep_research.errors import DeepResearchError

T = TypeVar("T")

# A database that could not be used is left alone for a while, so that not every value waits for it.
_REST_S: Final = 5.0
# A use is noted no more often than that: most look-ups then write nothing.
_TOUCH_EVERY_S: Final = 60.0
# What a row costs beside its value, about; and how full the cache is after the least used have made room.
_ROW_BYTES: Final = 200
_FULL_ENOUGH: Final = 0.9
_log = logging.getLogger(__name__)


class CacheRow(NamedTuple):
    """A value as it is put, compressed; times are seconds since 1970, `cost` is how many bytes the row takes."""

    kind: str
    key: str
    expires_at: float
    now: float
    cost: int
    value: bytes


class Room(NamedTuple):
    """How many bytes the rows may take, and how many are left once the least used have made room."""

    max_bytes: int
    bytes_left: int


class CacheTable(Protocol):
    """The rows in a database; used by one thread at a time."""

    @property
    def place(self) -> str:
        """Where the database is, in words for people: never with a password."""
        ...

    def find(self, kind: str, key: str, now: float) -> tuple[bytes, float] | None:
        """Return a value that has not expired and when it was used last, if there is one."""
        ...

    def touch(self, kind: str, key: str, now: float) -> None:
        """Note that a value was used, unless others are in the way."""
        ...

    def keep(self, row: CacheRow, room: Room) -> None:
        """Keep a value in place of an older one; where there is no room, what expired goes, then the least used."""
        ...

    def size(self) -> int:
        """Return how many bytes the rows take."""
        ...

    def clear(self) -> int:
        """Remove all rows, and return how many bytes they took."""
        ...

    def close(self) -> None:
        """Release what is held; a later use opens it again."""
        ...


class Cache:
    """The values of a table, shared by all who use the same database."""

    def __init__(self, table: CacheTable, *, max_bytes: int, now: Callable[[], float] = time.time) -> None:
        self._table = table
        self._room = Room(max_bytes, int(max_bytes * _FULL_ENOUGH))
        self._now = now
        self._lock = threading.Lock()
        self._rests_until_s = 0.0

    @property
    def place(self) -> str:
        """Where the values are kept, in words for people."""
        return self._table.place

    async def get(self, kind: str, key: str) -> bytes | None:
        """Return a value, None where there is none that is still good."""

        def get(table: CacheTable) -> bytes | None:
            now = self._now()
            found = table.find(kind, key, now)
            if found is None:
                return None
            packed, used_at = found
            if abs(now - used_at) > _TOUCH_EVERY_S:
                table.touch(kind, key, now)
            return packed

        return _unpacked(await asyncio.to_thread(self._safely, get, None))

    async def put(self, kind: str, key: str, value: bytes, ttl_s: float) -> None:
        """Keep a value for a time; one that would fill the whole cache is not kept."""

        def put() -> None:
            packed, now = zlib.compress(value, 3), self._now()
            row = CacheRow(kind, key, now + ttl_s, now, len(packed) + _ROW_BYTES, packed)
            if row.cost <= self._room.bytes_left:
                self._safely(lambda table: table.keep(row, self._room), None)

        await asyncio.to_thread(put)

    async def size(self) -> int:
        """Return how many bytes are kept."""
        return await asyncio.to_thread(self._safely, lambda table: table.size(), 0)

    async def clear(self) -> int:
        """Forget everything, and return how many bytes that were."""
        return await asyncio.to_thread(self._safely, lambda table: table.clear(), 0)

    async def close(self) -> None:
        """Let go of the database; a later use opens it again."""

        def close() -> None:
            with self._lock:
                self._table.close()

        await asyncio.to_thread(close)

    def _safely(self, work: Callable[[CacheTable], T], otherwise: T) -> T:
        """Do the work, one thread at a time; where the database cannot be used, return the other answer."""
        with self._lock:
            if time.monotonic() < self._rests_until_s:
                return otherwise
            try:
                return work(self._table)
            except (*FileErrors, OSError, DeepResearchError) as exc:
                self._table.close()
                self._rests_until_s = time.monotonic() + _REST_S
                _log.warning("The cache %s cannot be used just now: %s", self.place, exc)
                return otherwise


def _unpacked(packed: bytes | None) -> bytes | None:
    try:
        return None if packed is None else zlib.decompress(packed)
    except zlib.error:
        return None
