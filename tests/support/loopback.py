"""What servers on this machine share: a thread and an event loop of their own, and plain HTTP/1.1.

Tests, child processes and benchmarks alike can talk to them, and none waits for another.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType
from typing import NamedTuple, Self


class Request(NamedTuple):
    """One request as it came; the names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class LoopbackServer(ABC):
    """Listens on one port of these loopback addresses as long as its context lasts."""

    def __init__(self, *, hosts: Sequence[str] = ("127.0.0.1",)) -> None:
        self.port = 0
        self._hosts = hosts
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    @abstractmethod
    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Write the answer to a request; a closed writer ends the connection."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        assert self.port, "the server could not listen"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(RuntimeError):  # It may have died before.
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def die(self) -> None:
        """Let go of all connections and listen no more; called from within an answer."""
        self._end.set()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        first = await asyncio.start_server(self._start, self._hosts[0], 0, backlog=1024)
        port = first.sockets[0].getsockname()[1]
        servers = [first]
        if len(self._hosts) > 1:
            servers.append(await asyncio.start_server(self._start, self._hosts[1:], port, backlog=1024))
        self.port = port
        self._ready.set()
        await self._end.wait()
        await stop_accepting(*servers)
        talks = dict(self._talks)
        for talk, writer in talks.items():
            talk.cancel()
            # Here and not in the talk: one that is cancelled before its first step runs nothing of its own.
            writer.transport.abort()
        await asyncio.gather(*talks, return_exceptions=True)

    def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The loop itself holds no task that waits for nobody.
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks[talk] = writer
        talk.add_done_callback(self._talks.pop)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                await self.answer(await _read(reader), writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def stop_accepting(*servers: asyncio.Server) -> None:
    """Close servers; whoever has connected by then is known to their protocol.

    On its own, `close` leaves a connection that is being accepted open for good: the warning about it fails whatever
    test comes next.
    """
    for server in servers:
        for listening in server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
    await asyncio.sleep(0)  # The transport of such a connection is made,
    await asyncio.sleep(0)  # and its protocol called.
    for server in servers:
        server.close()


async def _read(reader: asyncio.StreamReader) -> Request:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return Request(method, target, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def head_of(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the lines before the body of an answer."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Status"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
