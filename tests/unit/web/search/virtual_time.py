"""Time that passes only when everybody waits."""

import asyncio
import heapq
from collections.abc import Coroutine
from itertools import count
from typing import Any


class VirtualTime:
    """A clock and a sleep; `run` moves from one sleeper's waking to the next."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now_s + seconds, next(self._numbers), woken))
        await woken

    async def run(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        """Return what each gives or raises, in the order in which they were begun."""
        tasks = [asyncio.ensure_future(each) for each in work]
        while not await self._settled(tasks):
            at_s, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                self.now_s = max(self.now_s, at_s)
                woken.set_result(None)
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def _settled(self, tasks: list[asyncio.Task[Any]]) -> bool:
        for _ in range(20):
            await asyncio.sleep(0)
        return all(task.done() for task in tasks)
