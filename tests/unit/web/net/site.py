"""A small server on loopback that says exactly what it is told to, and the ways to it that tests need."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import h2.config
import h2.connection
import h2.events
import httpcore2

from deep_research.errors import NetworkError
from deep_research.web.net.client import ClientLimits, GuardedClient
from deep_research.web.net.guard import Guard, IpAddress
from tests.support.loopback import stop_accepting

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]
# A public address that no test ever reaches: `Wires` leads to loopback instead.
PUBLIC_IP = "93.184.215.14"


def page(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """Return a whole answer; a Content-Length is added unless the headers speak of the length themselves."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    """Return a redirect with a little page of its own, as servers send it."""
    return page(b"<a>moved</a>", f"Location: {to}", status=status)


class Site:
    """Answers each path with fixed bytes or by a function that writes; counts connections and keeps request heads."""

    def __init__(
        self,
        pages: Mapping[str, bytes | Speak],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        status: str = "200",
    ) -> None:
        self.pages = pages
        self.heads: list[str] = []
        self.connections = 0
        self.in_flight = 0
        self.peak = 0
        self.port = port
        self.status = status
        self._host = host
        self._tls = tls
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def paths(self) -> list[str]:
        """The paths asked for, in order."""
        return [head.split()[1] for head in self.heads]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._start, self._host, self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await stop_accepting(self._server)
        for talk, writer in self._talks.items():
            talk.cancel()
            writer.transport.abort()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._talks[asyncio.ensure_future(self._serve(reader, writer))] = writer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.converse(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests over HTTP/1.1 until the client goes."""
        while not writer.is_closing():
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            try:
                answer = self.pages[head.split()[1]]
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    await answer(writer)
                await writer.drain()
            finally:
                self.in_flight -= 1


class Http2Site(Site):
    """The same over HTTP/2: the bodies of the pages, given as bytes."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each stream with its page."""
        speaker = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)
        )
        speaker.initiate_connection()
        writer.write(speaker.data_to_send())
        while data := await reader.read(65536):
            for event in speaker.receive_data(data):
                if isinstance(event, h2.events.RequestReceived) and event.headers and event.stream_id:
                    fields = dict(event.headers)
                    self.heads.append(f"GET {fields[b':path'].decode()} {fields[b':authority'].decode()}")
                    body = self.pages[fields[b":path"].decode()]
                    assert isinstance(body, bytes)
                    speaker.send_headers(event.stream_id, [(":status", self.status)])
                    for start in range(0, len(body), 16384):
                        speaker.send_data(event.stream_id, body[start : start + 16384])
                    speaker.end_stream(event.stream_id)
            writer.write(speaker.data_to_send())
            await writer.drain()


class ListedNames:
    """A resolver that gives each name its answers one after the other, the last one for ever."""

    def __init__(self, names: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._names = {name: list(answers) for name, answers in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> tuple[IpAddress, ...]:
        """Return the next answer for the name."""
        self.asked.append(host)
        answers = self._names.get(host)
        if not answers:
            raise NetworkError(f"The name {host} is not known.")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(ip_address(ip) for ip in answer)


class Wires(httpcore2.AsyncNetworkBackend):
    """A network on which every address leads to one port of loopback, and which remembers the addresses."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.dialled: list[tuple[str, int]] = []

    async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        """Note where the connection should have gone."""
        self.dialled.append((host, port))
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self._port, timeout)


def client_of(*sites: Site, **limits: float) -> GuardedClient:
    """Return a client that may reach these sites, and nothing else that is not public, as 127.0.0.1."""
    guard = Guard(allowed={f"127.0.0.1:{site.port}" for site in sites})
    return GuardedClient(guard, limits=ClientLimits.model_validate(limits), resolver=ListedNames({}))
