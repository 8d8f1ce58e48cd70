"""Those who use the measured server, in a process of their own: readers of one run's events, and askers.

`python -m benchmarks.server_client readers HOST PORT PATH COUNT` says `ready` once all are connected, reads until all
streams have ended, and prints the seconds from each event's own time until each reader had it.
`python -m benchmarks.server_client requests HOST PORT SECONDS PATH` prints how many answers a second there were.
Imports nothing of the project.
"""

import asyncio
import json
import re
import sys
import time
from datetime import datetime

_AT = re.compile(rb'"at":"([^"]+)"')
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_AT_ONCE = 8
_CONNECT_AT_ONCE = 50


class Reader(asyncio.Protocol):
    """One connection; what comes is kept with its time and read afterwards."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pieces: list[tuple[float, bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.pieces.append((time.time(), data))
        if not self.began.done():
            self.began.set_result(None)

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set_result(None)

    def delays(self, since: float) -> list[float]:
        """Return the seconds that each event took, of those that happened after a time."""
        told = [(when, at.decode()) for when, data in self.pieces for at in _AT.findall(data)]
        ats = [(when, datetime.fromisoformat(at).timestamp()) for when, at in told]
        return [when - at for when, at in ats if at > since]


def _request(host: str, port: int, path: str, *, close: bool) -> bytes:
    ending = "close" if close else "keep-alive"
    return f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: {ending}\r\n\r\n".encode()


async def read(host: str, port: int, path: str, count: int) -> None:
    """Read a run's events over so many connections."""
    loop = asyncio.get_running_loop()
    request, readers = _request(host, port, path, close=True), list[Reader]()
    while len(readers) < count:
        some = [loop.create_connection(lambda: Reader(request), host, port) for _ in range(_CONNECT_AT_ONCE)]
        new = [reader for _, reader in await asyncio.gather(*some)]
        await asyncio.gather(*(reader.began for reader in new))
        readers += new
    await asyncio.sleep(1.0)
    print("ready", flush=True)
    since = time.time()
    await asyncio.gather(*(reader.ended for reader in readers))
    delays = [reader.delays(since) for reader in readers]
    print(json.dumps({"events": [len(each) for each in delays], "delays": sorted(d for each in delays for d in each)}))


async def ask(host: str, port: int, seconds: float, path: str) -> None:
    """Ask for one thing again and again over a few connections."""
    request, end, done = _request(host, port, path, close=False), time.monotonic() + seconds, 0

    async def one() -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection(host, port)
        while time.monotonic() < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = _LENGTH.search(head)
            assert length is not None, head
            await reader.readexactly(int(length[1]))
            done += 1
        writer.close()

    await asyncio.gather(*(one() for _ in range(_AT_ONCE)))
    print(json.dumps({"requests_a_second": done / seconds}))


if __name__ == "__main__":
    what, host, port, *rest = sys.argv[1:]
    if what == "readers":
        asyncio.run(read(host, int(port), rest[0], int(rest[1])))
    else:
        asyncio.run(ask(host, int(port), float(rest[0]), rest[1]))
