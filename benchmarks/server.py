"""One server process: a thousand readers of a run's events, and how many answers a second its reading endpoints give.

`python -m benchmarks.server`; the readers are in a process of their own, the run is a real one over the examples.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.server_process import QUESTION, ServerProcess, settings_by_rules

READERS = 1_000
MOST_DELAY_S, MOST_MB = 0.3, 60.0
_SECONDS = 3.0


class _Measured(ServerProcess):
    """The server that is measured, and what one client does with it."""

    def planned_run(self) -> str:
        """Return a run that waits for its plan to be approved."""
        run = self.ask(QUESTION, confirm_plan=True)
        self.wait_until(run, "waiting")
        return run

    def finish(self, run: str) -> None:
        """Approve the plan of a run, and wait until it is done."""
        self.request(f"/api/runs/{run}/plan/approve", {})
        self.wait_until(run, "done")

    def client(self, *arguments: object) -> "subprocess.Popen[str]":
        """Start those who use the server, in a process of their own."""
        what, *rest = map(str, arguments)
        command = [sys.executable, "-m", "benchmarks.server_client", what, "127.0.0.1", str(self.port), *rest]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])


def report() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name, _Measured(settings_by_rules(Path(name)), Path(name)) as server:
        run = server.planned_run()
        server.finish(run)
        _readers(server)
        _requests(server, run)


def _readers(server: _Measured) -> None:
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


def _requests(server: _Measured, run: str) -> None:
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
