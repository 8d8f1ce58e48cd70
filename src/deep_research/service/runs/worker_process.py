"""A process that drives runs and serves nobody: takes them from the queue until it is told to stop."""

import asyncio
import logging
from collections.abc import Callable

from deep_research.errors import DeepResearchError
from deep_research.service.runs.feed import open_feed, set_within
from deep_research.service.runs.run_queue import open_queue
from deep_research.service.runs.worker import Worker
from deep_research.settings import Settings
from deep_research.wiring import open_store

_log = logging.getLogger(__name__)
# How long calls in flight may take to end once the process was told to stop.
STOP_S = 20.0
# How often all runs are looked at for those whose owner was lost.
_SWEEP_S = 5.0


async def work(
    settings: Settings,
    *,
    at_once: int,
    stopped: asyncio.Event,
    on_worker: Callable[[Worker], None] = lambda _: None,
) -> None:
    """Drive runs, so many at once, until stopped; then let go of them, so that others go on."""
    store = open_store(settings)
    queue = open_queue(settings, store)
    worker = Worker(settings, store, open_feed(settings, store), queue, at_once=at_once, stop_s=STOP_S)
    on_worker(worker)
    try:
        worker.start()
        while not stopped.is_set():
            try:
                await worker.pick_up()
            except DeepResearchError as exc:
                _log.warning("%s", exc)
            await set_within(stopped, _SWEEP_S)
    finally:
        await worker.stop()
        await queue.close()
        await store.close()
