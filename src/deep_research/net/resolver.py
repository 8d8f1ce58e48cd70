"""Names to IP addresses. Whether an address may be used is for the guard to say."""

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import ip_address
from typing import Protocol

from deep_research.errors import NetworkError
from deep_research.net.guard import IpAddress


class Resolver(Protocol):
    """Looks names up."""

    async def resolve(self, host: str, port: int) -> tuple[IpAddress, ...]:
        """Return the addresses of a host, the preferred one first, or raise `NetworkError`."""
        ...


class SystemResolver:
    """Asks the system, as every other program on the machine does."""

    def __init__(self, *, timeout_s: float = 5.0) -> None:
        self._timeout_s = timeout_s

    async def resolve(self, host: str, port: int) -> tuple[IpAddress, ...]:
        """Return the addresses of a host; the look-up is left behind when its time is over."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[IpAddress, ...]] = loop.create_future()

        def settle(found: tuple[IpAddress, ...]) -> None:
            if not answer.done():
                answer.set_result(found)

        def look_up() -> None:
            found = _look_up(host, port)
            # The loop may be gone by the time a slow name server answers.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, found)

        # A thread of its own and a daemon: the system's look-up cannot be cancelled, and must hold up neither the
        # look-ups of other names nor the end of the process.
        threading.Thread(target=look_up, name="look-up", daemon=True).start()
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await answer
        except TimeoutError as exc:
            raise NetworkError(f"The name {host} could not be looked up within {self._timeout_s:g} s.") from exc
        if not found:
            raise NetworkError(f"The name {host} is not known.")
        return found


def _look_up(host: str, port: int) -> tuple[IpAddress, ...]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(ip_address(str(place[0])) for *_, place in answers))
