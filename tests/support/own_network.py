"""A process in a network of its own, a namespace of Linux: it reaches what is forwarded to it, and can be cut off.

Two forwarders pass connections on through a Unix socket, which belongs to no network: one listens within, at every
address of loopback, the other connects from the test's own network.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.loopback import stop_accepting
from tests.support.waiting import HANG_S

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_ROOT = Path(__file__).parents[2]
_numbers = count(1)


def is_possible() -> bool:
    """Return whether namespaces can be made here: it takes root on Linux, and iproute2."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    name = f"probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True).returncode == 0
    if made:
        _ip("netns", "del", name)
    return made


class OwnNetwork:
    """One namespace; `places` are the Unix sockets behind some ports, all others lead to the same address outside."""

    def __init__(self, folder: Path, ports: tuple[int, ...], places: Mapping[int, Path]) -> None:
        self.name = f"test-{os.getpid()}-{next(_numbers)}"
        self._socket = folder / f"{self.name}.sock"
        self._ports = (*ports, *places)
        self._places = places
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._forward, name=self.name, daemon=True)
        self._inside: subprocess.Popen[bytes] | None = None

    def command(self, arguments: list[str]) -> list[str]:
        """Return what starts a program in this network, on a host of its name, in the same process that is started."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        return ["ip", "netns", "exec", self.name, *named, *arguments]

    def cut_off(self) -> None:
        """Take its only link down: nothing is reached, and nothing is said about it."""
        _ip("-n", self.name, "link", "set", "lo", "down")

    def bring_back(self) -> None:
        """Bring the link up again."""
        _ip("-n", self.name, "link", "set", "lo", "up")

    def start(self) -> None:
        """Make the namespace and start both forwarders."""
        _ip("netns", "add", self.name)
        self.bring_back()
        self._thread.start()
        serving = asyncio.start_unix_server(self._connect, self._socket)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(HANG_S)
        inside = [sys.executable, "-m", __name__, str(self._socket), *map(str, self._ports)]
        self._inside = subprocess.Popen(self.command(inside), cwd=_ROOT, stdout=subprocess.PIPE)
        assert self._inside.stdout is not None
        assert self._inside.stdout.readline() == b"listening\n"

    def end(self) -> None:
        """End the forwarders and remove the namespace."""
        if self._inside is not None:
            self._inside.kill()
            self._inside.communicate()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        _ip("netns", "del", self.name)

    def _forward(self) -> None:
        """Forward until the loop is stopped, and close what is open then."""
        self._loop.run_forever()
        self._loop.run_until_complete(self._end_all())
        self._loop.close()

    async def _end_all(self) -> None:
        await stop_accepting(self._server)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.1)

    async def _connect(self, *inner: Any) -> None:
        """Connect one who asked from within to where they wanted."""
        writers = [inner[1]]
        try:
            host, port = json.loads(await inner[0].readline())
            place = self._places.get(port)
            outer = await (asyncio.open_unix_connection(place) if place else asyncio.open_connection(host, port))
            writers.append(outer[1])
            await _pass_on(inner, outer)
        except (OSError, ValueError):
            pass
        finally:
            # Left open, it would be a warning in whatever test comes next.
            for writer in writers:
                writer.transport.abort()


@contextmanager
def own_networks(
    how_many: int, folder: Path, ports: tuple[int, ...], places: Mapping[int, Path]
) -> Iterator[list[OwnNetwork]]:
    """Make so many networks, and remove them in the end."""
    networks = [OwnNetwork(folder, ports, places) for _ in range(how_many)]
    started = []
    try:
        for network in networks:
            network.start()
            started.append(network)
        yield networks
    finally:
        for network in started:
            network.end()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


async def _pass_on(first: Any, second: Any) -> None:
    await asyncio.gather(_copy(first[0], second[1]), _copy(second[0], first[1]))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def _listen(socket: str, ports: list[int]) -> None:
    async def pass_in(*outer: Any) -> None:
        host, port = outer[1].get_extra_info("sockname")[:2]
        with suppress(OSError):
            inner = await asyncio.open_unix_connection(socket)
            inner[1].write(json.dumps([host, port]).encode() + b"\n")
            await _pass_on(outer, inner)

    servers = [await asyncio.start_server(pass_in, "0.0.0.0", port) for port in ports]
    print("listening", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(_listen(sys.argv[1], [int(port) for port in sys.argv[2:]]))
