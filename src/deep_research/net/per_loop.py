"""One of a thing for each event loop: connections belong to the loop that opened them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Generic, TypeVar

T = TypeVar("T")
# What is dropped unclosed stays open to the end of its event loop: closing it in between could be cancelled halfway.
_OPEN: Final[dict[object, AsyncGenerator[object]]] = {}


class PerLoop(Generic[T]):
    """Opens on first use in a loop; `aclose` closes what this loop has, and the end of a loop what is left."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opened = opened
        self._held: dict[asyncio.AbstractEventLoop, AsyncGenerator[T]] = {}

    async def get(self) -> T:
        """Return this loop's own."""
        loop = asyncio.get_running_loop()
        if loop not in self._held:
            # Of loops that ended there is nothing left to close.
            for ended in [other for other in self._held if other.is_closed()]:
                del self._held[ended]
            key = object()
            _OPEN[key] = self._held[loop] = _again_and_again(self._opened, key)
        return await anext(self._held[loop])

    async def aclose(self) -> None:
        """Close this loop's own; a later use opens a new one."""
        if held := self._held.pop(asyncio.get_running_loop(), None):
            await held.aclose()


async def _again_and_again(opened: Callable[[], AbstractAsyncContextManager[T]], key: object) -> AsyncGenerator[T]:
    """Yield one thing for ever; an event loop that ends closes its generators, and with them the thing."""
    try:
        async with opened() as thing:
            while True:
                yield thing
    finally:
        _OPEN.pop(key, None)
