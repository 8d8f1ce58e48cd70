"""Cancelling from outside: a live run stops within seconds, one that nobody holds at once, and nothing is lost."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deep_research.errors import RunCancelled, RunInterrupted, UsageError
from deep_research.events import RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.request import ResearchRequest
from deep_research.testing import MemoryFetcher
from deep_research.web.fetch.port import Fetched
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once, assert_explained, finish
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


def _statuses(user: User) -> list[str]:
    return [str(event.data["status"]) for event in user.events() if event.kind == "run-status"]


def test_a_live_run_is_cancelled_from_another_process_and_taken_up_again(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path)
    owner = user.start("ask", QUESTION, "--wiring", "worlds:slow")
    user.wait_for_act("extract")
    run = user.only_run().id
    # From this process: another would be loaded so long on a busy machine that the run might end before.
    asked = user.call("runs", "cancel", run)
    assert asked.returncode == 0
    assert run[:8] in asked.stderr
    assert run[:8] in assert_explained(finish(owner), 130)
    assert user.only_run().status == "cancelled"
    assert _statuses(user) == ["running", "cancelled"]
    assert {call.state for call in user.calls()} == {"done"}, "a call in flight was dropped"

    assert f"deep-research runs retry {run[:8]}" in assert_explained(user.call("runs", "resume", run), 64)
    retried = user.call("runs", "retry", run)
    assert retried.returncode == 0, retried.stderr
    assert user.report() == undisturbed.report()
    assert len(user.begun()) == len(undisturbed.begun()), "a paid call was repeated"
    assert_emitted_once(user.events())
    assert _statuses(user) == ["running", "cancelled", "running", "done"]

    finished = user.everything()
    again = user.call("runs", "cancel", run)
    assert again.returncode == 0
    assert "nothing to cancel" in again.stderr
    assert user.everything() == finished


def test_an_interrupted_run_is_cancelled_at_once_and_told_once(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user)
    runtime = lab.processor()

    def at_the_plan(event: RunEvent) -> None:
        if event.data.get("step") == "plan":
            runtime.interrupt()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        await runtime.resume(row.id, on_event=at_the_plan)

    with pytest.raises(RunInterrupted):
        asyncio.run(begin())
    run = user.only_run().id
    assert lab.cancel(run).status == "cancelled"
    assert lab.cancel(run).status == "cancelled"
    assert _statuses(user) == ["running", "interrupted", "cancelled"]
    with pytest.raises(UsageError, match="retry"):
        lab.resume(run)
    assert lab.resume(run, retry=True).status == "done"
    assert_emitted_once(user.events())


def test_a_waiting_run_that_was_cancelled_takes_no_answer(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user, world=World(pages=8, reasoner=ScriptedReasoner(questions=1)))
    row = lab.ask()
    assert row.status == "waiting"
    assert lab.cancel(row.id).status == "cancelled"
    with pytest.raises(UsageError, match="cancelled"):
        lab.answer(row.id, "Costs")
    retried = lab.resume(row.id, retry=True)
    assert retried.status == "waiting"
    assert lab.answer(row.id, "Costs").status == "done"
    assert_emitted_once(user.events())


@dataclass
class _OneHangs(MemoryFetcher):
    """One page never comes; the others take a moment each."""

    async def fetch(self, address: str) -> Fetched:
        await asyncio.sleep(600 if address.endswith("/4") else 0.05)
        return await super().fetch(address)


def test_a_hanging_call_does_not_hold_up_a_cancel(tmp_path: Path) -> None:
    user = User(tmp_path)

    def busy(adapters: Adapters) -> Adapters:
        fetcher = _OneHangs(**vars(adapters.fetcher)) if adapters.fetcher else None
        # The heart beats slowly, so that the run's own writes are the first to meet the cancel.
        return replace(adapters, fetcher=fetcher, heartbeat_s=3.0)

    runtime = Lab(user, change=busy).processor()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        work = asyncio.ensure_future(runtime.resume(row.id))
        while not any(call.startswith("fetch") for call in user.begun()):
            await asyncio.sleep(0.01)
        await runtime.cancel(row.id)
        with pytest.raises(RunCancelled):
            await work

    asyncio.run(begin())
    assert user.only_run().status == "cancelled"
