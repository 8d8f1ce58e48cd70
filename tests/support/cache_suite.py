"""What every table of the cache must pass: subclass `CacheConformance` and provide the fixture `open_cache`."""

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

import pytest

from deep_research.web.cache.cache import Cache, CacheFile

MAX_BYTES = 20_000
# Returns a new cache over the same values, given how many bytes it may take.
OpenCache = Callable[[int], Cache]


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def cache_in(path: Path, *, max_bytes: int, now: Callable[[], float] = time.time, busy_timeout_s: float = 2.0) -> Cache:
    """Return a cache in a file."""
    return Cache(CacheFile(path, busy_timeout_s=busy_timeout_s), max_bytes=max_bytes, now=now)


def noise(number: int, size: int) -> bytes:
    """Return bytes that no packing makes smaller."""
    return random.Random(number).randbytes(size)


async def kept(cache: Cache, keys: Iterable[str]) -> list[str]:
    """Return those of the keys of pages that a value is found for."""
    return [key for key in keys if await cache.get("page", key) is not None]


class CacheConformance:
    """What is kept, for how long, and what goes first."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    async def cache(self, open_cache: OpenCache) -> AsyncIterator[Cache]:
        cache = open_cache(MAX_BYTES)
        yield cache
        await cache.close()

    @pytest.mark.asyncio
    async def test_value_is_found_by_kind_and_key_until_it_expires(self, cache: Cache, clock: Clock) -> None:
        await cache.put("page", "a", b"one", 10)
        await cache.put("plan", "a", b"two", 30)
        assert (await cache.get("page", "a"), await cache.get("plan", "a")) == (b"one", b"two")
        assert await cache.get("page", "b") is None
        clock.now += 10
        assert (await cache.get("page", "a"), await cache.get("plan", "a")) == (None, b"two")

    @pytest.mark.asyncio
    async def test_new_value_takes_the_place_of_the_old_one(self, cache: Cache) -> None:
        await cache.put("page", "a", b"one" * 100, 10)
        size = await cache.size()
        await cache.put("page", "a", b"two" * 100, 10)
        assert await cache.get("page", "a") == b"two" * 100
        assert await cache.size() == size

    @pytest.mark.asyncio
    async def test_text_is_packed(self, cache: Cache) -> None:
        await cache.put("page", "a", "太陽能 solar power ".encode() * 10_000, 10)
        assert await cache.size() < 5_000
        assert await cache.get("page", "a") == "太陽能 solar power ".encode() * 10_000

    @pytest.mark.asyncio
    async def test_least_recently_used_go_first(self, cache: Cache, clock: Clock) -> None:
        for number in range(4):
            await cache.put("page", str(number), noise(number, 4_500), 10_000)
            clock.now += 100
        assert await cache.get("page", "0") == noise(0, 4_500)
        await cache.put("page", "4", noise(4, 4_500), 10_000)
        assert await kept(cache, "01234") == ["0", "3", "4"]
        assert await cache.size() <= 20_000

    @pytest.mark.asyncio
    async def test_expired_go_before_all_others(self, cache: Cache, clock: Clock) -> None:
        await cache.put("page", "old", noise(1, 8_000), 10_000)
        clock.now += 100
        await cache.put("page", "short", noise(2, 8_000), 50)
        clock.now += 100
        await cache.put("page", "new", noise(3, 8_000), 10_000)
        assert await kept(cache, ["old", "short", "new"]) == ["old", "new"]

    @pytest.mark.asyncio
    async def test_value_that_would_fill_the_cache_is_not_kept(self, cache: Cache) -> None:
        await cache.put("page", "a", b"small", 10)
        await cache.put("page", "large", noise(1, 19_000), 10)
        assert await kept(cache, ["a", "large"]) == ["a"]

    @pytest.mark.asyncio
    async def test_a_use_is_noted_once_a_minute(self, cache: Cache, clock: Clock, open_cache: OpenCache) -> None:
        await cache.put("page", "old", noise(1, 8_000), 10_000)
        clock.now += 30
        await cache.put("page", "new", noise(2, 8_000), 10_000)
        # Half a minute after it was put nothing is noted, so that it is still the one that was not used for longest.
        assert await cache.get("page", "old") is not None
        await cache.put("page", "third", noise(3, 8_000), 10_000)
        assert await kept(cache, ["old", "new", "third"]) == ["new", "third"]

    @pytest.mark.asyncio
    async def test_damaged_value_is_not_found(self, cache: Cache, damage_values: Callable[[], None]) -> None:
        await cache.put("page", "a", b"one", 10)
        damage_values()
        assert await cache.get("page", "a") is None

    @pytest.mark.asyncio
    async def test_clearing_forgets_everything(self, open_cache: OpenCache) -> None:
        cache = open_cache(1_000_000)
        for number in range(4):
            await cache.put("page", str(number), noise(number, 100_000), 10)
        size = await cache.size()
        assert await cache.clear() == size > 400_000
        assert await cache.size() == 0
        assert await cache.get("page", "1") is None
        await cache.close()

    @pytest.mark.asyncio
    async def test_size_stays_within_its_bounds(self, clock: Clock, open_cache: OpenCache) -> None:
        cache = open_cache(200_000)
        for number in range(200):
            clock.now += 1
            await cache.put("page", str(number), noise(number, 10_000), 10_000)
        assert 150_000 < await cache.size() <= 200_000
        await cache.close()

    @pytest.mark.asyncio
    async def test_one_cache_finds_what_another_put_and_what_was_closed_opens_again(
        self, open_cache: OpenCache
    ) -> None:
        one, other = open_cache(MAX_BYTES), open_cache(MAX_BYTES)
        await one.put("page", "a", b"one", 10)
        assert await other.get("page", "a") == b"one"
        await one.close()
        await other.put("page", "a", b"two", 10)
        assert await one.get("page", "a") == b"two"
        await one.close()
        await other.close()

    @pytest.mark.asyncio
    async def test_many_puts_and_gets_at_once_all_arrive(self, open_cache: OpenCache) -> None:
        cache = open_cache(10_000_000)
        await asyncio.gather(*(cache.put("page", str(number), noise(number, 1_000), 60) for number in range(100)))
        found = await asyncio.gather(*(cache.get("page", str(number)) for number in range(100)))
        assert found == [noise(number, 1_000) for number in range(100)]
        await cache.close()

    def test_threads_with_event_loops_of_their_own_share_a_cache(self, open_cache: OpenCache) -> None:
        cache = open_cache(10_000_000)

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
