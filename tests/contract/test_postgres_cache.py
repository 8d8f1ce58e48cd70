"""The cache in PostgreSQL passes its suite, is shared by hosts, and never fails a run."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from deep_research.settings import Settings
from deep_research.wiring.search import open_cache as open_cache_of
from tests.support.cache_suite import MAX_BYTES, CacheConformance, Clock, OpenCache, kept, noise
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import HANG_S, until

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg

from deep_research.storage.database.postgres import PostgresDatabase
from deep_research.web.cache.cache import Cache

_PACKAGE = "deep_research.web.cache"
# Puts its own values and one that all processes put, again and again.
_WRITER = """
import asyncio, sys
from deep_research.web.cache.cache import Cache
from deep_research.storage.database.postgres import PostgresDatabase

async def main(url, name):
    cache = Cache(PostgresDatabase(url, package="deep_research.web.cache"), max_bytes=10_000_000)
    for number in range(40):
        await cache.put("page", f"{name}{number}", b"x" * 1000, 60)
        await cache.put("page", "same", name.encode() * 100_000, 60)
        found = await cache.get("page", "same")
        assert found in [other.encode() * 100_000 for other in "abc"], found
    await cache.close()

asyncio.run(main(*sys.argv[1:]))
"""


def _cache(
    url: str,
    max_bytes: int = MAX_BYTES,
    now: Callable[[], float] = time.time,
    *,
    busy_timeout_s: float = 30.0,
    patience_s: float | None = None,
) -> Cache:
    database = PostgresDatabase(url, package=_PACKAGE, busy_timeout_s=busy_timeout_s, patience_s=patience_s)
    return Cache(database, max_bytes=max_bytes, now=now)


class TestPostgresCache(CacheConformance):
    @pytest.fixture
    def open_cache(self, database_url: str, clock: Clock) -> OpenCache:
        return lambda max_bytes: _cache(database_url, max_bytes, clock)

    @pytest.fixture
    def damage_values(self, postgres: PostgresServer, database_url: str) -> Callable[[], None]:
        statement = "UPDATE deep_research.kept SET value = '\\x00ff00ff'"
        return lambda: postgres.execute(statement, url=database_url)


async def test_two_homes_with_one_database_share_their_values(database_url: str, tmp_path: Path) -> None:
    one, other = (
        open_cache_of(Settings(home=tmp_path / name, database_url=SecretStr(database_url))) for name in ("one", "two")
    )
    await one.put("search", "a", b"found", 60)
    assert await other.get("search", "a") == b"found"
    assert await other.clear() > 0
    assert await one.get("search", "a") is None
    await one.close()
    await other.close()
    assert not [*tmp_path.rglob("cache.db")]


async def test_processes_race_for_a_new_table_and_for_one_key(database_url: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, database_url, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = _cache(database_url, 10_000_000)
    assert len(await kept(cache, [f"{name}{number}" for name in "abc" for number in range(40)])) == 120
    assert await cache.size() < 121 * 1_500
    await cache.close()


async def test_two_that_make_room_at_once_keep_the_newest(database_url: str) -> None:
    clock = Clock()
    one, other = _cache(database_url, 100_000, clock), _cache(database_url, 100_000, clock)
    for number in range(20):
        clock.now += 1
        await asyncio.gather(
            one.put("page", f"one{number}", noise(number, 8_000), 600),
            other.put("page", f"two{number}", noise(100 + number, 8_000), 600),
        )
    assert await one.size() <= 100_000
    assert await kept(one, ["one0", "two0"]) == []
    assert await kept(one, ["one19", "two19"]) == ["one19", "two19"]
    await one.close()
    await other.close()


async def test_many_runs_that_each_put_little_keep_within_the_room(database_url: str) -> None:
    clock = Clock()
    for number in range(30):
        clock.now += 1
        cache = _cache(database_url, 1_000_000, clock)
        await cache.put("page", str(number), noise(number, 90_000), 600)
        await cache.close()
    cache = _cache(database_url, 1_000_000, clock)
    assert await cache.size() <= 1_000_000
    assert await kept(cache, ["0", "29"]) == ["29"]
    await cache.close()


async def test_a_process_opens_one_connection_for_all_its_look_ups(database_url: str) -> None:
    cache = _cache(database_url)
    await asyncio.gather(*(cache.get("page", str(number)) for number in range(50)))
    with psycopg.connect(database_url) as connection:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'deep-research' AND datname = %s"
        name = connection.info.dbname
        # One that was opened to look whether the database is there, and closed, may take a moment to go.
        await until(lambda: connection.execute(count, [name]).fetchall() == [(1,)])
    await cache.close()


async def test_a_run_sums_up_with_its_first_value_and_not_with_each(database_url: str) -> None:
    asked = []

    class Counted(PostgresDatabase):
        def ask(self, query, **values):
            asked.append(query)
            return super().ask(query, **values)

        def write(self, work):
            asked.append("write")
            return super().write(work)

    cache = Cache(Counted(database_url, package=_PACKAGE), max_bytes=10_000_000)
    for key in "ab":
        await cache.put("page", key, b"one", 60)
        await cache.get("page", key)
    assert asked == ["keep", "write", "find", "keep", "find"]
    await cache.close()


async def test_a_database_that_is_stopped_is_a_miss_and_one_that_returns_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deep_research.web.cache.cache._REST_S", 0.0)
    with postgres_server() as server:
        address = server.new_database()
        patient, cache = _cache(address), _cache(address, patience_s=0.2)
        await patient.put("page", "a", b"one", 600)
        await patient.close()
        server.stop()
        assert await cache.get("page", "a") is None
        await cache.put("page", "b", b"two", 600)
        assert (await cache.size(), await cache.clear()) == (0, 0)
        server.start()
        # It was shut down in order, so that nothing was lost.
        async with asyncio.timeout(HANG_S):
            while await cache.get("page", "a") != b"one":
                await asyncio.sleep(0.05)
        await cache.close()


@pytest.mark.parametrize("damage", ["DROP TABLE kept", "ALTER TABLE kept DROP COLUMN used_at"])
async def test_a_table_that_cannot_be_used_is_a_miss(
    postgres: PostgresServer, database_url: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = _cache(database_url)
    await cache.put("page", "a", b"one", 600)
    postgres.execute(damage.replace("kept", "deep_research.kept"), url=database_url)
    assert await cache.get("page", "a") is None
    await cache.put("page", "b", b"two", 600)
    assert "cannot be used just now" in caplog.text
    await cache.close()


async def test_a_database_that_is_not_there_is_a_miss(postgres: PostgresServer) -> None:
    cache = _cache(postgres.url("nowhere"), busy_timeout_s=0.2)
    await cache.put("page", "a", b"one", 600)
    assert await cache.get("page", "a") is None
    assert (await cache.size(), await cache.clear()) == (0, 0)
    await cache.close()
