"""Drives runs in this process, a few at a time, and takes them from the queue that all processes share."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from deep_research.documents.readers import warm_up
from deep_research.errors import DeepResearchError, RunCancelled, RunHeld, RunInterrupted
from deep_research.events import LiveText, RunEvent
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import has_work, park_run
from deep_research.pipeline.graph import build_graph
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.pipeline.watching import Observer
from deep_research.runner import processor_from, settings_of
from deep_research.service.runs.feed import EventFeed, is_prose, set_within
from deep_research.service.runs.run_queue import Notice, RunQueue
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store

_log = logging.getLogger(__name__)
ProcessorOf = Callable[[RunRow, Settings], DeepResearchProcessor]
# A run whose owners were lost so often in a row, without a call that ended, is likely what ends them.
_MAX_FRUITLESS_TAKEOVERS = 3


@dataclass(eq=False)
class _Drive:
    """A run that is being driven; `is_wanted_again` says that it came up once more meanwhile."""

    run: str
    user: str = ""
    task: asyncio.Task[None] | None = None
    processor: DeepResearchProcessor | None = None
    is_wanted_again: bool = False


class Worker:
    """Drives runs of the queue, `at_once` at a time; with 0 it drives none, and only passes on what others tell.

    `on_event` hears every event of the runs, `on_end` how each stands once it is no longer driven, `observers` watch
    their work. A run that could not go on is left alone for `left_alone_s`. A worker that stops waits `stop_s` for
    answers under way: what is not there by then is asked for again.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        feed: EventFeed,
        queue: RunQueue,
        *,
        at_once: int,
        processor_of: ProcessorOf | None = None,
        left_alone_s: float = 60.0,
        stop_s: float = 8.0,
    ) -> None:
        self._settings, self._store, self._feed, self._queue = settings, store, feed, queue
        self._at_once = at_once
        self._left_alone_s, self._stop_s = left_alone_s, stop_s
        self._processor_of = processor_of or self._own_processor
        self._machine = StateMachine()
        self._drives: dict[str, _Drive] = {}
        self._woken = asyncio.Event()
        self._loading: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self.on_event: list[Callable[[RunEvent], None]] = [feed.on_event]
        self.on_end: list[Callable[[RunRow], None]] = []
        self.observers: list[Observer] = []

    @property
    def running(self) -> int:
        """How many runs are under way."""
        return len(self._drives)

    @property
    def has_capacity(self) -> bool:
        """Whether one more run may be taken up."""
        return len(self._drives) < self._at_once and not self._is_stopping

    @property
    def is_accepting(self) -> bool:
        """Whether all is loaded that runs need, and this worker takes them up as they come."""
        is_loaded = self._loading is not None and self._loading.done()
        return is_loaded and not self._is_stopping and not any(task.done() for task in self._tasks)

    def is_under_way(self, run: str) -> bool:
        """Say whether a run is being driven here now."""
        return run in self._drives

    def start(self) -> None:
        """Load what runs need, beside whatever else is done, and take runs up from then on."""
        self._loading = asyncio.create_task(asyncio.to_thread(self._load) if self._at_once else asyncio.sleep(0))
        self._tasks = [asyncio.create_task(self._listen())]
        if self._at_once:
            self._tasks.append(asyncio.create_task(self._take_runs()))

    async def submit(self, row: RunRow) -> None:
        """Have a run driven by whoever has capacity; where the queue cannot be reached, a sweep finds it later."""
        await self._put(row.id, row.user, is_begun=row.status != "created")
        self._woken.set()

    async def withdraw(self, run: str) -> None:
        """Stop a run that was cancelled, without waiting until it notices; forget one that waits in the queue."""
        self._stop_run(run)
        await self._queue.drop(run)

    async def pick_up(self) -> None:
        """Queue every run of a server that should go on: never begun, cut off, or answered while nobody was there."""
        await self._queue.sweep()
        self._woken.set()

    async def stop(self) -> None:
        """Stop all runs cleanly: calls in flight are kept if they end soon, and others go on with the runs."""
        self._is_stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        drives = list(self._drives.values())
        for drive in drives:
            if drive.processor is not None:
                drive.processor.interrupt()
        tasks = [drive.task for drive in drives if drive.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._stop_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        # Others need not wait until somebody looks at all runs.
        for drive in drives:
            await self._put(drive.run, drive.user, is_begun=True)

    async def _listen(self) -> None:
        """Hear what other processes tell for as long as the worker is there."""
        await self._queue.listen(self._on_notice, self._feed.on_live_elsewhere)
        await asyncio.Event().wait()

    def _on_notice(self, notice: Notice, run: str) -> None:
        match notice:
            case "queue":
                self._woken.set()
            case "events":
                self._feed.check(run)
            case "stop":
                self._stop_run(run)

    def _stop_run(self, run: str) -> None:
        drive = self._drives.get(run)
        if drive is not None and drive.processor is not None:
            drive.processor.interrupt(RunCancelled())

    async def _take_runs(self) -> None:
        """Take runs as long as there is capacity; what cannot be read now is looked at again in a moment."""
        assert self._loading is not None
        # A run whose lease is taken before all is loaded would have no sign of life meanwhile.
        await asyncio.wait({self._loading})
        while True:
            self._woken.clear()
            try:
                while self.has_capacity and (run := await self._next()):
                    self._begin(run)
            except DeepResearchError as exc:
                _log.warning("no run can be taken up: %s", exc)
            except Exception:  # A fault nobody foresaw in one look must not end the taking.
                _log.exception("no run can be taken up")
            await set_within(self._woken, self._queue.poll_s)

    async def _next(self) -> str | None:
        if await self._store.is_draining():
            return None
        at_work = Counter(drive.user for drive in self._drives.values())
        return await self._queue.take(at_work, self._drives.keys())

    def _begin(self, run: str) -> None:
        if drive := self._drives.get(run):
            # It has let go of the run, or is about to: what was asked for since is still to be done.
            drive.is_wanted_again = True
            return
        drive = self._drives[run] = _Drive(run)
        drive.task = asyncio.create_task(self._drive(drive))
        drive.task.add_done_callback(lambda _: self._ended(drive))

    def _ended(self, drive: _Drive) -> None:
        del self._drives[drive.run]
        if drive.is_wanted_again and not self._is_stopping:
            self._begin(drive.run)
        self._woken.set()

    async def _drive(self, drive: _Drive) -> None:
        """Drive one run until it is done, waits, or fails; the store says which."""
        run = drive.run
        try:
            row = await self._store.get_run(run)
            drive.user = row.user
            if row.owner is not None and row.idle_takeovers >= _MAX_FRUITLESS_TAKEOVERS:
                await park_run(self._store, row, clock=SystemClock(), lease_s=self._settings.lease_s)
            elif await has_work(self._store, row):
                try:
                    await self._resume(drive, row)
                finally:
                    ended = await self._store.get_run(run)
                    for on_end in self.on_end:
                        on_end(ended)
        except (RunInterrupted, RunCancelled, RunHeld) as exc:
            _log.info("run %s: %s", run, exc)
        except DeepResearchError as exc:
            _log.warning("run %s: %s", run, exc)
            # After a while its disk may have room, or its model a key.
            await self._put(run, drive.user, is_begun=True, delay_s=self._left_alone_s)
        except Exception:  # One run must not take the others with it.
            _log.exception("run %s failed", run)
            await self._put(run, drive.user, is_begun=True, delay_s=self._left_alone_s)

    async def _put(self, run: str, user: str, *, is_begun: bool, delay_s: float = 0.0) -> None:
        try:
            await self._queue.put(run, user, is_begun=is_begun, delay_s=delay_s)
        except DeepResearchError as exc:
            _log.warning("run %s waits for the next look at all runs: %s", run, exc)

    async def _resume(self, drive: _Drive, row: RunRow) -> None:
        settings = settings_of(row.request, self._settings)
        if row.retry_requested or row.attempt > 0:
            settings = settings.with_changes(cache=False)
        # Opening connections and reading certificates takes a while, in which others are served.
        processor = await asyncio.to_thread(self._processor_of, row, settings)
        try:
            if self._is_stopping:
                return
            drive.processor = processor
            await processor.resume(row.id, on_event=self._tell, on_live=self._tell_live)
        finally:
            drive.processor = None
            await processor.adapters.close()

    async def _tell(self, event: RunEvent) -> None:
        for on_event in self.on_event:
            on_event(event)

    def _tell_live(self, live: LiveText) -> None:
        self._feed.on_live(live)
        if is_prose(live):
            self._queue.tell_live(live)

    def _own_processor(self, row: RunRow, settings: Settings) -> DeepResearchProcessor:
        return processor_from(settings, row.wiring, machine=self._machine, observers=self.observers)

    def _load(self) -> None:
        """Import what a run needs, so that the first one is not slower and nobody waits for it."""
        build_graph(self._machine)
        warm_up()
