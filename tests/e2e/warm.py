"""Real processes that need not import anything: a parent that has done so forks one for each command.

What is forked has a pid, an environment and an end of its own, and can be killed like any other.
"""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOADED = (
    *("deep_research.cli.research", "deep_research.cli.history", "deep_research.corpus.fetcher", "worlds"),
    *("deep_research.readers.html", "deep_research.readers.docx", "deep_research.readers.pdf", "opencc"),
    *("deep_research.readers.pptx", "deep_research.readers.xlsx", "snowballstemmer", "typer._adapters"),
)


class Parent:
    """Has imported all a run needs, and forks one process after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        atexit.register(self.close)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(
        self, arguments: Sequence[str], *, folder: Path, env: dict[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run our command in a process of its own, with an empty standard input."""
        with tempfile.TemporaryDirectory() as said:
            order = {"folder": str(folder), "env": env, "arguments": arguments, "said": said}
            code = self._run(order, timeout_s)
            out, err = ((Path(said) / name).read_text(encoding="utf-8") for name in ("out", "err"))
        return subprocess.CompletedProcess(arguments, code, out, err)

    def _run(self, order: dict[str, Any], timeout_s: float) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        pid = int(self._process.stdout.readline())
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"{order['arguments']!r} hung")
        return int(self._process.stdout.readline())


def main() -> None:
    """Fork a process for each order that is read, and tell its pid and how it ended."""
    for name in LOADED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a fork would lose a thread"
    # What the collector does not walk over in every child need not be copied for it.
    gc.freeze()
    for line in sys.stdin.buffer:
        pid = os.fork()
        if pid == 0:
            _become(**json.loads(line))
            return
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(*, folder: str, env: dict[str, str], arguments: list[str], said: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(said) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open as long as the process
    from deep_research.cli.main import main as command

    command(arguments)


if __name__ == "__main__":
    main()
