"""Calls in flight and rate limits of services, for all processes that use one PostgreSQL.

A process asks for as many slots as its calls need, for all that wait at once, and hands them out by itself. What it
does not use it keeps for a moment, and then gives back. Slots of a process that is gone are free after `LEASE_S`.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deep_research.storage.database.port import Column, Row
from deep_research.web.net.slots import Gate

if TYPE_CHECKING:
    from deep_research.storage.database.postgres import PostgresDatabase

LEASE_S = 10.0
_RENEW_EVERY_S = 3.0
_KEEP_UNUSED_S = 0.5
# How soon a process that waits for slots of others looks again.
_POLL_INTERVAL_S = 0.25


@dataclass(eq=False)
class _ServiceState(Gate):
    """A service as this process sees it: `granted` is what the database gave it of the `most` that all share."""

    most: int = 0
    asked_at: float = 0.0
    has_news: bool = False

    @property
    def wanted(self) -> int:
        return min(max(self.most, self.used), self.used + len(self.waiting))

    def due_in_s(self) -> float:
        """Return when the database is to be asked again."""
        if self.has_news:
            return 0.0
        pause_s = _POLL_INTERVAL_S if self.waiting else _KEEP_UNUSED_S if self.granted > self.used else _RENEW_EVERY_S
        return self.asked_at + pause_s - time.monotonic()


class SharedLimiter:
    """The limits as one process sees them; used by all its threads and event loops."""

    def __init__(self, database: "PostgresDatabase") -> None:
        self._database = database
        self._holder = secrets.token_hex(8)
        self._services: dict[str, _ServiceState] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    @asynccontextmanager
    async def slot(self, service: str, most: int) -> AsyncIterator[None]:
        """Wait until fewer than `most` calls are under way to the service, and be one of them."""
        with self._lock:
            known = self._services.setdefault(service, _ServiceState(lock=self._lock))
            known.most = most
            waiter = known.join()
            if not waiter.has_slot:
                known.has_news = True
                self._wake()
        async with known.slot_of(waiter):
            yield

    async def reserve_slot(self, service: str, *, calls: int, per_s: float, within_s: float) -> float:
        """Return in how many seconds a call may begin; where that is more than `within_s`, it has no slot."""
        (row,) = await asyncio.to_thread(
            self._ask, "take_turn", service=service, calls=calls, per_s=per_s, within_s=max(0.0, within_s)
        )
        return float(row["wait_s"])

    async def pause(self, service: str, seconds: float) -> None:
        """Let no call begin for a while."""
        await asyncio.to_thread(self._ask, "pause", service=service, seconds=seconds)

    async def close(self) -> None:
        """Let go of the database, unless calls are under way; a later call opens it again."""
        await asyncio.to_thread(self._close)

    def _ask(self, query: str, **values: Column) -> list[Row]:
        with self._asking:
            return self._database.ask(query, **values)

    def _wake(self) -> None:
        self._news.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_asking, name="shared-limits", daemon=True)
            self._thread.start()

    def _keep_asking(self) -> None:
        while True:
            self._news.clear()
            for name, known in list(self._services.items()):
                if known.due_in_s() <= 0:
                    self._hold(name, known)
            with self._lock:
                busy = [known for known in self._services.values() if known.wanted or known.granted]
                if not busy:
                    self._services.clear()
                    self._thread = None
                    return
                pause_s = min(_KEEP_UNUSED_S, *(known.due_in_s() for known in busy))
            self._news.wait(max(0.0, pause_s))

    def _hold(self, name: str, known: _ServiceState) -> None:
        with self._lock:
            known.has_news = False
            values = {"used": known.used, "wanted": known.wanted, "most": known.most}
            # None of what is about to be given back may be handed out meanwhile.
            known.granted = min(known.granted, known.wanted)
        try:
            (row,) = self._ask("hold_slots", service=name, holder=self._holder, lease_s=LEASE_S, **values)
        except Exception as exc:  # Raised where a slot is waited for.
            with self._lock:
                known.asked_at = time.monotonic()
                while known.waiting:
                    grant = known.waiting.popleft().grant
                    if grant.set_running_or_notify_cancel():
                        grant.set_exception(exc)
            return
        with self._lock:
            known.asked_at, known.granted = time.monotonic(), int(row["granted"])
            known.hand_out()

    def _close(self) -> None:
        with self._lock:
            thread = None if any(known.wanted for known in self._services.values()) else self._thread
            for known in self._services.values():
                known.has_news = True
            self._news.set()
        if thread is not None:
            thread.join()
        with self._lock:
            is_idle = self._thread is None
        if is_idle:
            with self._asking:
                self._database.close()
