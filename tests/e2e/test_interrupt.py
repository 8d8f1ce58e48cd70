"""Ctrl-C and SIGTERM: the first stops cleanly and keeps what is in flight, the second stops at once."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.errors import RunInterrupted
from deep_research.events import RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.request import ResearchRequest
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

CHINESE = "这些项目花了多少钱，取得了什么成果？"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("undisturbed"))
    assert Lab(user).ask().status == "done"
    return user


@pytest.fixture(scope="module")
def stories(undisturbed: User, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[None]"]]:
    folder = tmp_path_factory.mktemp("interrupted")
    with ThreadPoolExecutor(4) as pool:
        yield {
            "SIGINT": pool.submit(_stop_cleanly, User(folder / "int"), undisturbed, signal.SIGINT, "extract"),
            "SIGTERM": pool.submit(_stop_cleanly, User(folder / "term"), undisturbed, signal.SIGTERM, "draft"),
            "twice": pool.submit(_stop_at_once, User(folder / "twice"), undisturbed),
            "Chinese": pool.submit(_stop_in_chinese, User(folder / "chinese")),
        }


@pytest.mark.long
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_one_signal_stops_cleanly_and_a_resume_repeats_no_call(stories: dict[str, "Future[None]"], number: str) -> None:
    stories[number].result()


def test_two_signals_stop_at_once_though_a_call_hangs(stories: dict[str, "Future[None]"]) -> None:
    stories["twice"].result()


def test_a_chinese_user_reads_chinese(stories: dict[str, "Future[None]"]) -> None:
    stories["Chinese"].result()


def _stop_cleanly(user: User, undisturbed: User, number: int, act: str) -> None:
    process = user.start("ask", QUESTION, "--wiring", "worlds:slow", "--events", "events.ndjson")
    user.wait_for_act(act)
    kill(process, number)
    ended = finish(process)
    row = user.only_run()
    assert f"deep-research runs resume {row.id[:8]}" in assert_explained(ended, 130)
    assert row.status == "interrupted"
    assert row.owner is None
    assert len(user.logged("begin")) == len(user.logged("end")), "a call in flight was dropped"
    assert {call.state for call in user.calls()} == {"done"}
    told = user.events()
    assert [event.data["status"] for event in told if event.kind == "run-status"] == ["running", "interrupted"]
    assert _written(user) == told, "the listener was not told everything"

    resumed = user.run("runs", "resume", row.id, "--events", "events.ndjson")
    assert resumed.returncode == 0, resumed.stderr
    assert len(user.begun()) == len(undisturbed.begun()), "a paid call was repeated"
    assert user.report() == undisturbed.report()
    events = user.events()
    assert_emitted_once(events)
    assert events[: len(told)] == told
    assert keys_but_status(events) == keys_but_status(undisturbed.events())
    assert _written(user) == events


def _written(user: User) -> list[RunEvent]:
    lines = (user.folder / "events.ndjson").read_text(encoding="utf-8").splitlines()
    return [RunEvent.from_json(json.loads(line)) for line in lines]


def _stop_at_once(user: User, undisturbed: User) -> None:
    process = user.start("ask", QUESTION, "--wiring", "worlds:hanging")
    user.wait_for_act("plan")
    kill(process, signal.SIGINT)
    assert "Ctrl-C" in _read_until(process, "Stopping")
    time.sleep(0.3)
    assert process.poll() is None, "the first signal must wait for the call in flight"
    kill(process, signal.SIGINT)
    ended = finish(process)
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr

    paid, begun = sum(row.state == "done" for row in user.calls()), len(user.begun())
    (user.folder / "mended").touch()
    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    assert len(user.begun()) - begun == len(undisturbed.begun()) - paid
    assert user.report() == undisturbed.report()
    assert_emitted_once(user.events())


def _stop_in_chinese(user: User) -> None:
    process = user.start("ask", CHINESE, "--wiring", "worlds:slow")
    user.wait_for_act("plan")
    kill(process, signal.SIGINT)
    ended = finish(process)
    assert "中断" in assert_explained(ended, 130)
    assert "Stopping" not in ended.stderr


def _read_until(process: "subprocess.Popen[str]", word: str) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"{word} was never said")


# Inside one process


def _modelless(adapters: Adapters) -> Adapters:
    return replace(adapters, models=(), reasoner=None, engines=())


@pytest.mark.parametrize("change", [lambda adapters: adapters, _modelless], ids=["with a model", "without any call"])
def test_a_run_interrupted_as_it_begins_stops(tmp_path: Path, change) -> None:
    user = User(tmp_path)
    runtime = Lab(user, change=change).processor()

    def at_first(event: RunEvent) -> None:
        if event.seq == 1:
            runtime.interrupt()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        await runtime.resume(row.id, on_event=at_first)

    with pytest.raises(RunInterrupted):
        asyncio.run(begin())
    assert user.only_run().status == "interrupted"
    assert user.begun() == []


def test_a_run_interrupted_while_it_is_claimed_stops(tmp_path: Path) -> None:
    user = User(tmp_path)
    runtime = Lab(user).processor()

    async def begin() -> None:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        work = asyncio.ensure_future(runtime.resume(row.id))
        await asyncio.sleep(0)
        runtime.interrupt()
        await work

    with pytest.raises(RunInterrupted):
        asyncio.run(begin())
    assert user.begun() == []


@pytest.mark.long
def test_a_run_stopped_again_and_again_in_one_process_ends_like_any_other(undisturbed: User, tmp_path: Path) -> None:
    user = User(tmp_path)
    runtime = Lab(user).processor()
    told: list[RunEvent] = []

    async def leg(run: str, events: int) -> None:
        """Go on with the run, and give up on it after some events, as a caller does who was cancelled."""
        last = len(told) + events
        work = asyncio.ensure_future(runtime.resume(run, on_event=told.append))
        while len(told) < last and not work.done():
            await asyncio.sleep(0.002)
        work.cancel()
        await work

    async def begin() -> int:
        row = await runtime.create(ResearchRequest(question=QUESTION))
        for number in range(100):
            try:
                await leg(row.id, events=6)
            except asyncio.CancelledError:
                store = Lab(user).processor().adapters.open_store()
                assert (await store.get_run(row.id)).status == "interrupted"
                await store.close()
            else:
                return number
        return 100

    assert asyncio.run(begin()) > 8
    assert "started" not in {call.state for call in user.calls()}
    assert len(user.begun()) == len(undisturbed.begun()), "a paid call was repeated"
    assert user.report() == undisturbed.report()
    assert_emitted_once(user.events())
    assert told == user.events(), "the listener was not told everything"
