"""A server of our own for tests: in a thread of the test's process, or in a process that can be killed."""

import asyncio
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from deep_research.server.app import create_app
from deep_research.server.listening import Server, address_of, bind
from deep_research.settings import Settings
from tests.e2e.harness import User
from tests.support.examples import EXAMPLES, copy_index, few_documents
from tests.support.loopback import stop_accepting
from tests.support.waiting import HANG_S, wait_until

# Answered by rules from a few of the example documents, within a second.
QUESTION = "What did the plant cost and produce?"
# Too vague to research: the run asks back.
VAGUE = "Tell me about it"
OVER = ("done", "failed", "cancelled")


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Client:
    """Somebody who uses a server over HTTP; a refusal is returned, never raised."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.http = httpx2.Client(base_url=address, timeout=HANG_S, trust_env=False)

    def ask(self, question: str = QUESTION, **given: Any) -> dict[str, Any]:
        """Start a run."""
        answer = self.http.post("/api/runs", json={"question": question, **given})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def run(self, run: str) -> dict[str, Any]:
        """Return where a run stands."""
        answer = self.http.get(f"/api/runs/{run}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wait(self, run: str, *statuses: str) -> dict[str, Any]:
        """Wait until a run has one of these statuses; by default, until it is over or waits for somebody."""
        wanted = statuses or (*OVER, "waiting")
        wait_until(lambda: self.run(run)["status"] in wanted, complaint=lambda: self.run(run))
        return self.run(run)

    def readers(self) -> int:
        """Return how many are being told of events just now."""
        lines = self.http.get("/metrics").text.splitlines()
        return int(float(next(line for line in lines if line.startswith("deep_research_event_readers ")).split()[1]))

    def finished(self, question: str = QUESTION, **given: Any) -> dict[str, Any]:
        """Start a run and wait until it is done."""
        shown = self.wait(self.ask(question, **given)["id"])
        assert shown["status"] == "done", shown
        return shown


def all_documents(folder: Path, **changes: Any) -> Settings:
    """Return the settings of a server that has indexed all example documents."""
    copy_index(folder / "home")
    return settings_for(folder, docs=EXAMPLES, **changes)


def settings_for(folder: Path, **changes: Any) -> Settings:
    """Return the settings of a server with a home of its own, which searches a few documents by rules."""
    docs = few_documents()
    given = {"home": folder / "home", "logs": folder / "logs", "docs": docs, "strategy": "local", "charts": False}
    return Settings(**{"provider": "none", "sandbox_backend": "off", **given, **changes})


class _ServerInThread(Server):
    """Leaves no connection open: the warning about it would fail a later test."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let everybody go, whether they are done or not."""
        await stop_accepting(*self.servers)
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


@contextmanager
def serving(settings: Settings) -> Iterator[Client]:
    """Serve in a thread of this process as long as the context lasts."""
    bound = bind("127.0.0.1", 0)
    address = address_of(bound)
    server = _ServerInThread(create_app(settings), bound, lambda: None)
    thread = threading.Thread(target=server.run, args=([bound],), name="server", daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        client = Client(address)
        yield client
        client.http.close()
    finally:
        server.should_exit = True
        thread.join(HANG_S)


@dataclass
class ServerProcess:
    """`deep-research serve` in a process of its own, which can be ended, killed and started again."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(f"http://127.0.0.1:{self.port}")

    def start(self, *arguments: str) -> Client:
        """Start it, and return a client once it answers."""
        given = {
            "DEEP_RESEARCH_LOGS": str(self.folder / "logs"),
            "DEEP_RESEARCH_DOCS": str(few_documents()),
            "DEEP_RESEARCH_STRATEGY": "local",
        }
        with (self.folder / "server.log").open("ab") as log:
            user = User(self.folder, env=given | self.env)
            self.process = user.fork(
                *("serve", "--port", str(self.port), *arguments),
                cwd=self.folder,
                env=user.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: self._answers() or not self._is_alive())
        assert self._is_alive(), self.log
        return self.client

    @property
    def log(self) -> str:
        """What it printed."""
        return (self.folder / "server.log").read_text(errors="replace")

    def kill(self) -> None:
        """End it at once, without a chance to put anything away."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(HANG_S)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(HANG_S)

    def _is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def _answers(self) -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def server_process(folder: Path, *arguments: str, **env: str) -> Iterator[ServerProcess]:
    """Run a server in a process of its own as long as the context lasts; it is started by then."""
    server = ServerProcess(folder, env)
    try:
        server.start(*arguments)
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()
        server.client.http.close()
