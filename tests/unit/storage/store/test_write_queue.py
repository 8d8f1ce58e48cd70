"""Writes that come at once are kept together, and one that fails takes no other with it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from deep_research.errors import StoreLocked, UsageError
from deep_research.storage.database.port import Session
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.store import WriteQueue
from tests.support.waiting import until


class CountingFile(SqliteFile):
    """Counts the transactions that were asked for."""

    transactions = 0

    def write(self, work):
        self.transactions += 1
        return super().write(work)


@contextmanager
def queue_on(path):
    file = CountingFile(path / "store.db", busy_timeout_s=1)
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            yield WriteQueue(file, thread), file
        finally:
            thread.submit(file.close).result()


def keep(name: str) -> Callable[[Session], int]:
    return lambda session: session.run("add_blob", id=name, size=0, packed=b"", object=None)


def count_blobs(session):
    return session.all("measure")[0]["blobs"]


def failing(_session):
    raise UsageError("not this one")


async def test_writes_at_once_share_a_transaction(tmp_path):
    with queue_on(tmp_path) as (queue, file):
        await asyncio.gather(*(queue.write(keep(f"blob {number}")) for number in range(200)))
        assert file.transactions < 50
        assert await queue.write(count_blobs) == 200


async def test_a_write_that_fails_takes_no_other_with_it(tmp_path):
    with queue_on(tmp_path) as (queue, _):
        works = [keep("one"), failing, keep("two"), failing, keep("three")]
        told = await asyncio.gather(*map(queue.write, works), return_exceptions=True)
        assert [type(one) for one in told] == [int, UsageError, int, UsageError, int]
        assert await queue.write(count_blobs) == 3


async def test_what_must_not_be_done_twice_is_done_once(tmp_path):
    done = []
    with queue_on(tmp_path) as (queue, _):
        alone = [queue.write(lambda _, n=number: done.append(n), in_own_transaction=True) for number in range(3)]
        await asyncio.gather(queue.write(failing), *alone, queue.write(failing), return_exceptions=True)
    assert done == [0, 1, 2]


async def test_a_write_that_nobody_waits_for_any_more_is_not_begun(tmp_path):
    with queue_on(tmp_path) as (queue, _):
        begun, blocked = threading.Event(), threading.Event()

        def block(_session):
            begun.set()
            blocked.wait()

        first = asyncio.create_task(queue.write(block))
        await until(begun.is_set)
        given_up = asyncio.create_task(queue.write(keep("given up")))
        wanted = asyncio.create_task(queue.write(keep("wanted")))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        blocked.set()
        await asyncio.gather(first, wanted)
        assert await queue.write(count_blobs) == 1


async def test_a_file_that_stays_locked_is_waited_for_once(tmp_path):
    with queue_on(tmp_path) as (queue, file):
        await queue.write(keep("first"))
        file.transactions = 0

        def locked(_session):
            raise StoreLocked("still")

        told = await asyncio.gather(*(queue.write(locked) for _ in range(20)), return_exceptions=True)
        assert {type(one) for one in told} == {StoreLocked}
        assert file.transactions <= 3
