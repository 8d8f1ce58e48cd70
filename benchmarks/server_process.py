"""A server in a process of its own, and what a bench asks of it."""

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.child import Process, start

# Answered by rules from the example documents, within a second.
QUESTION = "What did the plant cost and produce?"
_DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
_PATIENCE_S = 900.0


def settings_by_rules(folder: Path) -> dict[str, object]:
    """Return settings with which a server answers from the example documents, without a model."""
    return {
        "home": folder / "home",
        "logs": folder / "logs",
        "docs": _DOCUMENTS,
        "strategy": "local",
        "charts": False,
        "provider": "none",
    }


class ServerProcess:
    """`deep-research serve` with these settings, as long as its context lasts."""

    def __init__(self, settings: Mapping[str, object], folder: Path, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.settings, self.folder = settings, folder
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.log = (folder / "processes.log").open("wb")
        command = ["-m", "deep_research", "serve", "--port", str(self.port), "--no-open", *arguments]
        self.process: Process = start(command, settings, folder, self.log)

    def __enter__(self) -> Self:
        self.wait_for(lambda: self.request("/ready") is not None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()

    def request(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer to a request, None for none that could be given."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except OSError:
            return None

    def ask(self, question: str, **choices: object) -> str:
        """Start a run and return its id."""
        told = self.request("/api/runs", {"question": question, **choices})
        assert told is not None, Path(self.log.name).read_text()[-3000:]
        return str(told["id"])

    def wait_until(self, run: str, status: str) -> None:
        """Wait until a run has a status."""
        self.wait_for(lambda: self._status(run) == status)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; fail, with what the server said, where it has ended."""
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            is_over = time.monotonic() > end or self.process.poll() is not None
            assert not is_over, Path(self.log.name).read_text()[-3000:]
            time.sleep(0.05)

    def memory_mb(self) -> float:
        """Return what the process holds now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_s(self) -> float:
        """Return the CPU seconds that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _status(self, run: str) -> str:
        told = self.request(f"/api/runs/{run}")
        assert told, "the server does not answer"
        assert told["status"] != "failed", told
        return str(told["status"])
