"""The cache in a PostgreSQL that several hosts share: what one has searched or fetched, another need not.

Each run uses one connection at a time of those that the process has anyway. Times are those of the hosts.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from deep_research.cache.cache import CacheRow, Room
from deep_research.errors import StoreCorrupt
from deep_research.store.postgres import PostgresDatabase
from deep_research.store.sql import Session

# Summing up takes some milliseconds: a run does it with its first value, and each time it has put so much of the room.
_LOOK_AFTER_SHARE = 0.01


class PostgresCacheTable:
    """The table of the cache in a database, which is opened on first use."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        # What others have put is not known.
        self._unseen_bytes = math.inf

    @property
    def place(self) -> str:
        return self._database.place

    def find(self, kind: str, key: str, now: float) -> tuple[bytes, float] | None:
        with _our_errors():
            rows = self._database.ask("find", kind=kind, key=key, now=now)
        return (rows[0]["value"], rows[0]["used_at"]) if rows else None

    def touch(self, kind: str, key: str, now: float) -> None:
        with _our_errors():
            self._database.ask("touch", kind=kind, key=key, now=now)

    def keep(self, row: CacheRow, room: Room) -> None:
        def make_room(session: Session) -> None:
            # One that makes room is enough.
            if not session.all("lock_room")[0]["is_ours"]:
                return
            if _size(session) > room.max_bytes:
                session.run("drop_expired", now=row.now)
            if _size(session) > room.max_bytes:
                session.run("drop_least_used", bytes_left=room.bytes_left)

        with _our_errors():
            self._database.ask("keep", **row._asdict())
            self._unseen_bytes += row.cost
            if self._unseen_bytes >= room.max_bytes * _LOOK_AFTER_SHARE:
                self._database.write(make_room)
                self._unseen_bytes = 0

    def size(self) -> int:
        with _our_errors():
            return self._database.read(_size)

    def clear(self) -> int:
        def clear(session: Session) -> int:
            freed = _size(session)
            session.run("drop_all")
            return freed

        with _our_errors():
            return self._database.write(clear)

    def close(self) -> None:
        self._database.close()


def _size(session: Session) -> int:
    return int(session.all("size")[0]["bytes"])


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as exc:
        raise StoreCorrupt(f"its tables are not as they should be ({type(exc).__name__})") from exc
