"""A server and workers that share a PostgreSQL in the bench world, each worker on a host of its own where it can be."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from benchmarks.world_process import WorldProcess, environment
from tests.support.own_network import OwnNetwork, is_possible, own_networks
from tests.support.postgres import PostgresServer
from tests.support.server import Client, free_port
from tests.support.waiting import HANG_S, wait_until

LEASE_S = 6.0
DATABASE_PORT = 5432


@dataclass
class WorkerProcess:
    """`deep-research worker`, in a network of its own where there is one."""

    number: int
    folder: Path
    settings: dict[str, object]
    network: OwnNetwork | None = None
    process: "subprocess.Popen[bytes] | None" = None
    ended: list[int] = field(default_factory=list)

    def start(self) -> None:
        command = [sys.executable, "-m", "deep_research", "worker", "--at-once", "5"]
        if self.network is not None:
            command = self.network.command(command)
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=environment(self.settings),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def send(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        assert self.process is not None
        self.send(signal.SIGCONT)
        self.send(how)
        self.ended.append(self.process.wait(HANG_S))

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        return (self.folder / "worker.log").read_text(errors="replace")


@contextmanager
def at_work(
    how_many: int, folder: Path, world: WorldProcess, postgres: PostgresServer, url: str
) -> Iterator[tuple[Client, list[WorkerProcess]]]:
    """Serve without working, and start the workers, each on a host of its own as far as the machine allows."""
    changes = {"depth": "quick", "charts": False, "lease_s": LEASE_S}
    settings = world.settings(folder / "server", database_url=url, **changes)
    (folder / "server").mkdir(parents=True)
    port = free_port()
    client = Client(f"http://127.0.0.1:{port}")
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "deep_research", "serve", "--port", str(port), "--no-open", "--workers", "0"],
            env=environment(settings),
            cwd=folder / "server",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    database = postgres.folder / f".s.PGSQL.{DATABASE_PORT}"
    networks = own_networks(how_many, folder, (world.port,), {DATABASE_PORT: database})
    with networks if is_possible() else nullcontext([None] * how_many) as made:
        workers = []
        for number, network in enumerate(made):
            home = folder / f"worker-{number}"
            own = world.settings(home, database_url=_within(url) if network else url, **changes)
            workers.append(WorkerProcess(number, home, own, network))
        try:
            for worker in workers:
                worker.start()
            wait_until(lambda: _is_there(client) or server.poll() is not None)
            assert server.poll() is None, (folder / "server.log").read_text()
            yield client, workers
        finally:
            for worker in workers:
                if worker.process is not None and worker.process.poll() is None:
                    worker.end()
            client.http.close()
            server.kill()
            server.wait()


def _within(url: str) -> str:
    """Return the address of the database as it is reached in a network of a worker's own."""
    name = url.partition("?")[0].rpartition("/")[2]
    user = url.partition("@")[0]
    return f"{user}@127.0.0.1:{DATABASE_PORT}/{name}"


def _is_there(client: Client) -> bool:
    try:
        return client.http.get("/ready").status_code == 200
    except httpx2.TransportError:
        return False
