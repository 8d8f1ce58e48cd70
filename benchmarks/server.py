"""One server process: a thousand readers of a run's events, and how many answers a second its reading endpoints give.

`python -m benchmarks.server`; the readers are in a process of their own, the run is a real one over the examples.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.child import start

READERS = 1_000
MOST_DELAY_S, MOST_MB = 0.3, 60.0
DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
QUESTION = "What did the plant cost and produce?"
_SECONDS = 3.0


class _Server:
    """The server that is measured, and what one client does with it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        settings = {"home": folder, "logs": folder / "logs", "docs": DOCUMENTS, "strategy": "local", "charts": False}
        self.log = (folder / "server.log").open("wb")
        arguments = ["-m", "deep_research", "serve", "--port", str(self.port), "--no-open"]
        self.process = start(arguments, settings | {"provider": "none"}, folder, self.log)
        self.wait_for(lambda: self._answers() and self.ask("/ready") is not None)

    def _answers(self) -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer to a request, None for none that could be given."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except OSError:
            return None

    def wait_for(self, condition: Any) -> None:
        end = time.monotonic() + 120
        while not condition():
            is_over = time.monotonic() > end or self.process.poll() is not None
            assert not is_over, Path(self.log.name).read_text()
            time.sleep(0.05)

    def planned_run(self) -> str:
        """Return a run that waits for its plan to be approved."""
        run: str = self.ask("/api/runs", {"question": QUESTION, "confirm_plan": True})["id"]
        self.wait_for(lambda: self.ask(f"/api/runs/{run}")["status"] == "waiting")
        return run

    def finish(self, run: str) -> None:
        self.ask(f"/api/runs/{run}/plan/approve", {})
        self.wait_for(lambda: self.ask(f"/api/runs/{run}")["status"] == "done")

    def memory_mb(self) -> float:
        """Return what the process holds now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_s(self) -> float:
        """Return the CPU seconds that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def client(self, *arguments: object) -> "subprocess.Popen[str]":
        what, *rest = map(str, arguments)
        command = [sys.executable, "-m", "benchmarks.server_client", what, "127.0.0.1", str(self.port), *rest]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def report() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        server = _Server(Path(folder))
        try:
            run = server.planned_run()
            server.finish(run)
            _readers(server)
            _requests(server, run)
        finally:
            server.close()


def _readers(server: _Server) -> None:
    alone = server.planned_run()
    began = server.cpu_s()
    server.finish(alone)
    alone_s = server.cpu_s() - began
    run = server.planned_run()
    before = server.memory_mb()
    client = server.client("readers", f"/api/runs/{run}/events", READERS)
    assert client.stdout is not None
    assert client.stdout.readline() == "ready\n"
    connected, began = server.memory_mb(), server.cpu_s()
    server.finish(run)
    read = json.loads(client.communicate(timeout=120)[0])
    cpu_s = server.cpu_s() - began - alone_s
    added = max(connected, server.memory_mb()) - before
    delays, events = read["delays"], read["events"]
    assert len(set(events)) == 1, "every reader has every event"
    middle, late, last = (delays[int(share * (len(delays) - 1))] for share in (0.5, 0.99, 1.0))
    print(f"\n{READERS} readers of one run's {events[0]} events     aim")
    print(f"  p50 until a reader has it, ms {middle * 1e3:8.0f}")
    print(f"  p99                          {late * 1e3:9.0f}   {MOST_DELAY_S * 1e3:.0f}")
    print(f"  last                         {last * 1e3:9.0f}")
    print(f"  memory added, MB             {added:9.1f}   {MOST_MB:.0f}")
    print(f"  CPU of a delivery, µs        {cpu_s / len(delays) * 1e6:9.0f}")


def _requests(server: _Server, run: str) -> None:
    print("\nan answer, 8 asked at once            a second   CPU ms")
    of_run = [f"/api/runs/{run}{part}" for part in ("", "/progress", "/report")]
    for path in ("/health", "/api/runs?limit=20", *of_run):
        began = server.cpu_s()
        client = server.client("requests", _SECONDS, path)
        rate = json.loads(client.communicate(timeout=60)[0])["requests_a_second"]
        cpu_s = (server.cpu_s() - began) / (rate * _SECONDS)
        print(f"  {path.replace(run, '{run}'):36}{rate:8.0f}{cpu_s * 1e3:9.2f}")


if __name__ == "__main__":
    report()
