"""One of a thing for each event loop, whatever goes wrong when it is opened."""

import asyncio
import gc
import logging

import pytest

from deep_research.net.per_loop import PerLoop


class Things:
    """Opens numbered things, slowly; `failures` of them fail first."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.opened, self.closed = failures, 0, 0

    def __call__(self) -> "Things":
        return self

    async def __aenter__(self) -> int:
        await asyncio.sleep(0)
        self.opened += 1
        if self.opened <= self.failures:
            raise OSError("not now")
        return self.opened

    async def __aexit__(self, *_: object) -> None:
        self.closed += 1


async def test_all_who_come_at_once_share_one_and_closing_opens_anew():
    things = Things()
    held = PerLoop(things)
    assert await asyncio.gather(*(held.get() for _ in range(5))) == [1] * 5
    await held.aclose()
    await held.aclose()
    assert (things.closed, await held.get()) == (1, 2)
    await held.aclose()


async def test_an_open_that_failed_or_was_given_up_is_tried_again():
    held = PerLoop(Things(failures=1))
    with pytest.raises(OSError, match="not now"):
        await held.get()
    waiting = asyncio.create_task(held.get())
    await asyncio.sleep(0)
    waiting.cancel()
    assert await held.get() == 2
    await held.aclose()


def test_the_end_of_a_loop_closes_what_is_left_without_a_word(caplog):
    things = Things()
    held = PerLoop(things)
    with caplog.at_level(logging.DEBUG):
        for number in (1, 2):
            assert asyncio.run(held.get()) == number
            gc.collect()
    assert things.closed == 2
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
