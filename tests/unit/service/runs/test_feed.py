"""Readers of a run's events get each once and in order, however they come, fall behind, come back or go."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from deep_research.events import LiveText, RunEvent
from deep_research.service.runs.feed import EventFeed, Heartbeat, Item, Missed, Written, frame_of
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from tests.support.store_samples import LEASE_S, make_event, make_run, make_status
from tests.support.waiting import HANG_S, until

RUN = "a1b2c3d4"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "store.db"))
    await store.create_run(make_run(RUN))
    yield store
    await store.close()


@pytest.fixture
async def feed(store: Store) -> AsyncIterator[EventFeed]:
    feed = EventFeed(store, poll_s=0.05)
    yield feed
    feed.close()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await store.lease(RUN, current_owner(), lease_s=LEASE_S)


class Writer:
    """A run that tells what it does, to the store and to the feed of its process, if it has one."""

    def __init__(self, store: Store, lease: Lease, feed: EventFeed | None) -> None:
        self._store, self._claim, self._feed = store, lease, feed

    async def write(self, *keys: str) -> None:
        for key in keys:
            self._told(await self._store.append_events(self._claim, [make_event(key)]))

    async def end(self) -> None:
        self._told(await self._store.finish(self._claim, "done", event=make_status("done")))

    def _told(self, events: list[RunEvent]) -> None:
        for event in events if self._feed else ():
            assert self._feed is not None
            self._feed.on_event(event)


def live(text: str, run: str = RUN) -> LiveText:
    return LiveText(run, "draft/1", "draft", "text", text)


async def read_all(feed: EventFeed, after: int = 0) -> list[Item]:
    return [item async for item in feed.read(RUN, after=after) if not isinstance(item, Heartbeat)]


def numbers(items: list[Item]) -> list[int]:
    return [item.seq for item in items if isinstance(item, RunEvent)]


async def test_readers_that_come_at_any_time_get_every_event_once(store, feed, lease):
    writer = Writer(store, lease, feed)
    readers = []
    for number in range(120):
        await writer.write(f"k{number}")
        if number % 10 == 0:
            readers.append((0, asyncio.create_task(read_all(feed))))
            readers.append((number, asyncio.create_task(read_all(feed, after=number))))
    await writer.end()
    for after, reader in readers:
        assert numbers(await reader) == list(range(after + 1, 122))


async def test_events_of_another_process_arrive_between_our_own(store, feed, lease):
    ours, theirs = Writer(store, lease, feed), Writer(store, lease, None)
    reader = asyncio.create_task(read_all(feed))
    await until(lambda: feed.readers == 1)
    for number in range(40):
        await (theirs if number % 3 else ours).write(f"k{number}")
    await theirs.end()
    assert numbers(await reader) == list(range(1, 42))


async def test_a_run_told_by_nobody_here_is_followed_to_its_end(store, feed, lease):
    reader = asyncio.create_task(read_all(feed))
    writer = Writer(store, lease, None)
    await writer.write("a", "b")
    await writer.end()
    assert numbers(await reader) == [1, 2, 3]


async def test_a_slow_reader_loses_no_event_and_is_told_that_it_missed_text(store, feed, lease):
    writer = Writer(store, lease, feed)
    await writer.write("first")
    async with aclosing(feed.read(RUN)) as stream:
        got = [await anext(stream)]
        for number in range(700):
            await writer.write(f"k{number}")
            feed.on_live(live(f"piece {number} "))
        await writer.end()
        got += [item async for item in stream]
    assert numbers(got) == list(range(1, 703))
    assert any(isinstance(item, Missed) and item.what == "text" for item in got)


async def test_long_text_is_not_kept_for_a_slow_reader(store, feed, lease):
    writer = Writer(store, lease, feed)
    await writer.write("first")
    async with aclosing(feed.batches(RUN)) as stream:
        await anext(stream)
        for number in range(400):
            feed.on_live(LiveText(RUN, f"draft/{number}", "draft", "text", "x" * 20_000))
            if number % 20 == 0:
                await asyncio.sleep(0.06)
        await asyncio.sleep(0.1)
        gc.collect()
        held = sum(len(item.text) for item in gc.get_objects() if isinstance(item, LiveText))
        assert held < 3_000_000, "a second megabyte is what was shown last and is still being let go"


async def test_pieces_of_one_answer_that_come_together_are_one_frame(store, feed, lease):
    await Writer(store, lease, feed).write("first")
    async with aclosing(feed.read(RUN)) as stream:
        await anext(stream)
        for piece in ("海绵", "城市", "的效果"):
            feed.on_live(live(piece))
        feed.on_live(live("other")._replace(scope="draft/2"))
        texts = [await anext(stream), await anext(stream)]
    assert [item.text for item in texts if isinstance(item, LiveText)] == ["海绵城市的效果", "other"]


async def test_who_joins_while_a_report_is_written_gets_what_there_is_and_then_the_rest(store, feed, lease):
    await Writer(store, lease, feed).write("first")
    feed.on_live(live("half of a sen"))
    async with aclosing(feed.read(RUN, after=1)) as stream:
        assert await anext(stream) == Missed("text", 2)
        assert await anext(stream) == Written((live("half of a sen"),), is_cut=False)
        feed.on_live(live("tence"))
        # Who comes before the others are told gets each word once too.
        async with aclosing(feed.read(RUN, after=1)) as second:
            got = [await anext(second) for _ in range(3)]
        assert got[1:] == [Written((live("half of a sen"),), is_cut=False), live("tence")]
        assert await anext(stream) == live("tence")
        feed.on_live(live("x" * 150_000))
        await anext(stream)
        async with aclosing(feed.read(RUN, after=1)) as third:
            assert [await anext(third), await anext(third)][1].is_cut
    feed.on_event((await store.finish(lease, "done", event=make_status("done")))[0])
    assert not [item for item in await read_all(feed) if isinstance(item, Missed)]


async def test_text_from_another_process_is_kept_for_its_readers_alone(store, feed, lease):
    writer = Writer(store, lease, None)
    await writer.write("first")
    feed.on_live_elsewhere(live("nobody reads this"))
    async with aclosing(feed.read(RUN, after=1)) as stream:
        assert await anext(stream) == Missed("text", 2)
        feed.on_live_elsewhere(live("the rest"))
        assert await anext(stream) == live("the rest")
        async with aclosing(feed.read(RUN, after=1)) as second:
            got = [await anext(second), await anext(second)]
        assert got[1] == Written((live("the rest"),), is_cut=True)
        await writer.end()
        assert numbers([item async for item in stream]) == [2]
    assert not [item for item in await read_all(feed) if isinstance(item, Missed | Written)]


async def test_an_event_number_that_the_run_never_had_is_a_gap_and_all_is_told(store, feed, lease):
    writer = Writer(store, lease, feed)
    await writer.write("a", "b")
    await writer.end()
    assert await read_all(feed, after=3) == []
    items = await read_all(feed, after=99)
    assert items[0] == Missed("events", 1)
    assert numbers(items) == [1, 2, 3]
    assert frame_of(items[0]).startswith(b"id: 0\nevent: stream-gap\n"), "who comes back must not name 99 again"


async def test_nothing_happens_and_the_reader_hears_a_beat(store, feed, lease):
    await Writer(store, lease, feed).write("a")
    async with aclosing(feed.read(RUN, heartbeat_s=0.01)) as stream:
        assert numbers([await anext(stream)]) == [1]
        assert isinstance(await anext(stream), Heartbeat)


async def test_a_deleted_run_ends_its_streams(store, feed, lease):
    writer = Writer(store, lease, feed)
    await writer.write("a")
    reader = asyncio.create_task(read_all(feed))
    await until(lambda: feed.readers == 1)
    await store.finish(lease, "interrupted", event=make_status("interrupted"))
    await store.delete_run(RUN, current_owner())
    async with asyncio.timeout(HANG_S):
        await reader


async def test_readers_that_go_leave_nothing_behind(store, feed, lease):
    await Writer(store, lease, feed).write("a")
    before = len(asyncio.all_tasks())
    readers = [asyncio.create_task(read_all(feed)) for _ in range(50)]
    await until(lambda: feed.readers == 50)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    assert feed.readers == 0
    await until(lambda: len(asyncio.all_tasks()) == before)
    # The first of a later crowd finds the channel as if nothing had been.
    stream = feed.read(RUN)
    assert numbers([await anext(stream)]) == [1]
    await stream.aclose()


async def test_a_feed_that_closes_lets_everybody_go(store, feed, lease):
    await Writer(store, lease, feed).write("a")
    readers = [asyncio.create_task(read_all(feed)) for _ in range(20)]
    await until(lambda: feed.readers == 20)
    feed.close()
    async with asyncio.timeout(HANG_S):
        await asyncio.gather(*readers)
    assert await read_all(feed) == []


async def test_a_crowd_that_comes_back_is_one_look_at_the_store(store, feed, lease):
    writer = Writer(store, lease, feed)
    await writer.write(*(f"k{number}" for number in range(30)))
    reads = 0
    read_events = store.read_events

    async def counted(*args, **more):
        nonlocal reads
        reads += 1
        return await read_events(*args, **more)

    store.read_events = counted
    readers = [asyncio.create_task(read_all(feed, after=number % 30)) for number in range(300)]
    await until(lambda: feed.readers == 300)
    await writer.end()
    for number, reader in enumerate(readers):
        assert numbers(await reader) == list(range(number % 30 + 1, 32))
    assert reads <= 5


def test_a_line_break_or_half_a_character_in_a_text_does_not_break_the_stream():
    for text in ("one\n\ndata: two", "cr\rlf\r\n", "half \ud83d", "行\u2028分隔"):
        frame = frame_of(live(text))
        assert frame.count(b"\n\n") == 1
        assert frame.endswith(b"\n\n")
        assert b"\r" not in frame


async def test_readers_at_the_same_place_are_handed_the_same_bytes(store: Store, feed: EventFeed, lease: Lease) -> None:
    writer = Writer(store, lease, feed)

    async def frames() -> list[bytes]:
        return [batch.frames async for batch in feed.batches(RUN)]

    readers = [asyncio.create_task(frames()) for _ in range(5)]
    await until(lambda: feed.readers == len(readers))
    await writer.write("one", "two", "three")
    await writer.end()
    first, *others = await asyncio.gather(*readers)
    assert b"".join(first).count(b"id: ") == 4
    assert all([*map(id, other)] == [*map(id, first)] for other in others)
