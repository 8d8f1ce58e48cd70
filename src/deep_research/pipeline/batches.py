"""Work in batches: the next batch begins when the one before is done."""

import asyncio


class Batches:
    """Lets work in until a batch is full, and more only when all of the batch is out again."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._let_in = self._inside = 0
        self._is_free = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._is_free:
            await self._is_free.wait_for(lambda: self._let_in < self._size)
            self._let_in += 1
            self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        if not self._inside:
            async with self._is_free:
                self._let_in = 0
                self._is_free.notify_all()
