"""Several processes want one run: one has it, and it goes on from the journal alone."""

import asyncio
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deep_research.errors import RunHeld, RunInterrupted, StoreCorrupt
from deep_research.events import RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import ResearchRequest
from deep_research.storage.store.port import RunRow
from deep_research.testing import StaticSearch
from tests.e2e.harness import (
    QUESTION,
    Lab,
    User,
    assert_emitted_once,
    assert_explained,
    finish,
    keys_but_status,
    kill,
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


def _killed(user: User) -> None:
    assert user.ask("quick", TEST_KILL_AT="200").returncode == -signal.SIGKILL


def _killed_at_once(user: User) -> None:
    assert user.ask("quick", TEST_KILL_AT="3").returncode == -signal.SIGKILL


def _answered(user: User) -> None:
    assert user.ask("asking").returncode == 2
    row = user.only_run()
    assert row.pending is not None
    scope = str(row.pending["scope"])
    user.with_store(lambda store: store.put_answer(row.id, scope, "Costs"))


# With a lease this short, whoever comes later takes the run from the one before.
RACES: dict[str, tuple[Callable[[User], None], str]] = {
    "killed": (_killed, "30"),
    "taken over": (_killed_at_once, "0.01"),
    "answered": (_answered, "30"),
}


@pytest.mark.parametrize("race", ["killed", "taken over", pytest.param("answered", marks=pytest.mark.long)])
def test_one_of_several_processes_gets_the_run(undisturbed: User, tmp_path: Path, race: str) -> None:
    user, rivals = User(tmp_path / "user"), 6
    prepare, lease_s = RACES[race]
    prepare(user)
    # What a killed process left is looked at in a copy: opening the store would tidy it up.
    left = User(shutil.copytree(user.folder, tmp_path / "copy"))
    run, begun, paid = left.only_run().id, len(left.begun()), sum(row.state == "done" for row in left.calls())
    gate = tmp_path / "gate"
    command = ("runs", "resume", run, "--quiet")
    ended = user.run_together(
        *[command] * rivals, before_last=gate.touch, TEST_GATE=str(gate), DEEP_RESEARCH_LEASE_S=lease_s
    )
    codes = [process.returncode for process in ended]
    assert sorted(codes) == [0] + [75] * (rivals - 1), [process.stderr for process in ended]
    for process in ended:
        if process.returncode:
            assert run in assert_explained(process, 75)
    assert_emitted_once(user.events())
    if race == "killed":
        assert user.report() == undisturbed.report()
        assert len(user.begun()) - begun == len(undisturbed.begun()) - paid, "a paid call was repeated"
        assert keys_but_status(user.events()) == keys_but_status(undisturbed.events())


def test_a_run_that_is_worked_on_is_neither_resumed_nor_deleted(tmp_path: Path) -> None:
    user = User(tmp_path)
    first = user.start("ask", QUESTION, "--wiring", "worlds:hanging")
    user.wait_for_act("plan")
    run = user.only_run().id
    assert str(first.pid) in assert_explained(user.call("runs", "resume", run), 75)
    assert_explained(user.call("runs", "delete", "--yes", run), 75)
    kill(first)
    finish(first)


def test_a_process_does_not_work_on_a_run_twice(tmp_path: Path) -> None:
    user = User(tmp_path)
    runtime = Lab(user).processor()

    async def both() -> list[RunRow | BaseException]:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        work = [runtime.resume(row.id), runtime.resume(row.id)]
        return await asyncio.gather(*work, return_exceptions=True)

    outcomes = asyncio.run(both())
    assert sorted(isinstance(outcome, RunHeld) for outcome in outcomes) == [False, True], outcomes
    assert user.only_run().status == "done"
    assert_emitted_once(user.events())


def test_a_process_that_could_not_begin_lets_go_of_the_run(tmp_path: Path) -> None:
    user = User(tmp_path)
    runtime = Lab(user).processor()

    def at_the_draft(event: RunEvent) -> None:
        if event.data.get("step") == "draft":
            runtime.interrupt()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        await runtime.resume(row.id, on_event=at_the_draft)

    with pytest.raises(RunInterrupted):
        asyncio.run(begin())
    with closing(sqlite3.connect(user.home / "store.db", isolation_level=None)) as connection:
        (spend,) = connection.execute("SELECT spend FROM journal WHERE number = 3").fetchone()
        connection.execute("UPDATE journal SET spend = 'not json' WHERE number = 3")
        with pytest.raises(StoreCorrupt):
            Lab(user).resume(user.only_run().id)
        connection.execute("UPDATE journal SET spend = ? WHERE number = 3", (spend,))
    assert Lab(user).resume(user.only_run().id).status == "done"


@dataclass
class _UnevenSearch(StaticSearch):
    """Takes its time with the first section, so that the second is ahead."""

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        await asyncio.sleep(0.3 if query.query.startswith("Costs 1.") else 0.0)
        return await super().search(query, limit=limit)


def test_going_on_costs_nothing_twice_whichever_section_was_ahead(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path)

    def uneven(adapters: Adapters) -> Adapters:
        (engine,) = adapters.engines
        return replace(adapters, engines=(_UnevenSearch(**vars(engine)),))

    runtime = Lab(user, change=uneven).processor()

    def at_the_draft(event: RunEvent) -> None:
        if event.kind == "progress" and event.data["step"] == "draft":
            runtime.interrupt()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        await runtime.resume(row.id, on_event=at_the_draft)

    with pytest.raises(RunInterrupted):
        asyncio.run(begin())
    assert Lab(user, change=uneven).resume(user.only_run().id).status == "done"
    assert len(user.begun()) == len(undisturbed.begun()), "a paid call was repeated"
    assert user.report() == undisturbed.report()
