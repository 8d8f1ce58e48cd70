"""The one place that opens a socket for a page: it looks the name up, checks all answers and connects to one of them.

These are one step, so that a name cannot change its address between check and use.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import httpcore2

from deep_research.errors import NetworkError
from deep_research.net.guard import Guard, IpAddress, check_ip, ip_literal
from deep_research.net.resolver import Resolver

_MAX_TRIES: Final = 3


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

    async def _checked_addresses(self, host: str, port: int) -> tuple[IpAddress, ...]:
        literal = ip_literal(host)
        addresses = (literal,) if literal else await self._resolver.resolve(host, port)
        if not addresses:
            raise NetworkError(f"The name {host} is not known.")
        if not self._guard.allows(host, port):
            for ip in addresses:
                check_ip(ip)
        return addresses
