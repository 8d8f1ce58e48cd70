"""PostgreSQL goes away, comes back, is busy, refuses or has another time: nothing is lost and nothing is doubled."""

import asyncio
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

import psycopg

from deep_research.errors import ConfigurationError, InputError, NewerStore, RunHeld, StoreLocked
from deep_research.events import RunEvent
from deep_research.storage.database.postgres import PostgresConnection, PostgresDatabase, display_name, load_statements
from deep_research.storage.database.queries import load_queries
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.store_samples import (
    BROKEN_TEXT,
    LEASE_S,
    make_document,
    make_event,
    make_run,
    make_status,
    opened,
    start_run,
)
from tests.support.waiting import wait_until

IMPATIENT_S = 3.0


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    """Start a server that may be killed."""
    with postgres_server(is_durable=True) as server:
        yield server


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    store = Store(PostgresDatabase(database_url))
    yield store
    await store.close()


@asynccontextmanager
async def changing(store: Store, lease: Lease) -> AsyncIterator[None]:
    """Let a store be in the middle of a transaction on a run."""
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        ended.wait()

    held = asyncio.create_task(store.while_owner(lease, wait))
    await asyncio.to_thread(begun.wait)
    try:
        yield
    finally:
        ended.set()
        await held


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
async def test_writes_go_on_when_the_database_was_restarted(durable: PostgresServer, how: signal.Signals) -> None:
    store = Store(PostgresDatabase(durable.new_database()))
    lease = await start_run(store)
    ended = threading.Event()
    told: list[RunEvent] = []

    def restart() -> None:
        for _ in range(3):
            before = len(told)
            wait_until(lambda before=before: len(told) > before + 3)  # type: ignore[misc]
            durable.stop(how)
            durable.start()
        ended.set()

    async def write(writer: int) -> None:
        number = 0
        while not ended.is_set():
            number += 1
            told.extend(await store.append_events(lease, [make_event(f"{writer}/{number}")]))

    restarts = asyncio.create_task(asyncio.to_thread(restart))
    await asyncio.gather(*(write(writer) for writer in range(3)), restarts)
    kept = await store.read_events(lease.run)
    await store.close()
    # A commit whose answer was lost is not done again, and whoever waited for it hears of its event all the same.
    assert sorted(told, key=lambda event: event.seq) == kept


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_a_write_that_was_kept_is_not_made_again_when_its_answer_was_lost(
    durable: PostgresServer, monkeypatch: pytest.MonkeyPatch, is_restarted: bool
) -> None:
    store = Store(PostgresDatabase(durable.new_database()))
    lease = await start_run(store)
    execute = PostgresConnection.execute
    lost: list[str] = []

    def lose_next_answer(self: PostgresConnection, query: str, *args: Any, **options: Any) -> Any:
        result = execute(self, query, *args, **options)
        if query == "COMMIT" and not lost:
            lost.append(self.name)
            self.close()
            if is_restarted:
                durable.stop(signal.SIGQUIT)
                durable.start()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return result

    monkeypatch.setattr(PostgresConnection, "execute", lose_next_answer)
    assert [event.seq for event in await store.append_events(lease, [make_event("a")])] == [1]
    assert len(lost) == 1
    lost.clear()
    assert await store.put_answer(lease.run, "plan", "yes")
    assert len(lost) == 1
    lost.clear()
    await store.create_run(make_run("another"))
    assert len(lost) == 1
    await store.close()


async def test_a_database_that_stays_away_is_told_and_found_again(durable: PostgresServer) -> None:
    store = Store(PostgresDatabase(durable.new_database(), busy_timeout_s=IMPATIENT_S))
    lease = await start_run(store)
    durable.stop()
    try:
        with pytest.raises(StoreLocked, match="could not be reached"):
            await store.append_events(lease, [make_event("a")])
        with pytest.raises(StoreLocked, match="could not be reached"):
            await store.read_events(lease.run)
        with pytest.raises(StoreLocked, match="could not be reached"):
            await Store(PostgresDatabase(durable.url("never_seen"), busy_timeout_s=IMPATIENT_S)).size()
    finally:
        durable.start()
    for _ in range(20):
        with suppress(StoreLocked):
            assert [event.seq for event in await store.append_events(lease, [make_event("b")])] == [1]
            break
    await store.close()


async def test_a_refused_connection_is_told_at_once_without_the_password(postgres: PostgresServer) -> None:
    url = postgres.url("nowhere").replace("tester@", "tester:much-too-secret@")
    store = Store(PostgresDatabase(url))
    with pytest.raises(ConfigurationError, match="nowhere") as caught:
        await store.size()
    await store.close()
    assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r} {display_name(url)}"
    with pytest.raises(ConfigurationError, match="no address") as caught:
        PostgresDatabase("postgresql://me:secret@[::1")
    assert "secret" not in str(caught.value)


async def test_whoever_finds_no_free_connection_waits_and_is_told(database_url: str) -> None:
    busy = Store(PostgresDatabase(database_url, max_connections=1))
    waiting = Store(PostgresDatabase(database_url, busy_timeout_s=IMPATIENT_S))
    lease = await start_run(busy)
    async with changing(busy, lease):
        with pytest.raises(StoreLocked, match="no connection free"):
            await waiting.heartbeat(lease, current_owner(), active_s=1.0)
    await waiting.heartbeat(lease, current_owner(), active_s=1.0)
    assert (await busy.get_run(lease.run)).active_s == 1.0
    await asyncio.gather(busy.close(), waiting.close())


async def test_a_run_that_another_process_is_changing_is_waited_for(database_url: str) -> None:
    store, other = (Store(PostgresDatabase(database_url, busy_timeout_s=IMPATIENT_S)) for _ in range(2))
    lease = await start_run(store)
    async with changing(store, lease):
        with pytest.raises(StoreLocked, match="stayed locked"):
            await other.append_events(lease, [make_event("a")])
        await other.create_run(make_run("run-2"))
        assert (await other.get_run(lease.run)).status == "running"
    assert await other.append_events(lease, [make_event("a")])
    await asyncio.gather(store.close(), other.close())


async def test_many_who_open_an_empty_database_make_its_tables_once(database_url: str) -> None:
    stores = [Store(PostgresDatabase(database_url)) for _ in range(6)]
    assert {(await store.size()).runs for store in stores[:1]} == {0}
    sizes = await asyncio.gather(*(store.size() for store in stores))
    assert {size.runs for size in sizes} == {0}
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_newer_schema_is_refused(postgres: PostgresServer, database_url: str) -> None:
    async with opened(lambda: Store(PostgresDatabase(database_url))) as store:
        await store.size()
    postgres.execute("UPDATE deep_research.schema_numbers SET number = 99", url=database_url)
    newer = Store(PostgresDatabase(database_url))
    with pytest.raises(NewerStore, match="99"):
        await newer.size()
    await newer.close()


@pytest.mark.parametrize("name", [BROKEN_TEXT, "before\x00after"])
async def test_names_that_no_database_takes_are_refused(store: Store, name: str) -> None:
    lease = await start_run(store)
    with pytest.raises(InputError):
        await store.put_document(lease, make_document("text"), address=name)
    await store.put_document(lease, make_document("text"), address="https://example.org/" + "x" * 8_000)


async def test_a_host_whose_clock_is_wrong_keeps_its_run_and_steals_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create_run(make_run())
    real = time.time
    for ahead_s in (3_600, -3_600):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(time, "time", lambda ahead_s=ahead_s: real() + ahead_s)
            there = current_owner().model_copy(update={"host": "elsewhere"})
            lease = await store.lease("a1b2c3d4", there, lease_s=LEASE_S)
        with pytest.raises(RunHeld):
            await store.lease("a1b2c3d4", current_owner(), lease_s=LEASE_S)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(time, "time", lambda ahead_s=ahead_s: real() - ahead_s)
            with pytest.raises(RunHeld):
                await store.lease("a1b2c3d4", current_owner(), lease_s=LEASE_S)
        await store.finish(lease, "interrupted", event=make_status("interrupted"))


async def test_content_that_a_run_keeps_is_not_removed_with_another_run(database_url: str) -> None:
    store, other = (Store(PostgresDatabase(database_url)) for _ in range(2))
    keeper = await start_run(store, "keeper")
    for number in range(15):
        run, raw = f"short-{number}", f"content {number}".encode()
        lease = await start_run(other, run)
        blob = await other.put_blob(lease, raw)
        await other.put_document(lease, make_document(f"text {number}"), address="a")
        await other.finish(lease, "done", event=make_status("done"))
        document = make_document(f"text {number}")
        await asyncio.gather(
            store.put_blob(keeper, raw),
            store.put_document(keeper, document, address=f"a{number}"),
            other.delete_run(run, current_owner()),
        )
        assert await store.get_blob(blob) == raw
        assert (await other.get_document(document.id)).text == document.text
    await asyncio.gather(store.close(), other.close())


def test_texts_are_ordered_by_bytes_in_every_column(postgres: PostgresServer, database_url: str) -> None:
    asyncio.run(_open(database_url))
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
            "JOIN pg_collation ON pg_collation.oid = attcollation "
            "WHERE relnamespace = 'deep_research'::regnamespace AND relkind = 'r' AND attnum > 0 AND collname <> 'C'"
        ).fetchall()
    assert found == []


async def _open(url: str) -> None:
    async with opened(lambda: Store(PostgresDatabase(url))) as store:
        await store.size()


@pytest.mark.parametrize("package", ["deep_research.storage.store", "deep_research.service", "deep_research.web.cache"])
def test_statements_for_postgresql_repeat_those_of_sqlite(package: str) -> None:
    # SQLite lists runs in steps, to pass over damaged rows.
    assert set(load_statements(package)) - set(load_queries(package)) <= {"list_runs"}
    assert [text for text in load_statements(package).values() if re.search(r"(?<![:?]):[a-z]", text)] == []
