"""What a run tells is kept first, has no gap and no key twice, and a listener cannot harm the run."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deep_research.events import OnEvent, RunEvent, Text
from deep_research.pipeline.streaming import Emitter, StreamingManager
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from deep_research.testing import FakeClock
from tests.support.store_samples import start_run

RUN = "a1b2c3d4"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "store.db"))
    yield store
    await store.close()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await start_run(store, RUN)


def _text(text: str) -> Text:
    return {"type": "text", "text": text}


async def _tell(store: Store, lease: Lease, *texts: str, attempt: int = 0, on_event: OnEvent | None = None) -> None:
    streaming = StreamingManager(store=store, lease=lease, clock=FakeClock(), attempt=attempt, on_event=on_event)
    emit = Emitter(streaming, "plan")
    for text in texts:
        await emit("message", _text(text))


async def test_the_same_work_tells_the_same_once(store, lease):
    told: list[RunEvent] = []
    await _tell(store, lease, "a", "b", on_event=told.append)
    await _tell(store, lease, "a", "b", "c", on_event=told.append)
    events = await store.read_events(RUN)
    assert told == events
    assert [event.key for event in events] == ["message:plan:0", "message:plan:1", "message:plan:2"]
    assert [event.seq for event in events] == [1, 2, 3]


async def test_a_retry_tells_only_what_came_out_differently(store, lease):
    await _tell(store, lease, "a", "b")
    for _ in range(2):
        await _tell(store, lease, "a", "B", "c", attempt=1)
    await _tell(store, lease, "a", "B", "C", attempt=2)
    events = await store.read_events(RUN)
    assert [(event.key, event.data["text"]) for event in events] == [
        ("message:plan:0", "a"),
        ("message:plan:1", "b"),
        ("message:plan:1~1", "B"),
        ("message:plan:2", "c"),
        ("message:plan:2~2", "C"),
    ]


async def test_branches_that_tell_at_once_leave_no_gap(store, lease):
    told: list[RunEvent] = []
    streaming = StreamingManager(store=store, lease=lease, clock=FakeClock(), on_event=told.append)

    async def branch(number: int) -> None:
        emit = Emitter(streaming, f"task/{number}")
        for text in "abc":
            await emit("message", _text(text))

    await asyncio.gather(*(branch(number) for number in range(6)))
    assert [event.seq for event in told] == list(range(1, 19))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_listener_that_raises_is_noted_and_does_not_stop_the_run(store, lease, caplog, is_async):
    def fail(event: RunEvent) -> None:
        raise ValueError("listener")

    async def fail_later(event: RunEvent) -> None:
        fail(event)

    await _tell(store, lease, "a", "b", on_event=fail_later if is_async else fail)
    assert len(await store.read_events(RUN)) == 2
    assert "message:plan:0" in caplog.text


async def test_a_caller_that_is_cancelled_in_mid_telling_is_told_later(store, lease):
    told: list[RunEvent] = []
    streaming = StreamingManager(store=store, lease=lease, clock=FakeClock(), on_event=told.append)
    emit = Emitter(streaming, "plan")
    await emit("message", _text("a"))
    telling = asyncio.ensure_future(emit("message", _text("b")))
    for _ in range(3):
        await asyncio.sleep(0)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    await streaming.finish("interrupted")
    assert [event.seq for event in told] == [event.seq for event in await store.read_events(RUN)]


async def test_a_status_is_told_with_its_reason_and_once(store, lease):
    streaming = StreamingManager(store=store, lease=lease, clock=FakeClock())
    await streaming.finish("failed", error={"name": "NetworkError", "detail": "down", "category": "NETWORK"})
    await streaming.finish("failed", error={"name": "NetworkError", "detail": "down", "category": "NETWORK"})
    (event,) = await store.read_events(RUN)
    assert event.data == {"status": "failed", "reason": "down"}
    row = await store.get_run(RUN)
    assert (row.status, row.owner) == ("failed", None)
