"""The cache in a file passes its suite, and nothing wrong with the file ever reaches a run."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.support.cache_suite import CacheConformance, Clock, OpenCache, cache_in, kept, noise

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "no database": lambda raw: b"This is no database. " * 500,
    "cut off": lambda raw: raw[: len(raw) // 2],
    "overwritten": lambda raw: raw[:100] + b"\xff" * (len(raw) - 100),
}


class TestDiskCache(CacheConformance):
    @pytest.fixture
    def open_cache(self, tmp_path, clock) -> OpenCache:
        return lambda max_bytes: cache_in(tmp_path / "home" / "cache.db", max_bytes=max_bytes, now=clock)

    @pytest.fixture
    def damage_values(self, tmp_path) -> Callable[[], None]:
        def damage() -> None:
            with closing(sqlite3.connect(tmp_path / "home" / "cache.db")) as connection, connection:
                connection.execute("UPDATE kept SET value = x'00ff00ff'")

        return damage


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "cache.db"


@pytest.fixture
async def cache(path, clock):
    cache = cache_in(path, max_bytes=20_000, now=clock)
    yield cache
    await cache.close()


async def test_clearing_gives_the_room_back(tmp_path):
    cache = cache_in(tmp_path / "cache.db", max_bytes=1_000_000)
    for number in range(4):
        await cache.put("page", str(number), noise(number, 100_000), 10)
    await cache.clear()
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 100_000
    await cache.close()


async def test_file_stays_within_its_bounds(tmp_path, clock):
    cache = cache_in(tmp_path / "cache.db", max_bytes=200_000, now=clock)
    for number in range(200):
        clock.now += 1
        await cache.put("page", str(number), noise(number, 10_000), 10_000)
    await cache.close()
    assert (tmp_path / "cache.db").stat().st_size < 400_000


@pytest.mark.parametrize("how", DAMAGE)
async def test_damaged_file_is_made_anew(cache, path, how):
    for number in range(4):
        await cache.put("page", str(number), noise(number, 4_000), 10)
    await cache.close()
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    assert await kept(cache, "0123") == []
    await cache.put("page", "a", b"again", 10)
    assert await cache.get("page", "a") == b"again"


async def test_file_of_another_version_is_made_anew(cache, path):
    await cache.put("page", "a", b"one", 10)
    await cache.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    assert await cache.get("page", "a") is None
    await cache.put("page", "a", b"two", 10)
    assert await cache.get("page", "a") == b"two"


async def test_file_that_cannot_be_opened_is_a_miss(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path, tmp_path / "file" / "cache.db"):
        cache = cache_in(path, max_bytes=20_000)
        await cache.put("page", "a", b"one", 10)
        assert await cache.get("page", "a") is None
        assert (await cache.size(), await cache.clear()) == (0, 0)
        await cache.close()


async def test_locked_file_is_a_miss_and_waited_for_only_once(tmp_path, clock):
    path = tmp_path / "cache.db"
    cache = cache_in(path, max_bytes=20_000, now=clock, busy_timeout_s=0.01)
    await cache.put("page", "a", b"one", 10)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # Reading goes on beside a writer; only what would be written is lost.
        assert await cache.get("page", "a") == b"one"
        await cache.put("page", "b", b"two", 10)
        # From now on the file is left alone for a while.
        assert await cache.get("page", "a") is None
    other_cache = cache_in(path, max_bytes=20_000, now=clock)
    assert await kept(other_cache, "ab") == ["a"]
    await other_cache.close()
    await cache.close()


_WRITER = """
import asyncio, sys
from pathlib import Path
from deep_research.web.cache.cache import Cache, CacheFile

async def main(path, name):
    cache = Cache(CacheFile(Path(path), busy_timeout_s=20), max_bytes=10_000_000)
    for number in range(40):
        await cache.put("page", f"{name}{number}", b"x" * 1000, 60)
    await cache.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_a_new_file_from_the_first_moment(tmp_path):
    path = tmp_path / "cache.db"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = cache_in(path, max_bytes=10_000_000)
    assert len(await kept(cache, [f"{name}{number}" for name in "abc" for number in range(40)])) == 120
    await cache.close()
