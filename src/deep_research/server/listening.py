"""The server as a process: it listens, says where, and ends at once when it is told to."""

import errno
import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address

import uvicorn
from fastapi import FastAPI

from deep_research.errors import UsageError

# How long requests may take to end once the server was told to stop.
_STOP_S = 5
# Longer than proxies keep a connection that rests, mostly 60 s: a request must not meet one that we are closing.
_KEEP_ALIVE_S = 75


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


class Server(uvicorn.Server):
    """Tells once it can be used; as it stops, it lets the readers of events go before it waits for requests to end."""

    def __init__(self, app: FastAPI, bound: socket.socket, on_listening: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
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
