"""A client for each event loop, which ends with it."""

import asyncio
import gc
import logging

import httpx2

from deep_research.web.net.per_loop import PerLoop


class Clients:
    """Makes clients and counts those that were closed."""

    def __init__(self) -> None:
        self.closed = 0

    def __call__(self) -> httpx2.AsyncClient:
        counting = self

        class Client(httpx2.AsyncClient):
            async def __aexit__(self, *_: object) -> None:
                await super().__aexit__()
                counting.closed += 1

        return Client()


async def test_all_who_come_at_once_share_one_and_closing_opens_anew():
    clients = Clients()
    held = PerLoop(clients)
    first, *others = await asyncio.gather(*(held.get() for _ in range(5)))
    assert all(other is first for other in others)
    await held.aclose()
    await held.aclose()
    assert clients.closed == 1
    assert await held.get() is not first
    await held.aclose()


def test_the_end_of_a_loop_closes_what_is_left_without_a_word(caplog):
    clients = Clients()
    held = PerLoop(clients)
    with caplog.at_level(logging.DEBUG):
        first, second = (asyncio.run(held.get()) for _ in range(2))
        gc.collect()
    assert first is not second
    assert clients.closed == 2
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
