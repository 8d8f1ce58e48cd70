"""Drives runs in this process, a few at a time, and picks up what another process left."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from deep_research.errors import DeepResearchError, RunCancelled, RunHeld, RunInterrupted
from deep_research.events import RunEvent
from deep_research.pipeline.control import is_answered
from deep_research.pipeline.graph import build_graph
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.pipeline.watching import Observer
from deep_research.readers import warm_up
from deep_research.runner import processor_from, settings_of
from deep_research.service.feed import EventFeed
from deep_research.settings import Settings
from deep_research.store.lease import current_owner, holds_lease
from deep_research.store.port import RunRow, Store

_log = logging.getLogger(__name__)
ProcessorOf = Callable[[RunRow, Settings], DeepResearchProcessor]


@dataclass(frozen=True)
class _Order:
    """A run that is to be driven; `retry` does its failed steps again."""

    run: str
    user: str
    retry: bool = False


@dataclass(eq=False)
class _Drive:
    """A run that is being driven, and what was asked for meanwhile."""

    order: _Order
    task: asyncio.Task[None] | None = None
    processor: DeepResearchProcessor | None = None
    next_order: _Order | None = None


@dataclass(eq=False)
class _Queue:
    """Runs that wait for their turn: users take turns, each with its oldest run."""

    _orders: dict[str, _Order] = field(default_factory=dict)
    _last_turn: dict[str, int] = field(default_factory=dict)
    _turns: Iterator[int] = field(default_factory=lambda: count(1))

    def __len__(self) -> int:
        return len(self._orders)

    def __contains__(self, run: str) -> bool:
        return run in self._orders

    def put(self, order: _Order) -> None:
        self._orders[order.run] = order

    def drop(self, run: str) -> None:
        self._orders.pop(run, None)

    def clear(self) -> None:
        self._orders.clear()

    def take(self, at_work: Counter[str]) -> _Order:
        """Return the next run: of the user with the fewest under way, and then of who had a turn longest ago."""
        oldest: dict[str, _Order] = {}
        for order in self._orders.values():
            oldest.setdefault(order.user, order)
        user = min(oldest, key=lambda user: (at_work[user], self._last_turn.get(user, 0)))
        self._last_turn[user] = next(self._turns)
        return self._orders.pop(oldest[user].run)


class Worker:
    """Runs what is submitted, `at_once` at a time; what a stopped server left is found again.

    `on_event` hears every event of the runs, `on_end` how each stands once it is no longer driven, `observers` watch
    their work. A run that could not go on is left alone for `left_alone_s`. A worker that stops waits `stop_s` for
    answers under way: what is not there by then is asked for again.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        feed: EventFeed,
        *,
        at_once: int,
        processor_of: ProcessorOf | None = None,
        left_alone_s: float = 60.0,
        stop_s: float = 8.0,
    ) -> None:
        self._settings, self._store, self._feed = settings, store, feed
        self._at_once = at_once
        self._left_alone_s, self._stop_s = left_alone_s, stop_s
        self._processor_of = processor_of or self._own_processor
        self._machine = StateMachine()
        self._queue = _Queue()
        self._drives: dict[str, _Drive] = {}
        self._left_alone: dict[str, float] = {}
        self._warming: asyncio.Task[None] | None = None
        self._is_stopping = False
        self.on_event: list[Callable[[RunEvent], None]] = [feed.on_event]
        self.on_end: list[Callable[[RunRow], None]] = []
        self.observers: list[Observer] = []

    @property
    def running(self) -> int:
        """How many runs are under way."""
        return len(self._drives)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._queue)

    @property
    def is_accepting(self) -> bool:
        """Whether a run that is submitted now will be driven at once, if there is room."""
        return self._warming is not None and self._warming.done() and not self._is_stopping

    def is_under_way(self, run: str) -> bool:
        """Say whether a run is being driven here now."""
        return run in self._drives

    def is_queued(self, run: str) -> bool:
        """Say whether a run waits for its turn here."""
        return run in self._queue

    def holds(self, run: str) -> bool:
        """Return whether a run waits for its turn or is under way."""
        return run in self._drives or run in self._queue

    def start(self) -> None:
        """Load what runs need, beside whatever else is done."""
        self._warming = asyncio.create_task(asyncio.to_thread(self._load))

    def submit(self, row: RunRow, *, retry: bool = False) -> None:
        """Drive a run as soon as there is room; one that is under way or waits for its turn already is left alone."""
        order = _Order(row.id, row.user, retry)
        if drive := self._drives.get(row.id):
            # It has let go of the run, or is about to: what was asked for since is still to be done.
            if row.status != "running":
                drive.next_order = order
        elif row.id not in self._queue or retry:
            self._queue.put(order)
            self._start_next()

    def withdraw(self, run: str) -> None:
        """Stop a run that was cancelled, without waiting until it notices; forget one that waits for its turn."""
        self._queue.drop(run)
        drive = self._drives.get(run)
        if drive is not None and drive.processor is not None:
            drive.processor.runtime.interrupt(RunCancelled())

    async def pick_up(self) -> None:
        """Queue every run of a server that should go on: never begun, cut off, or answered while nobody was there."""
        me, now = current_owner(), time.monotonic()
        for run in await self._store.list_unfinished():
            is_held = run.owner is not None and holds_lease(run.owner, me, lease_s=self._settings.lease_s)
            if not is_held and not self.holds(run.id) and self._left_alone.get(run.id, now) <= now:
                self._queue.put(_Order(run.id, run.user))
        self._start_next()

    async def stop(self) -> None:
        """Stop all runs cleanly: calls in flight are kept if they end soon, and the next server goes on."""
        self._is_stopping = True
        self._queue.clear()
        for drive in self._drives.values():
            if drive.processor is not None:
                drive.processor.runtime.interrupt()
        tasks = [drive.task for drive in self._drives.values() if drive.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._stop_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _start_next(self) -> None:
        while self._queue and len(self._drives) < self._at_once and not self._is_stopping:
            order = self._queue.take(Counter(drive.order.user for drive in self._drives.values()))
            drive = self._drives[order.run] = _Drive(order)
            drive.task = asyncio.create_task(self._drive(drive))
            drive.task.add_done_callback(lambda _, drive=drive: self._ended(drive))  # type: ignore[misc]

    def _ended(self, drive: _Drive) -> None:
        del self._drives[drive.order.run]
        if drive.next_order is not None and not self._is_stopping:
            self._queue.put(drive.next_order)
        self._start_next()

    async def _drive(self, drive: _Drive) -> None:
        """Drive one run until it is done, waits, or fails; the store says which."""
        run = drive.order.run
        try:
            if self._warming is not None:
                await asyncio.wait({self._warming})
            row = await self._store.get_run(run)
            if drive.order.retry or await self._has_work(row):
                try:
                    await self._resume(drive, row)
                finally:
                    ended = await self._store.get_run(run)
                    for on_end in self.on_end:
                        on_end(ended)
            self._left_alone.pop(run, None)
        except (RunInterrupted, RunCancelled, RunHeld) as exc:
            _log.info("run %s: %s", run, exc)
        except DeepResearchError as exc:
            self._leave_alone(run)
            _log.warning("run %s: %s", run, exc)
        except Exception:  # One run must not take the others with it.
            self._leave_alone(run)
            _log.exception("run %s failed", run)

    async def _resume(self, drive: _Drive, row: RunRow) -> None:
        settings = settings_of(row.request, self._settings)
        if drive.order.retry:
            settings = settings.with_changes(cache=False)
        # Opening connections and reading certificates takes a while, in which others are served.
        processor = await asyncio.to_thread(self._processor_of, row, settings)
        try:
            if self._is_stopping:
                return
            drive.processor = processor
            await processor.runtime.resume(
                row.id, on_event=self._tell, on_live=self._feed.on_live, retry=drive.order.retry
            )
        finally:
            drive.processor = None
            await processor.adapters.close()

    async def _tell(self, event: RunEvent) -> None:
        for on_event in self.on_event:
            on_event(event)

    async def _has_work(self, row: RunRow) -> bool:
        return row.status not in ("done", "cancelled") and (
            row.status != "waiting" or await is_answered(self._store, row)
        )

    def _own_processor(self, row: RunRow, settings: Settings) -> DeepResearchProcessor:
        return processor_from(settings, row.wiring, machine=self._machine, observers=self.observers)

    def _load(self) -> None:
        """Import what a run needs, so that the first one is not slower and nobody waits for it."""
        build_graph(self._machine)
        warm_up()

    def _leave_alone(self, run: str) -> None:
        """Try a run that could not go on again later: its disk may have room by then, or its model a key."""
        self._left_alone[run] = time.monotonic() + self._left_alone_s
