"""The server as a process: it listens, says where, and ends at once when it is told to."""

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deep_research.errors import UsageError

# How long requests may take to end once the server was told to stop.
_STOP_S = 5
# Longer than proxies keep a connection that rests, mostly 60 s: a request must not meet one that we are closing.
_KEEP_ALIVE_S = 75
_MAX_CONNECTIONS = 1_000


def bind(host: str, port: int) -> socket.socket:
    """Return a socket at an address, or say in words why there is none."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
        # A server that is started again must not wait until the connections of the one before are forgotten.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as exc:
        why = "is in use" if exc.errno == errno.EADDRINUSE else f"cannot be used ({exc.strerror})"
        raise UsageError(f"The address {host} port {port} {why}: choose another with --port (0 for any).") from None
    bound.set_inheritable(False)
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address to open in a browser on this machine."""
    host, port = bound.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Protocol(HttpToolsProtocol):
    """A connection on which a request must begin and its head be sent in time; where there are too many, one goes.

    The library itself waits for ever for the first request, and for the rest of any.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the library
        """Wait for the first request; let go of who has waited longest where there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > _max_connections():
            others = (each for each in self.connections if isinstance(each, _Protocol) and each is not self)
            waiting = {each: each._waiting.when() for each in others if each._waiting is not None}
            min(waiting, key=waiting.__getitem__, default=self).transport.close()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._end_waiting()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin with a request: what it sends further is waited for by whoever reads it."""
        self._end_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._end_waiting()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._wait()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_KEEP_ALIVE_S, self.transport.close)

    def _end_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _max_connections() -> int:
    """Return how many connections there may be; half of the files that may be open is left for the work."""
    try:
        import resource
    except ImportError:  # On Windows there is no such limit.
        return _MAX_CONNECTIONS
    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Server(uvicorn.Server):
    """Tells once it can be used; as it stops, it lets the readers of events go before it waits for requests to end."""

    def __init__(self, app: FastAPI, bound: socket.socket, on_listening: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=_Protocol,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_STOP_S,
            timeout_keep_alive=_KEEP_ALIVE_S,
            # What proxies say is read by our own rules (server/origin.py); the library would believe anybody on
            # loopback.
            proxy_headers=False,
            server_header=False,
        )
        super().__init__(config)
        self._app, self._bound, self._on_listening = app, bound, on_listening

    def listen(self) -> None:
        """Serve until the process is told to stop."""
        # Threads that read documents give way to requests five times sooner than they would.
        sys.setswitchinterval(0.001)
        self.run(sockets=[self._bound])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and tell."""
        await super().startup(sockets)
        if self.started:
            self._on_listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the readers of events go, then everybody else."""
        self._app.state.service.feed.close()
        await super().shutdown(sockets)
