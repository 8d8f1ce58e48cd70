"""One of a thing for each event loop: connections belong to the loop that opened them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")
# Gives what opens and closes a thing.
Opens = Callable[[], AbstractAsyncContextManager[T]]
# What is dropped unclosed stays open to the end of its event loop: closing it in between could be cancelled halfway.
_OPEN: dict[object, AsyncGenerator[object]] = {}


class PerLoop(Generic[T]):
    """Opens on first use in a loop; `aclose` closes what this loop has, and the end of a loop what is left."""

    def __init__(self, opens: Opens[T]) -> None:
        self._opens = opens
        self._held: dict[asyncio.AbstractEventLoop, asyncio.Task[tuple[T, AsyncGenerator[T]]]] = {}

    async def get(self) -> T:
        """Return this loop's own; who comes while it is opened waits for it, and an open that fails is tried again."""
        loop = asyncio.get_running_loop()
        if loop not in self._held or _has_failed(self._held[loop]):
            # Of loops that ended there is nothing left to close.
            for ended in [other for other in self._held if other.is_closed()]:
                del self._held[ended]
            self._held[loop] = loop.create_task(_opened(self._opens))
        thing, _ = await asyncio.shield(self._held[loop])
        return thing

    async def aclose(self) -> None:
        """Close this loop's own; a later use opens a new one."""
        held = self._held.pop(asyncio.get_running_loop(), None)
        if held is not None and not _has_failed(held):
            _, keeper = await held
            await keeper.aclose()


def _has_failed(opening: "asyncio.Task[tuple[T, AsyncGenerator[T]]]") -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)


async def _opened(opens: Opens[T]) -> tuple[T, AsyncGenerator[T]]:
    key = object()
    keeper = _kept(opens, key)
    thing = await anext(keeper)
    _OPEN[key] = keeper
    return thing, keeper


async def _kept(opens: Opens[T], key: object) -> AsyncGenerator[T]:
    """Yield one thing and hold it; an event loop that ends closes its generators, and with them the thing."""
    try:
        async with opens() as thing:
            yield thing
    finally:
        _OPEN.pop(key, None)
