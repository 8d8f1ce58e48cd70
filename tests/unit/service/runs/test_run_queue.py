"""Both forms of the queue hand out runs in the same order, once, and lose none."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from deep_research.events import LiveText
from deep_research.service.runs.run_queue import RunQueue, open_queue, read_figures
from deep_research.settings import Settings
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import NewEvent
from deep_research.storage.store.store import Store
from deep_research.wiring import open_store
from tests.support.store_samples import LEASE_S, make_run, make_stranger
from tests.support.waiting import HANG_S


@dataclass
class Hall:
    """A store with a queue; what is taken is claimed, as workers do."""

    settings: Settings
    store: Store
    queue: RunQueue
    minutes: int = 0
    others: list[RunQueue] = field(default_factory=list)

    async def put(self, run: str, user: str = "ann") -> None:
        self.minutes += 1
        await self.store.create_run(make_run(run, minute=self.minutes).model_copy(update={"user": user}))
        await self.queue.put(run, user)

    async def take(self, queue: RunQueue | None = None) -> str | None:
        run = await (queue or self.queue).take(Counter(), ())
        if run is not None:
            await self.store.lease(run, current_owner(), lease_s=LEASE_S)
        return run

    async def take_all(self) -> list[str]:
        taken = []
        while run := await self.take():
            taken.append(run)
        return taken

    def other(self) -> RunQueue:
        """Return the queue as another process has it."""
        self.others.append(open_queue(self.settings, self.store))
        return self.others[-1]


@pytest_asyncio.fixture(params=["store", "postgres"])
async def hall(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Hall]:
    url = None
    if request.param == "postgres":
        pytest.importorskip("procrastinate", reason="needs the extra postgres")
        url = SecretStr(request.getfixturevalue("database_url"))
    settings = Settings(home=tmp_path, database_url=url, lease_s=LEASE_S)
    store = open_store(settings)
    hall = Hall(settings, store, open_queue(settings, store))
    yield hall
    for queue in (hall.queue, *hall.others):
        await queue.close()
    await store.close()


async def test_users_take_turns_and_each_has_its_oldest_run_first(hall):
    for run, user in [("ann-1", "ann"), ("ann-2", "ann"), ("ann-3", "ann"), ("ben-1", "ben"), ("cyd-1", "cyd")]:
        await hall.put(run, user)
    assert await hall.take_all() == ["ann-1", "ben-1", "cyd-1", "ann-2", "ann-3"]


async def test_a_user_who_keeps_asking_holds_up_nobody(hall):
    for number in range(3):
        await hall.put(f"ann-{number}")
    taken = []
    for number in range(6):
        await hall.put(f"ben-{number}", "ben")
        run = await hall.queue.take(Counter(), ())
        assert run is not None
        lease = await hall.store.lease(run, current_owner(), lease_s=LEASE_S)
        event = NewEvent(at=make_run(run).created_at, kind="run-status", key="end", data={"status": "done"})
        await hall.store.finish(lease, "done", event=event)
        taken.append(run)
    assert Counter(run[:3] for run in taken) == {"ann": 3, "ben": 3}


async def test_what_another_process_works_on_counts(hall):
    await hall.put("ann-1")
    assert await hall.take() == "ann-1"
    await hall.put("ann-2")
    await hall.put("ben-1", "ben")
    assert await hall.take(hall.other()) == "ben-1"


async def test_a_run_is_taken_once_however_often_it_was_put_and_whoever_takes(hall):
    for number in range(12):
        await hall.put(f"run-{number:02}", f"user-{number % 3}")
        await hall.queue.put(f"run-{number:02}", f"user-{number % 3}")
    other = hall.other()
    taken = []
    while runs := [run for run in [await hall.take(), await hall.take(other)] if run]:
        taken += runs
    assert sorted(taken) == [f"run-{number:02}" for number in range(12)]


async def test_a_run_that_was_begun_goes_before_the_same_users_new_ones(hall):
    await hall.put("new-run")
    await hall.put("old-run")
    assert await hall.take() == "new-run"
    await hall.put("late-run")
    lease = await hall.store.lease("old-run", make_stranger(seconds_ago=0), lease_s=LEASE_S)
    await hall.queue.drop("old-run")
    event = NewEvent(at=make_run("x").created_at, kind="run-status", key="end", data={"status": "interrupted"})
    await hall.store.finish(lease, "interrupted", event=event)
    await hall.queue.put("old-run", "ann", is_begun=True)
    assert await hall.take_all() == ["old-run", "late-run"]


async def test_a_run_that_is_to_wait_a_while_is_left_alone_until_then_and_others_go_on(hall):
    await hall.put("ann-1")
    await hall.queue.drop("ann-1")
    await hall.queue.put("ann-1", "ann", delay_s=60)
    await hall.put("ann-2")
    await hall.put("ben-1", "ben")
    await hall.queue.sweep()
    assert sorted(await hall.take_all()) == ["ann-2", "ben-1"]
    await hall.queue.drop("ann-1")
    await hall.queue.put("ann-1", "ann", delay_s=0.2)
    async with asyncio.timeout(HANG_S):
        while (run := await hall.take()) is None:
            await asyncio.sleep(0.05)
    assert run == "ann-1"


async def test_runs_that_the_queue_has_lost_are_found_once_by_all_who_look(hall):
    for run in ("gone-1", "gone-2", "dead-1", "held-1"):
        await hall.put(run)
        await hall.queue.drop(run)
    await hall.store.lease("dead-1", make_stranger(seconds_ago=LEASE_S + 60), lease_s=LEASE_S)
    await hall.store.lease("held-1", make_stranger(seconds_ago=0), lease_s=LEASE_S)
    other = hall.other()
    await asyncio.gather(*(queue.sweep() for queue in (hall.queue, other) * 3))
    assert sorted(await hall.take_all()) == ["dead-1", "gone-1", "gone-2"]
    figures = await read_figures(hall.store, lease_s=LEASE_S)
    assert (figures.waiting, figures.running, figures.takeovers) == (0, 4, 1)


@pytest.mark.parametrize("hall", ["postgres"], indirect=True)
async def test_pieces_of_answers_reach_other_processes_in_order_whatever_they_hold(hall):
    text = ["海绵城市" * 400, "half a pair: \ud83d", "nothing: \x00", "🏙" * 900, "the end"]
    heard: list[LiveText] = []
    own: list[LiveText] = []
    other = hall.other()
    listening = [
        asyncio.create_task(other.listen(lambda *_: None, heard.append)),
        asyncio.create_task(hall.queue.listen(lambda *_: None, own.append)),
    ]
    # Whoever listens is told when its connection does.
    while not heard:
        hall.queue.tell_live(LiveText("r1", "write", "draft", "text", "."))
        await asyncio.sleep(0.05)
    for piece in text:
        hall.queue.tell_live(LiveText("r2", "write", "draft", "text", piece))
    while not heard[-1].text.endswith("the end"):
        await asyncio.sleep(0.05)
    for task in listening:
        task.cancel()
    assert "".join(live.text for live in heard if live.run == "r2") == "".join(text)
    assert own == []
