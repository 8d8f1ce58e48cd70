"""Real processes that need not import anything: a parent that has done so forks one for each command.

What is forked has a pid, an environment and an end of its own, and can be killed like any other.
"""

import atexit
import ctypes
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from tests.support.environment import NO_CHARTS

LOADED = (
    *("deep_research.cli.runs.research", "deep_research.cli.runs.history", "deep_research.wiring.documents", "worlds"),
    *(
        "deep_research.documents.readers.html",
        "deep_research.documents.readers.docx",
        "deep_research.documents.readers.pdf",
        "opencc",
    ),
    *(
        "deep_research.documents.readers.pptx",
        "deep_research.documents.readers.xlsx",
        "snowballstemmer",
        "typer._adapters",
    ),
    *(
        "deep_research.cli.serving.serve",
        "deep_research.cli.serving.worker",
        "deep_research.server.app",
        "uvicorn",
        "uvloop",
    ),
)
_PR_SET_CHILD_SUBREAPER = 36
# Several threads start processes, and the kernel is told for one of them at a time to whom orphans go.
_adopting = threading.Lock()


class Parent:
    """Has imported all a run needs, and forks processes as they are ordered."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
        self._descriptors, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            bufsize=0,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._descriptors.close()
        self._process.wait()

    def fork(self, arguments: Sequence[str], descriptors: Sequence[int], **order: Any) -> int:
        """Return the pid of a process with one of our commands, which becomes a child of this one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with _adopting:
            _adopt_orphans(True)
            self._process.stdin.write(json.dumps({"command": arguments, **order}).encode() + b"\n")
            socket.send_fds(self._descriptors, [b"."], descriptors)
            pid = int(self._process.stdout.readline())
            _adopt_orphans(False)
        return pid

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


class Forked(subprocess.Popen[Any]):
    """A process like any other, but that a warm parent forks it; `terminal` makes its standard input control it."""

    def __init__(
        self,
        parent: Parent,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str],
        terminal: bool = False,
        max_file_kib: int | None = None,
        **options: Any,
    ) -> None:
        self._parent = parent
        self._order = {"folder": str(cwd), "env": env, "terminal": terminal, "max_file_kib": max_file_kib}
        super().__init__(arguments, **options)

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        # Nine options of how to execute, then both ends of the three pipes, and options again.
        pipes = given[9:15]
        self.pid = self._parent.fork(args, [pipes[0], pipes[3], pipes[5]], **self._order)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # no part of what is documented


def _adopt_orphans(adopts: bool) -> None:
    failed = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
    assert not failed, os.strerror(ctypes.get_errno())


def main() -> None:
    """Fork the processes of each order that is read, and tell their pids and how they ended."""
    for name in LOADED:
        importlib.import_module(name)
    _ask_once()
    assert threading.active_count() == 1, "a fork would lose a thread"
    given = socket.socket(fileno=int(sys.argv[1]))
    # What the collector does not walk over in every child need not be copied for it.
    gc.freeze()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        if "command" in order:
            _, descriptors, _, _ = socket.recv_fds(given, 1, 3)
            if _start(descriptors, **order):
                return
            continue
        commands, said = order.pop("commands"), Path(order.pop("said"))
        # All wait for the end of this pipe, which comes once the last of them is there.
        gate, opener = os.pipe()
        pids = []
        for number, arguments in enumerate(commands):
            pid = os.fork()
            if pid == 0:
                os.close(opener)
                os.read(gate, 1)
                os.close(gate)
                shown = [
                    os.open(said / f"{name}{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("out", "err")
                ]
                _become([os.open(os.devnull, os.O_RDONLY), *shown], arguments=arguments, **order)
                return
            pids.append(pid)
        os.close(gate)
        os.close(opener)
        print(json.dumps(pids), flush=True)
        for _ in pids:
            pid, status = os.wait()
            print(json.dumps([pid, os.waitstatus_to_exitcode(status)]), flush=True)


def _ask_once() -> None:
    """Fill what is kept of patterns, words and tables, so that no child has to."""
    from deep_research.cli.main import main as command
    from deep_research.text.in_thread import _threads

    with tempfile.TemporaryDirectory() as folder, suppress(SystemExit), chdir(folder):
        os.environ |= {"DEEP_RESEARCH_HOME": folder, "DEEP_RESEARCH_ENGINES": "none", **NO_CHARTS}
        Path("a.md").write_text(
            "# Works\n\nThe works of Halden cost 5 million euros in 2025 (海港改造工程).\n", "utf-8"
        )
        command(["ask", "What did the works of Halden cost in 2025?", "--docs", "a.md", "--output", "a.txt", "--quiet"])
    # Each child has threads of its own.
    _threads.pool.shutdown()


def _start(
    descriptors: list[int], *, command: list[str], terminal: bool, max_file_kib: int | None, **order: Any
) -> bool:
    """Fork a process whose parent ends at once, so that it goes to who adopts orphans; say whether this is the one."""
    told, tell = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid:
            os.write(tell, b"%d\n" % pid)
            os._exit(0)
        os.close(told)
        os.close(tell)
        if terminal:
            os.setsid()
            fcntl.ioctl(descriptors[0], termios.TIOCSCTTY, 0)
        if max_file_kib is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_kib * 1024, max_file_kib * 1024))
        _become(descriptors, arguments=command, **order)
        return True
    os.close(tell)
    os.waitpid(between, 0)
    print(int(os.read(told, 20)), flush=True)
    os.close(told)
    for descriptor in descriptors:
        os.close(descriptor)
    return False


def _become(descriptors: list[int], *, folder: str, env: dict[str, str], arguments: list[str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    # As `python -m` does it.
    sys.path.insert(0, folder)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in {each for each in descriptors if each > 2}:
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open as long as the process
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    from deep_research.cli.main import main as command

    command(arguments)


if __name__ == "__main__":
    main()
