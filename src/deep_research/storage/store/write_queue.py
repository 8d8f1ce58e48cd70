"""Writes that come while a database is busy are kept together, with one wait for its disk."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deep_research.errors import CannotWrite, StoreCorrupt, StoreLocked
from deep_research.storage.database.port import Database, Session

T = TypeVar("T")

_MAX_BATCH = 64


@dataclass(frozen=True)
class _Write:
    """One piece of work; `in_own_transaction` means that it must not be done twice or undone for another."""

    work: Callable[[Session], Any]
    in_own_transaction: bool
    done: Future[Any] = field(default_factory=Future)


class WriteQueue:
    """Hands writes to the thread that owns the database, in the order in which they came."""

    def __init__(self, database: Database, thread: ThreadPoolExecutor) -> None:
        self._database = database
        self._thread = thread
        self._waiting: deque[_Write] = deque()
        self._lock = threading.Lock()

    async def write(self, work: Callable[[Session], T], *, in_own_transaction: bool = False) -> T:
        """Do the work in a transaction; return once it is on the disk."""
        write = _Write(work, in_own_transaction)
        with self._lock:
            self._waiting.append(write)
        # Whoever comes to the thread first takes along what waits by then; the others find nothing left to do.
        self._thread.submit(self._keep_waiting)
        result: T = await asyncio.wrap_future(write.done)
        return result

    def _keep_waiting(self) -> None:
        wanted = [write for write in self._next_batch() if write.done.set_running_or_notify_cancel()]
        if len(wanted) > 1:
            try:
                results = self._database.write(lambda session: [write.work(session) for write in wanted])
            except (StoreLocked, CannotWrite, StoreCorrupt) as exc:
                # What is wrong with it is wrong for all; one after the other, they would wait for a lock in turn.
                for write in wanted:
                    write.done.set_exception(exc)
                return
            except Exception:  # Nothing was kept; each is tried by itself, and raises its own failure.
                results = []
            for write, result in zip(wanted, results, strict=False):
                write.done.set_result(result)
            wanted = wanted[len(results) :]
        for write in wanted:
            try:
                write.done.set_result(self._database.write(write.work))
            except Exception as exc:  # Raised where the write is waited for.
                write.done.set_exception(exc)

    def _next_batch(self) -> list[_Write]:
        with self._lock:
            batch: list[_Write] = []
            while self._waiting and len(batch) < _MAX_BATCH:
                if batch and (batch[-1].in_own_transaction or self._waiting[0].in_own_transaction):
                    break
                batch.append(self._waiting.popleft())
            return batch
