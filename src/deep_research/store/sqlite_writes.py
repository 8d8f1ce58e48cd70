"""Writes to one SQLite file: those that come while the disk is busy are kept together, with one wait for the disk."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deep_research.errors import CannotWrite, StoreCorrupt, StoreLocked
from deep_research.store.sqlite_file import Session, SqliteFile

T = TypeVar("T")
_MOST_TOGETHER = 64


@dataclass(frozen=True)
class _Write:
    """One piece of work; `is_alone` means that it must not be done twice, nor undone for another's failure."""

    work: Callable[[Session], Any]
    is_alone: bool
    done: Future[Any] = field(default_factory=Future)


class WriteQueue:
    """Hands writes to the thread that owns the file, in the order in which they came."""

    def __init__(self, file: SqliteFile, thread: ThreadPoolExecutor) -> None:
        self._file = file
        self._thread = thread
        self._waiting: deque[_Write] = deque()
        self._lock = threading.Lock()

    async def write(self, work: Callable[[Session], T], *, is_alone: bool = False) -> T:
        """Do the work in a transaction; return once it is on the disk."""
        write = _Write(work, is_alone)
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
                results = self._file.write(lambda session: [write.work(session) for write in wanted])
            except (StoreLocked, CannotWrite, StoreCorrupt) as exc:
                # What is wrong with the file is wrong for all; one after the other, they would wait for a lock in turn.
                for write in wanted:
                    write.done.set_exception(exc)
                return
            except Exception:  # Nothing was kept; each is tried by itself, and told its own failure.
                results = []
            for write, result in zip(wanted, results, strict=False):
                write.done.set_result(result)
            wanted = wanted[len(results) :]
        for write in wanted:
            try:
                write.done.set_result(self._file.write(write.work))
            except Exception as exc:  # Raised where the write is waited for.
                write.done.set_exception(exc)

    def _next_batch(self) -> list[_Write]:
        with self._lock:
            batch: list[_Write] = []
            while self._waiting and len(batch) < _MOST_TOGETHER:
                if self._waiting[0].is_alone and batch:
                    break
                batch.append(self._waiting.popleft())
                if batch[-1].is_alone:
                    break
            return batch
