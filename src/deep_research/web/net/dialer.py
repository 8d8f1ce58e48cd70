"""The one place that opens a socket for a page: it looks the name up, checks all answers and connects to one of them.

These are one step, so that a name cannot change its address between check and use.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address

import httpcore2

from deep_research.errors import NetworkError
from deep_research.web.net.guard import Guard, IpAddress, check_ip, ip_literal

Addresses = tuple[IpAddress, ...]
# Gives the addresses of a host at a port, the preferred one first, or raises `NetworkError`.
Resolver = Callable[[str, int], Awaitable[Addresses]]


async def resolved_by_system(host: str, port: int, *, timeout_s: float = 5.0) -> Addresses:
    """Return what the system says, as to every other program; the look-up is left behind when its time is over."""
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[Addresses] = loop.create_future()

    def set_result(found: Addresses) -> None:
        if not resolved.done():
            resolved.set_result(found)

    def resolve_in_thread() -> None:
        found = _resolve(host, port)
        # The loop may be gone by the time a slow name server answers.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_result, found)

    # A thread of its own and a daemon: the system's look-up cannot be cancelled, and must hold up neither the look-ups
    # of other names nor the end of the process.
    threading.Thread(target=resolve_in_thread, name="look-up", daemon=True).start()
    try:
        async with asyncio.timeout(timeout_s):
            found = await resolved
    except TimeoutError as exc:
        raise NetworkError(f"The name {host} could not be looked up within {timeout_s:g} s.") from exc
    if not found:
        raise NetworkError(f"The name {host} is not known.")
    return found


def _resolve(host: str, port: int) -> Addresses:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(ip_address(str(socket_address[0])) for *_, socket_address in infos))


_MAX_TRIES = 3


class Dialer(httpcore2.AsyncNetworkBackend):
    """Connects to checked IP addresses only; the HTTP library above keeps the name for TLS and the Host header."""

    def __init__(self, guard: Guard, resolver: Resolver, network: httpcore2.AsyncNetworkBackend) -> None:
        self._guard = guard
        self._resolver = resolver
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 the HTTP library's own interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of the host that answers; the tries share the time."""
        addresses = (await self._checked_addresses(host, port))[:_MAX_TRIES]
        each_s = timeout and timeout / len(addresses)

        async def dial(ip: IpAddress) -> httpcore2.AsyncNetworkStream:
            return await self._network.connect_tcp(str(ip), port, each_s, local_address, socket_options)

        for ip in addresses[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await dial(ip)
        return await dial(addresses[-1])

    async def _checked_addresses(self, host: str, port: int) -> Addresses:
        literal = ip_literal(host)
        addresses = (literal,) if literal else await self._resolver(host, port)
        if not self._guard.allows(host, port):
            for ip in addresses:
                check_ip(ip)
        return addresses
