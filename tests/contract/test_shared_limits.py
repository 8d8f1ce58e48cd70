"""Limits that processes share in PostgreSQL: never more calls in flight, or in a time, than allowed."""

import asyncio
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from deep_research.web.search.rate_limiter import RateLimit, RateLimiter
from tests.support.waiting import HANG_S

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg

from deep_research.storage.database.postgres import PostgresDatabase
from deep_research.web.shared_limits import postgres
from deep_research.web.shared_limits.postgres import SharedLimiter

_PACKAGE = "deep_research.web.shared_limits"
# Takes a slot again and again, and notes how many calls of all processes are under way; the note is a row each.
_WORKER = """
import asyncio, sys, psycopg
from deep_research.web.shared_limits.postgres import SharedLimiter
from deep_research.storage.database.postgres import PostgresDatabase

async def main(url, most, tasks, calls):
    limits = SharedLimiter(PostgresDatabase(url, package="deep_research.web.shared_limits"))
    log = await psycopg.AsyncConnection.connect(url, autocommit=True)
    lock = asyncio.Lock()
    async def note(step):
        async with lock:
            await log.execute("INSERT INTO steps (step) VALUES (%s)", [step])
    async def task():
        for _ in range(calls):
            async with limits.slot("model", most):
                await note(1)
                await asyncio.sleep(0.01)
                await note(-1)
    await asyncio.gather(*(task() for _ in range(tasks)))
    await limits.close()

asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
"""


class _Counted(PostgresDatabase):
    """Counts what it is asked."""

    def __init__(self, url: str) -> None:
        super().__init__(url, package=_PACKAGE)
        self.asked: list[str] = []

    def ask(self, query, **values):
        self.asked.append(query)
        return super().ask(query, **values)


def _limits(url: str) -> SharedLimiter:
    return SharedLimiter(PostgresDatabase(url, package=_PACKAGE))


def test_three_processes_never_have_more_calls_in_flight_than_allowed_and_all_get_their_turn(
    database_url: str, tmp_path: Path
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(_WORKER)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE steps (number BIGSERIAL, step INT, worker INT DEFAULT pg_backend_pid())")
        workers = [subprocess.Popen([sys.executable, str(script), database_url, "3", "5", "6"]) for _ in range(3)]
        assert [worker.wait(HANG_S) for worker in workers] == [0, 0, 0]
        (most, calls) = connection.execute(
            "SELECT max(sum), count(*) FILTER (WHERE step > 0) "
            "FROM (SELECT step, sum(step) OVER (ORDER BY number) FROM steps) AS counted"
        ).fetchall()[0]
        assert (most, calls) == (3, 90)
        assert connection.execute("SELECT count(*) FROM deep_research.call_slots").fetchall() == [(0,)]


@pytest.mark.asyncio
async def test_slots_of_a_killed_process_come_free(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "LEASE_S", 1.0)
    code = (
        "import asyncio, sys\n"
        "from deep_research.web.shared_limits import postgres\n"
        "from deep_research.storage.database.postgres import PostgresDatabase\n"
        "postgres.LEASE_S = 1.0\n"
        "async def main():\n"
        f"    limits = postgres.SharedLimiter(PostgresDatabase(sys.argv[1], package={_PACKAGE!r}))\n"
        "    async with limits.slot('model', 1):\n"
        "        print('in', flush=True)\n"
        "        await asyncio.sleep(100)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, database_url], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "in\n"
        worker.send_signal(signal.SIGKILL)
    limits = _limits(database_url)
    async with asyncio.timeout(HANG_S), limits.slot("model", 1):
        pass
    await limits.close()


@pytest.mark.asyncio
async def test_a_process_that_waits_gets_an_equal_share_of_one_that_has_all(database_url: str) -> None:
    greedy, late = _limits(database_url), _limits(database_url)
    begun: list[str] = []

    async def call(limits: SharedLimiter, name: str) -> None:
        async with limits.slot("model", 2):
            begun.append(name)
            await asyncio.sleep(0.3)

    calls = [asyncio.create_task(call(greedy, "greedy")) for _ in range(60)]
    while not begun:
        await asyncio.sleep(0.01)
    async with asyncio.timeout(HANG_S):
        await call(late, "late")
    assert begun.count("greedy") < 60
    for task in calls:
        task.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await greedy.close()
    await late.close()


@pytest.mark.asyncio
async def test_calls_one_after_the_other_ask_the_database_less_than_once_each(database_url: str) -> None:
    database = _Counted(database_url)
    limits = SharedLimiter(database)
    for _ in range(50):
        async with limits.slot("model", 16):
            await asyncio.sleep(0)
    async with AsyncExitStack() as stack:
        for _ in range(16):
            await stack.enter_async_context(limits.slot("model", 16))
    await limits.close()
    assert len(database.asked) < 66


@pytest.mark.asyncio
async def test_turns_are_given_once_over_all_processes(database_url: str) -> None:
    one, other = _limits(database_url), _limits(database_url)
    waits = [
        await limits.reserve_slot("arXiv", calls=2, per_s=30.0, within_s=100.0)
        for limits in (one, other, one, other, one)
    ]
    assert waits[0] == waits[1] == 0.0
    assert [round(wait / 30) for wait in waits] == [0, 0, 1, 1, 2]
    refused = await other.reserve_slot("arXiv", calls=2, per_s=30.0, within_s=15.0)
    assert round(refused / 30) == 2
    # It took no turn: who is patient still has the one that it was told of.
    assert round(await one.reserve_slot("arXiv", calls=2, per_s=30.0, within_s=100.0) / 30) == 2
    await one.pause("GitHub", 600.0)
    assert await other.reserve_slot("GitHub", calls=2, per_s=1.0, within_s=15.0) > 500
    await one.close()
    await other.close()


@pytest.mark.asyncio
async def test_a_service_without_a_limit_costs_no_round_trip(database_url: str) -> None:
    database = _Counted(database_url)
    limits = SharedLimiter(database)

    def limiter(limit: RateLimit | None) -> RateLimiter:
        loop = asyncio.get_running_loop()
        return RateLimiter("A service", limit, clock=loop.time, sleep=asyncio.sleep, shared=limits, key="a")

    await limiter(None).acquire()
    await limiter(None).pause(1.0)
    assert database.asked == []
    await limiter(RateLimit(5, 1.0)).acquire()
    assert database.asked == ["take_turn"]
    await limits.close()
