"""Runs of many users are driven in turn; whatever happens to one, the others go on, and none is forgotten."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from deep_research.errors import CannotWrite
from deep_research.events import RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import answer_run, cancel_run
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.request import ResearchRequest
from deep_research.service.runs.feed import EventFeed
from deep_research.service.runs.run_queue import StoreQueue, read_figures
from deep_research.service.runs.worker import Worker
from deep_research.settings import Settings
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease, RunRow
from deep_research.storage.store.store import Store
from deep_research.testing import ActPrice
from tests.support.reasoner import ScriptedReasoner
from tests.support.store_samples import make_stranger
from tests.support.waiting import HANG_S
from tests.support.world import World

# So long that nobody's lease ends by itself: tests let owners be silent instead.
LEASE_S = 60.0


@dataclass
class Bench:
    """A worker over a real store; runs go through the real runtime in a scripted world."""

    folder: Path
    world: World = field(default_factory=lambda: World(pages=4))
    change: Callable[[Adapters], Adapters] = lambda adapters: adapters
    begun: list[str] = field(default_factory=list)
    started: Worker | None = None

    def __post_init__(self) -> None:
        home, logs = self.folder / "home", self.folder / "logs"
        self.settings = Settings(home=home, logs=logs, depth="quick", charts=False, lease_s=LEASE_S)
        self.store = Store(SqliteFile(self.settings.store_path))
        self.worker = self.new_worker()

    def new_worker(self, *, at_once: int = 1, stop_s: float = 8.0) -> Worker:
        worker = Worker(
            self.settings,
            self.store,
            EventFeed(self.store, poll_s=0.05),
            StoreQueue(self.store, lease_s=LEASE_S, poll_s=0.05),
            at_once=at_once,
            processor_of=lambda row, settings: self.processor(row, settings),
            left_alone_s=0.3,
            stop_s=stop_s,
        )
        worker.on_event.append(self._heard)
        return worker

    def _heard(self, event: RunEvent) -> None:
        if event.data == {"status": "running"}:
            self.begun.append(event.run)

    def processor(self, row: RunRow, settings: Settings) -> DeepResearchProcessor:
        return DeepResearchProcessor(self.change(self.world.adapters(settings)))

    async def new_run(self, run: str, user: str = "ann") -> RunRow:
        adapters = replace(self.world.adapters(self.settings), new_id=lambda: run)
        request = ResearchRequest(
            question="What did the projects cost and achieve?", depth=self.settings.research_depth()
        )
        return await DeepResearchProcessor(adapters).create(request, user=user)

    async def submit(self, *rows: RunRow) -> None:
        """Have runs driven, all of them there before the worker looks."""
        for row in rows:
            await self.worker.submit(row)
        if self.worker is not self.started:
            self.started = self.worker
            self.worker.start()

    async def until(self, run: str, *statuses: str) -> RunRow:
        async with asyncio.timeout(HANG_S):
            while (row := await self.store.get_run(run)).status not in statuses:
                await asyncio.sleep(0.01)
        return row

    async def idle(self) -> None:
        async with asyncio.timeout(HANG_S):
            while self.worker.running or await self.waiting():
                await asyncio.sleep(0.01)

    async def waiting(self) -> int:
        return (await read_figures(self.store, lease_s=LEASE_S)).waiting


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.worker.stop()
    await bench.store.close()


async def test_one_users_many_runs_do_not_hold_up_anothers_one(bench):
    rows = [await bench.new_run(f"ann-{number}") for number in range(4)]
    rows.append(await bench.new_run("ben-0", "ben"))
    rows.append(await bench.new_run("cyd-0", "cyd"))
    await bench.submit(*rows)
    await bench.until("ann-0", "running")
    assert (bench.worker.running, await bench.waiting()) == (1, 5)
    await bench.idle()
    assert bench.begun == ["ann-0", "ben-0", "cyd-0", "ann-1", "ann-2", "ann-3"]


async def test_so_many_at_once_and_each_once(bench):
    bench.worker = bench.new_worker(at_once=3)
    most = 0
    rows = [await bench.new_run(f"run-{number}") for number in range(6)]
    await bench.submit(*rows, *rows)
    while bench.worker.running or await bench.waiting():
        most = max(most, bench.worker.running)
        await asyncio.sleep(0.01)
    assert most == 3
    assert sorted(bench.begun) == [row.id for row in rows]


async def test_a_run_cancelled_while_it_waits_is_never_begun(bench):
    first, second, third = [await bench.new_run(run) for run in ("one-run", "two-run", "six-run")]
    bench.world = World(pages=4, act=ActPrice(tokens=1, usd=0.0, delay_s=0.1))
    await bench.submit(first, second, third)
    await bench.until(first.id, "running")
    await cancel_run(bench.store, second, clock=SystemClock(), lease_s=LEASE_S)
    # The other is cancelled by another process, which knows nothing of this queue.
    await cancel_run(bench.store, third, clock=SystemClock(), lease_s=LEASE_S)
    await bench.worker.withdraw(second.id)
    assert await bench.waiting() == 0
    await bench.idle()
    assert bench.begun == ["one-run"]
    assert (await bench.store.get_run("six-run")).status == "cancelled"


async def test_a_run_that_hangs_is_cancelled_without_waiting_for_its_next_sign_of_life(bench):
    bench.world = World(pages=4, act=ActPrice(tokens=1, usd=0.0, delay_s=600.0, timeout_s=900.0))
    bench.change = lambda adapters: replace(adapters, heartbeat_s=600.0)
    row = await bench.new_run("hung-run")
    await bench.submit(row)
    await bench.until(row.id, "running")
    await cancel_run(bench.store, await bench.store.get_run(row.id), clock=SystemClock(), lease_s=LEASE_S)
    assert (await bench.store.get_run(row.id)).cancel_requested
    await bench.worker.withdraw(row.id)
    await bench.until(row.id, "cancelled")
    await bench.idle()


async def test_an_answer_that_comes_as_the_run_lets_go_is_not_lost(tmp_path):
    bench = Bench(tmp_path, world=World(pages=4, reasoner=ScriptedReasoner(questions=1)))
    answered = asyncio.Event()

    def on_event(event: RunEvent) -> None:
        if event.data.get("status") == "waiting" and event.kind == "run-status":
            answering.append(asyncio.ensure_future(answer()))

    async def answer() -> None:
        row = await bench.store.get_run("asks")
        await answer_run(bench.store, row, "costs")
        assert bench.worker.running, "the worker has not let go of it yet"
        await bench.submit(await bench.store.reopen_run(row.id, retry=False))
        answered.set()

    answering: list[asyncio.Future[None]] = []
    bench.change = _slow_to_close
    bench.worker = bench.new_worker()
    bench.worker.on_event.append(on_event)
    await bench.submit(await bench.new_run("asks"))
    await asyncio.wait_for(answered.wait(), HANG_S)
    await bench.until("asks", "done")
    await bench.worker.stop()
    await bench.store.close()


def _slow_to_close(adapters: Adapters) -> Adapters:
    async def close() -> None:
        await asyncio.sleep(0.5)

    return replace(adapters, on_close=(*adapters.on_close, close))


async def test_a_retry_asked_for_as_the_run_is_cancelled_is_done_after_it(bench):
    bench.change = _slow_to_close
    bench.worker = bench.new_worker()
    bench.world = World(pages=4, act=ActPrice(tokens=1, usd=0.0, delay_s=0.2))
    row = await bench.new_run("again-run")
    await bench.submit(row)
    await bench.until(row.id, "running")
    await cancel_run(bench.store, await bench.store.get_run(row.id), clock=SystemClock(), lease_s=LEASE_S)
    await bench.until(row.id, "cancelled")
    assert bench.worker.running == 1
    await bench.submit(await bench.store.reopen_run(row.id, retry=True))
    assert (await bench.until(row.id, "done")).attempt == 1


async def test_a_run_held_by_another_process_is_picked_up_once_that_is_silent(bench):
    row = await bench.new_run("held-run")
    held = await bench.store.lease(row.id, make_stranger(seconds_ago=0), lease_s=LEASE_S)
    await bench.submit()
    await bench.submit(await bench.new_run("free-run", "ben"))
    await bench.until("free-run", "done")
    assert (await bench.store.get_run(row.id)).epoch == held.epoch
    await bench.store.heartbeat(held, make_stranger(seconds_ago=LEASE_S + 60), active_s=0.0)
    ended = await bench.until(row.id, "done")
    assert ended.epoch == held.epoch + 1


async def test_runs_of_the_command_line_are_left_alone(bench):
    await bench.new_run("cli-run", user="")
    await bench.new_run("our-run")
    await bench.submit()
    await bench.until("our-run", "done")
    assert (await bench.store.get_run("cli-run")).status == "created"


async def test_a_full_disk_loses_no_run(bench):
    full = True

    class Full(Store):
        async def append_events(self, lease, events):
            if full:
                raise CannotWrite("The disk is full.")
            return await super().append_events(lease, events)

        async def finish(self, lease, status, **told):
            if full:
                raise CannotWrite("The disk is full.")
            return await super().finish(lease, status, **told)

    bench.change = lambda adapters: replace(adapters, open_store=lambda: Full(SqliteFile(bench.settings.store_path)))
    row = await bench.new_run("full-run")
    await bench.submit(row)
    await bench.until(row.id, "running")
    while bench.worker.running:
        await asyncio.sleep(0.01)
    full = False
    owner = current_owner()
    silent = owner.model_copy(update={"beat_monotonic_s": owner.beat_monotonic_s - LEASE_S - 60})
    held = Lease(run=row.id, epoch=(await bench.store.get_run(row.id)).epoch)
    await bench.store.heartbeat(held, silent, active_s=0.0)
    await bench.until(row.id, "done")


async def test_a_run_that_cannot_be_built_ends_no_other(bench):
    def processor(row: RunRow, settings: Settings) -> DeepResearchProcessor:
        if row.id == "bad-run":
            raise RuntimeError("a fault nobody has thought of")
        return build(row, settings)

    build, bench.processor = bench.processor, processor
    bench.worker = bench.new_worker()
    for run in ("bad-run", "fine-run"):
        await bench.submit(await bench.new_run(run))
    await bench.until("fine-run", "done")


async def test_a_worker_that_stops_leaves_its_runs_to_the_next(bench):
    bench.world = World(pages=4, act=ActPrice(tokens=1, usd=0.0, delay_s=0.1))
    bench.worker = bench.new_worker(at_once=2)
    for number in range(4):
        await bench.submit(await bench.new_run(f"run-{number}"))
    await bench.until("run-1", "running")
    await bench.worker.stop()
    statuses = await bench.store.count_by_status()
    assert statuses == {"interrupted": 2, "created": 2}
    bench.worker = bench.new_worker(at_once=2)
    await bench.submit()
    for number in range(4):
        await bench.until(f"run-{number}", "done")


async def test_a_call_that_never_ends_does_not_keep_a_worker_from_stopping(bench):
    bench.world = World(pages=4, act=ActPrice(tokens=1, usd=0.0, delay_s=600.0, timeout_s=900.0))
    bench.worker = bench.new_worker(stop_s=0.2)
    row = await bench.new_run("slow-run")
    await bench.submit(row)
    await bench.until(row.id, "running")
    async with asyncio.timeout(HANG_S):
        await bench.worker.stop()
    assert (await bench.store.get_run(row.id)).status == "interrupted"


async def test_a_run_whose_owners_are_lost_one_after_the_other_is_given_up_until_somebody_has_it_tried_again(bench):
    row = await bench.new_run("bad-run")
    for number in range(4):
        owner = make_stranger(seconds_ago=(4 - number) * (LEASE_S + 10)).model_copy(update={"host": f"host-{number}"})
        await bench.store.lease(row.id, owner, lease_s=LEASE_S)
    await bench.submit()
    parked = await bench.until(row.id, "failed")
    assert (parked.takeovers, bench.begun) == (4, [])
    assert "given up" in parked.failure
    await bench.submit(await bench.store.reopen_run(row.id, retry=True))
    assert (await bench.until(row.id, "done")).idle_takeovers == 0


async def test_workers_that_are_to_drain_take_nothing_new(bench):
    await bench.store.set_draining(True)
    row = await bench.new_run("late-run")
    await bench.submit(row)
    for _ in range(5):
        assert await bench.worker._next() is None
    await bench.store.set_draining(False)
    await bench.until(row.id, "done")
