"""The cache: what it keeps, what goes first, and that nothing wrong with its file ever reaches a run."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from deep_research.cache.disk import DiskCache

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "no database": lambda raw: b"This is no database. " * 500,
    "cut off": lambda raw: raw[: len(raw) // 2],
    "overwritten": lambda raw: raw[:100] + b"\xff" * (len(raw) - 100),
}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cache(tmp_path, clock):
    cache = DiskCache(tmp_path / "home" / "cache.db", max_bytes=20_000, now=clock)
    yield cache
    await cache.close()


def noise(number: int, size: int) -> bytes:
    """Return bytes that no packing makes smaller."""
    return random.Random(number).randbytes(size)


async def kept(cache: DiskCache, keys) -> list:
    return [key for key in keys if await cache.get("page", key) is not None]


async def test_value_is_found_by_kind_and_key_until_it_expires(cache, clock):
    await cache.put("page", "a", b"one", 10)
    await cache.put("plan", "a", b"two", 30)
    assert (await cache.get("page", "a"), await cache.get("plan", "a")) == (b"one", b"two")
    assert await cache.get("page", "b") is None
    clock.now += 10
    assert (await cache.get("page", "a"), await cache.get("plan", "a")) == (None, b"two")


async def test_new_value_takes_the_place_of_the_old_one(cache):
    await cache.put("page", "a", b"one" * 100, 10)
    size = await cache.size()
    await cache.put("page", "a", b"two" * 100, 10)
    assert await cache.get("page", "a") == b"two" * 100
    assert await cache.size() == size


async def test_text_is_packed(cache):
    await cache.put("page", "a", "太陽能 solar power ".encode() * 10_000, 10)
    assert await cache.size() < 5_000
    assert await cache.get("page", "a") == "太陽能 solar power ".encode() * 10_000


async def test_least_recently_used_go_first(cache, clock):
    for number in range(4):
        await cache.put("page", str(number), noise(number, 4_500), 10_000)
        clock.now += 100
    assert await cache.get("page", "0") == noise(0, 4_500)
    await cache.put("page", "4", noise(4, 4_500), 10_000)
    assert await kept(cache, "01234") == ["0", "3", "4"]
    assert await cache.size() <= 20_000


async def test_expired_go_before_all_others(cache, clock):
    await cache.put("page", "old", noise(1, 8_000), 10_000)
    clock.now += 100
    await cache.put("page", "short", noise(2, 8_000), 50)
    clock.now += 100
    await cache.put("page", "new", noise(3, 8_000), 10_000)
    assert await kept(cache, ["old", "short", "new"]) == ["old", "new"]


async def test_value_that_would_fill_the_cache_is_not_kept(cache):
    await cache.put("page", "a", b"small", 10)
    await cache.put("page", "large", noise(1, 19_000), 10)
    assert await kept(cache, ["a", "large"]) == ["a"]


async def test_clearing_forgets_everything_and_gives_the_room_back(tmp_path):
    cache = DiskCache(tmp_path / "cache.db", max_bytes=1_000_000)
    for number in range(4):
        await cache.put("page", str(number), noise(number, 100_000), 10)
    size = await cache.size()
    assert await cache.clear() == size > 400_000
    assert await cache.size() == 0
    assert await cache.get("page", "1") is None
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 100_000
    await cache.close()


async def test_cache_stays_within_its_bounds_on_disk(tmp_path, clock):
    cache = DiskCache(tmp_path / "cache.db", max_bytes=200_000, now=clock)
    for number in range(200):
        clock.now += 1
        await cache.put("page", str(number), noise(number, 10_000), 10_000)
    assert 150_000 < await cache.size() <= 200_000
    await cache.close()
    assert cache.path.stat().st_size < 400_000


@pytest.mark.parametrize("how", DAMAGE)
async def test_damaged_file_is_made_anew(cache, how):
    for number in range(4):
        await cache.put("page", str(number), noise(number, 4_000), 10)
    await cache.close()
    cache.path.write_bytes(DAMAGE[how](cache.path.read_bytes()))
    assert await kept(cache, "0123") == []
    await cache.put("page", "a", b"again", 10)
    assert await cache.get("page", "a") == b"again"


async def test_damaged_value_is_not_found(cache):
    await cache.put("page", "a", b"one", 10)
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute("UPDATE kept SET value = x'00ff00ff'")
    assert await cache.get("page", "a") is None


async def test_file_of_another_version_is_made_anew(cache):
    await cache.put("page", "a", b"one", 10)
    await cache.close()
    with closing(sqlite3.connect(cache.path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    assert await cache.get("page", "a") is None
    await cache.put("page", "a", b"two", 10)
    assert await cache.get("page", "a") == b"two"


async def test_file_that_cannot_be_opened_is_a_miss(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path, tmp_path / "file" / "cache.db"):
        cache = DiskCache(path, max_bytes=20_000)
        await cache.put("page", "a", b"one", 10)
        assert await cache.get("page", "a") is None
        assert (await cache.size(), await cache.clear()) == (0, 0)
        await cache.close()


async def test_locked_file_is_a_miss_and_waited_for_only_once(tmp_path, clock):
    path = tmp_path / "cache.db"
    cache = DiskCache(path, max_bytes=20_000, now=clock, busy_timeout_s=0.01)
    await cache.put("page", "a", b"one", 10)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # Reading goes on beside a writer; only what would be written is lost.
        assert await cache.get("page", "a") == b"one"
        await cache.put("page", "b", b"two", 10)
        # From now on the file is left alone for a while.
        assert await cache.get("page", "a") is None
    other_cache = DiskCache(path, max_bytes=20_000, now=clock)
    assert await kept(other_cache, "ab") == ["a"]
    await other_cache.close()
    await cache.close()


async def test_many_puts_and_gets_at_once_all_arrive(tmp_path):
    cache = DiskCache(tmp_path / "cache.db", max_bytes=10_000_000)
    await asyncio.gather(*(cache.put("page", str(number), noise(number, 1_000), 60) for number in range(100)))
    found = await asyncio.gather(*(cache.get("page", str(number)) for number in range(100)))
    assert found == [noise(number, 1_000) for number in range(100)]
    await cache.close()


def test_threads_with_event_loops_of_their_own_share_a_cache(tmp_path):
    cache = DiskCache(tmp_path / "cache.db", max_bytes=10_000_000)

    async def put_some(start: int) -> None:
        for number in range(start, start + 20):
            await cache.put("page", str(number), str(number).encode(), 60)

    threads = [threading.Thread(target=asyncio.run, args=(put_some(start),)) for start in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(kept(cache, map(str, range(60)))) == [str(number) for number in range(60)]
    asyncio.run(cache.close())


_WRITER = """
import asyncio, sys
from pathlib import Path
from deep_research.cache.disk import DiskCache

async def main(path, name):
    cache = DiskCache(Path(path), max_bytes=10_000_000, busy_timeout_s=20)
    for number in range(40):
        await cache.put("page", f"{name}{number}", b"x" * 1000, 60)
    await cache.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_a_new_file_from_the_first_moment(tmp_path):
    path = tmp_path / "cache.db"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = DiskCache(path, max_bytes=10_000_000)
    assert len(await kept(cache, [f"{name}{number}" for name in "abc" for number in range(40)])) == 120
    await cache.close()
