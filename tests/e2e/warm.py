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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LOADED = (
    *("deep_research.cli.research", "deep_research.cli.history", "deep_research.corpus.fetcher", "worlds"),
    *("deep_research.readers.html", "deep_research.readers.docx", "deep_research.readers.pdf", "opencc"),
    *("deep_research.readers.pptx", "deep_research.readers.xlsx", "snowballstemmer", "typer._adapters"),
)


class Parent:
    """Has imported all a run needs, and forks processes as they are ordered."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            bufsize=0,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self.close)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run_together(
        self,
        commands: Sequence[Sequence[str]],
        *,
        folder: Path,
        env: dict[str, str],
        timeout_s: float,
        before_last: Callable[[], object],
    ) -> "list[subprocess.CompletedProcess[str]]":
        """Run our commands in processes that begin at the same moment, each with an empty standard input.

        `before_last` is called once all but one of them have ended.
        """
        with tempfile.TemporaryDirectory() as said:
            order = {"folder": str(folder), "env": env, "commands": commands, "said": said}
            codes = self._run(order, timeout_s, before_last)
            shown = [
                [(Path(said) / f"{name}{number}").read_text(encoding="utf-8") for name in ("out", "err")]
                for number in range(len(commands))
            ]
        return [
            subprocess.CompletedProcess(arguments, code, out, err)
            for arguments, code, (out, err) in zip(commands, codes, shown, strict=True)
        ]

    def _run(self, order: dict[str, Any], timeout_s: float, before_last: Callable[[], object]) -> list[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        codes: dict[int, int | None] = dict.fromkeys(json.loads(self._process.stdout.readline()))
        while left := [pid for pid, code in codes.items() if code is None]:
            if len(left) == 1:
                before_last()
            if not select.select([self._process.stdout], [], [], timeout_s)[0]:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"{order['commands']!r} hung")
            pid, code = json.loads(self._process.stdout.readline())
            codes[pid] = code
        return [code for code in codes.values() if code is not None]


def main() -> None:
    """Fork the processes of each order that is read, and tell their pids and how they ended."""
    for name in LOADED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a fork would lose a thread"
    # What the collector does not walk over in every child need not be copied for it.
    gc.freeze()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        commands = order.pop("commands")
        # All wait for the end of this pipe, which comes once the last of them is there.
        gate, opener = os.pipe()
        pids = []
        for number, arguments in enumerate(commands):
            pid = os.fork()
            if pid == 0:
                os.close(opener)
                os.read(gate, 1)
                os.close(gate)
                _become(**order, arguments=arguments, number=number)
                return
            pids.append(pid)
        os.close(gate)
        os.close(opener)
        print(json.dumps(pids), flush=True)
        for _ in pids:
            pid, status = os.wait()
            print(json.dumps([pid, os.waitstatus_to_exitcode(status)]), flush=True)


def _become(*, folder: str, env: dict[str, str], arguments: list[str], said: str, number: int) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(said) / f"{name}{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open as long as the process
    from deep_research.cli.main import main as command

    command(arguments)


if __name__ == "__main__":
    main()
