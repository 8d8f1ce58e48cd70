"""A client for each event loop: connections belong to the loop that opened them."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import httpx2

# What is dropped unclosed stays open to the end of its event loop: closing it in between could be cancelled halfway.
_OPEN: dict[httpx2.AsyncClient, AsyncGenerator[None]] = {}


class PerLoop:
    """Opens a client on first use in a loop; `aclose` closes what this loop has, and the end of a loop what is left."""

    def __init__(self, new_client: Callable[[], httpx2.AsyncClient]) -> None:
        self._new_client = new_client
        self._clients: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}

    async def get(self) -> httpx2.AsyncClient:
        """Return this loop's own."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            # Of loops that ended there is nothing left to close.
            for ended in [other for other in self._clients if other.is_closed()]:
                del self._clients[ended]
            client = self._clients[loop] = self._new_client()
            _OPEN[client] = keeper = _keep_open(client)
            # Opening a client waits for nothing, so that nobody else comes in between.
            await anext(keeper)
        return self._clients[loop]

    async def aclose(self) -> None:
        """Close this loop's own; a later use opens a new one."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await _OPEN[client].aclose()


async def _keep_open(client: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """Hold a client open; an event loop that ends closes its generators, and with them the client."""
    try:
        async with client:
            yield
    finally:
        del _OPEN[client]
