"""The sign of life of a run's owner: a thread with its own store, so that a busy loop is not taken for a dead one."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from deep_research.errors import DeepResearchError, RunCancelled, RunTaken, StopRun
from deep_research.pipeline.clock import Stopwatch
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import OpenStore

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class LeaseRenewal:
    """Renews the lease while it is open, and calls `on_stop` once the run was cancelled or taken over."""

    open_store: OpenStore
    lease: Lease
    every_s: float
    stopwatch: Stopwatch
    on_stop: Callable[[StopRun], object]

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._beat()), name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    async def _beat(self) -> None:
        store = self.open_store()
        try:
            while not self._ended.is_set():
                await asyncio.to_thread(self._ended.wait, self.every_s)
                active_s = self.stopwatch.take_s()
                try:
                    await store.heartbeat(self.lease, current_owner(), active_s=active_s)
                except (RunTaken, RunCancelled) as stop:
                    self.on_stop(stop)
                    return
                except DeepResearchError as exc:  # The run's own writes will say so; a missed beat alone stops nothing.
                    _log.warning("a heartbeat was missed: %s", exc)
                    self.stopwatch.give_back(active_s)
        finally:
            await store.close()
