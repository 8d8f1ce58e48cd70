"""`Cache`: values that may be lost at any time, kept by kind and key until they expire or others need the room.

They lie in a file of the home, or in a PostgreSQL that several hosts share: what one has searched or fetched, another
need not. Whatever is wrong with the database, nothing is found in it, and no run fails. Times are those of the hosts.
"""

import asyncio
import logging
import math
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from deep_research.errors import CannotWrite, DeepResearchError, StoreCorrupt, StoreLocked
from deep_research.storage.database.port import Database, Session
from deep_research.storage.database.sqlite import Fault, SqliteFile, files_of

T = TypeVar("T")

# A database that could not be used is left alone for a while, so that not every value waits for it.
_REST_S = 5.0
# A use is noted no more often than that: most look-ups then write nothing.
_TOUCH_EVERY_S = 60.0
# What a row costs beside its value, about; and how full the cache is after the least used were removed.
_ROW_BYTES = 200
_FULL_ENOUGH = 0.9
# Summing up takes some milliseconds: a run does it with its first value, and each time it has added this share.
_CLEANUP_SHARE = 0.01
# In SQLite's own words, but for this.
_WORDS: Mapping[Fault, str] = {"damaged": "The cache {path} is damaged."}
_log = logging.getLogger(__name__)


class CacheFile(SqliteFile):
    """The file of a home; one that is damaged or of another version is made anew."""

    # A power cut may cost the last values, never the file.
    synchronous = "NORMAL"
    words = _WORDS

    def __init__(self, path: Path, *, busy_timeout_s: float = 2.0) -> None:
        super().__init__(path, busy_timeout_s=busy_timeout_s, package="deep_research.web.cache")

    def free_space(self) -> bool:
        for file in files_of(self.path):
            file.unlink(missing_ok=True)
        return True

    def _do(self, attempt: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return super()._do(attempt)
        except StoreCorrupt:
            self.close()
            self.free_space()
            return super()._do(attempt)

    def __del__(self) -> None:
        # One that nobody closed is closed when it is gone.
        self.close()


class Cache:
    """The values of a database, shared by all who use the same."""

    def __init__(self, database: Database, *, max_bytes: int, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._max_bytes, self._bytes_left = max_bytes, int(max_bytes * _FULL_ENOUGH)
        self._now = now
        self._lock = threading.Lock()
        self._rests_until_s = 0.0
        # What others have put is not known.
        self._unseen_bytes = math.inf

    @property
    def location(self) -> str:
        """Where the values are kept, in words for people."""
        return self._database.location

    async def get(self, kind: str, key: str) -> bytes | None:
        """Return a value, None where there is none that is still good."""

        def get() -> bytes | None:
            now = self._now()
            rows = self._database.ask("find", kind=kind, key=key, now=now)
            if not rows:
                return None
            if abs(now - rows[0]["used_at"]) > _TOUCH_EVERY_S:
                # Others may be in the way, or the file cannot be written.
                with suppress(StoreLocked, CannotWrite):
                    self._database.ask("touch", kind=kind, key=key, now=now)
            packed: bytes = rows[0]["value"]
            return packed

        return _unpacked(await asyncio.to_thread(self._safely, get, None))

    async def put(self, kind: str, key: str, value: bytes, ttl_s: float) -> None:
        """Keep a value for a time; one that would fill the whole cache is not kept."""

        def put() -> None:
            packed, now = zlib.compress(value, 3), self._now()
            cost = len(packed) + _ROW_BYTES

            def keep() -> None:
                self._database.ask("keep", kind=kind, key=key, expires_at=now + ttl_s, now=now, cost=cost, value=packed)
                self._unseen_bytes += cost
                if self._unseen_bytes >= self._max_bytes * _CLEANUP_SHARE:
                    self._database.write(lambda session: self._free_space(session, now))
                    self._unseen_bytes = 0

            if cost <= self._bytes_left:
                self._safely(keep, None)

        await asyncio.to_thread(put)

    async def size(self) -> int:
        """Return how many bytes are kept."""
        return await asyncio.to_thread(self._safely, lambda: self._database.read(_size), 0)

    async def clear(self) -> int:
        """Forget everything, and return how many bytes that were."""

        def drop_all(session: Session) -> int:
            freed = _size(session)
            session.run("drop_all")
            return freed

        def clear() -> int:
            freed = self._database.write(drop_all)
            self._database.release_free_space()
            return freed

        return await asyncio.to_thread(self._safely, clear, 0)

    async def close(self) -> None:
        """Let go of the database; a later use opens it again."""

        def close() -> None:
            with self._lock:
                self._database.close()

        await asyncio.to_thread(close)

    def _free_space(self, session: Session, now: float) -> None:
        """Where there is not enough space, drop what expired, then the least used."""
        # One process that frees space is enough.
        if not session.all("lock_room")[0]["is_ours"]:
            return
        if _size(session) > self._max_bytes:
            session.run("drop_expired", now=now)
        if _size(session) > self._max_bytes:
            session.run("drop_least_used", bytes_left=self._bytes_left)

    def _safely(self, work: Callable[[], T], otherwise: T) -> T:
        """Do the work, one thread at a time; where the database cannot be used, return the other answer."""
        with self._lock:
            if time.monotonic() < self._rests_until_s:
                return otherwise
            try:
                return work()
            except (OSError, DeepResearchError) as exc:
                self._database.close()
                self._rests_until_s = time.monotonic() + _REST_S
                _log.warning("The cache %s cannot be used just now: %s", self.location, exc)
                return otherwise


def _size(session: Session) -> int:
    return int(session.all("size")[0]["bytes"])


def _unpacked(packed: bytes | None) -> bytes | None:
    try:
        return None if packed is None else zlib.decompress(packed)
    except zlib.error:
        return None
