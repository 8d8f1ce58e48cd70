"""The processes that read binary formats and large texts: started when a file needs one, kept, replaced when lost.

A file that takes too much memory or time, or that crashes its reader, costs a child and never this process.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, cast

from pydantic import ValidationError

from deep_research.documents.readers.child import Task, receive, send
from deep_research.documents.readers.port import MAX_TEXT_BYTES, Reading, failed
from deep_research.errors import SourceError
from deep_research.text.cleaning import clean_text

MAX_MEMORY_BYTES = 800_000_000
# Of the processor, for a small file and more for each megabyte: a dense PDF of 2,000 pages and 40 MB takes 11 s.
_CPU_S, _CPU_S_PER_MB = 8, 2
# On a busy machine the clock runs ahead of the processor; this ends only what would never end.
_CLOCK_FACTOR = 10
_ENDING_S = 1.0
_MAX_MESSAGE_CHARS = 2_000
_MAX_CHILDREN = 2
# After these a child is as good as before.
_COMPLETED = ("read", "refused", "failed", "size")
# What a program may need to start at all. Nothing else is passed on, above all no keys.
_PASSED_ON = ("LD_LIBRARY_PATH", "SYSTEMROOT")
# The interrupt of a terminal is for this process, which lets go of its children.
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


class _ChildReply(NamedTuple):
    """What became of a file: what its child says, or "crashed", "cpu" or "clock" where that is gone."""

    outcome: str
    body: bytes = b""


def isolated(module: str, *passed_on: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs the `main` of a module of ours apart from everything else, and its environment.

    A file in the folder where the user works must not pass for a module.
    """
    path = [entry for entry in sys.path if entry] + [str(Path(__file__).parents[3])]
    start = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
    environment = {name: os.environ[name] for name in (*_PASSED_ON, *passed_on) if name in os.environ}
    return [sys.executable, "-I", "-c", start, json.dumps(path)], environment


def read_in_child(module: str, raw: bytes, name: str) -> Reading:
    """Return what the `read` of a module gives, called and finished in another process."""
    task = Task(module, name, MAX_MEMORY_BYTES, _CPU_S + len(raw) * _CPU_S_PER_MB // 1_000_000)
    outcome, body = _pool.reply(task, raw)
    if outcome == "read":
        with suppress(ValidationError):
            return Reading.model_validate_json(body)
    elif outcome == "refused":
        raise SourceError(_message(body))
    elif outcome == "failed":
        raise failed(name, _message(body))
    memory = f"more than {MAX_MEMORY_BYTES // 1_000_000} MB of memory"
    reasons = {
        "memory": f"needs {memory} to be read; split it into smaller files, or save it again",
        "cpu": f"needs more than {task.cpu_s} s of processor time to be read; split it into smaller files",
        "clock": f"was not read within {task.cpu_s * _CLOCK_FACTOR} s; split it into smaller files, or try again later",
        "size": f"holds more than {MAX_TEXT_BYTES // 1_000_000} MB of text; split it into smaller files",
    }
    crashed = f"crashes the program that reads it: it is damaged, or needs {memory}; save or export it again"
    raise SourceError(f"{name!r} {reasons.get(outcome, crashed)}.")


def _message(body: bytes) -> str:
    return clean_text(body.decode("utf-8", "replace"))[:_MAX_MESSAGE_CHARS]


class _Child:
    """One process, for one file at a time."""

    def __init__(self) -> None:
        command, environment = isolated("deep_research.documents.readers.child")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            creationflags=_FLAGS,
        )
        self._files = cast(IO[bytes], self._process.stdin)
        self._replies = cast(IO[bytes], self._process.stdout)

    def reply(self, task: Task, raw: bytes) -> _ChildReply:
        """Return what became of a file; after "crashed", "cpu" and "clock" the child is gone."""
        self._is_late = False
        clock = threading.Timer(task.cpu_s * _CLOCK_FACTOR, self._give_up)
        clock.daemon = True
        clock.start()
        try:
            send(self._files, task, raw)
            outcome, body = receive(self._replies, MAX_TEXT_BYTES)
            return _ChildReply(str(outcome), body)
        except (EOFError, OSError, ValueError, RecursionError):
            return _ChildReply(self._end())
        finally:
            clock.cancel()

    def stop(self) -> int:
        """End the process and return its status."""
        self._process.kill()
        for stream in (self._files, self._replies):
            with suppress(OSError):
                stream.close()
        return self._process.wait()

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _end(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            # The pipes of a process that ends are closed a moment before it has a status.
            self._process.wait(_ENDING_S)
        status = self.stop()
        if self._is_late:
            return "clock"
        return "cpu" if sys.platform != "win32" and status == -signal.SIGXCPU else "crashed"


class _ChildPool:
    """The children of this process: those at work, and those that wait for a file."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Have no children, as at first; in a forked process they are those of another."""
        self._slots = threading.BoundedSemaphore(_MAX_CHILDREN)
        self._waiting: list[_Child] = []
        self._at_work: set[_Child] = set()

    def reply(self, task: Task, raw: bytes) -> _ChildReply:
        """Return what became of a file; where a child is lost that has read others before, a fresh one judges it."""
        with self._slots:
            for child in self._some(task.name):
                reply = self._ask(child, task, raw)
                if reply.outcome not in ("crashed", "memory"):
                    break
            return reply

    def close(self) -> None:
        """End all children."""
        for child in (*self._waiting, *self._at_work):
            child.stop()
        self._waiting.clear()

    def _some(self, name: str) -> Iterator[_Child]:
        with suppress(IndexError):
            yield self._waiting.pop()
        try:
            child = _Child()
        except OSError as exc:
            raise SourceError(f"{name!r} was not read: no process can be started for it ({exc.strerror}).") from exc
        yield child

    def _ask(self, child: _Child, task: Task, raw: bytes) -> _ChildReply:
        self._at_work.add(child)
        reply = None
        try:
            reply = child.reply(task, raw)
            return reply
        finally:
            self._at_work.discard(child)
            if reply is not None and reply.outcome in _COMPLETED:
                self._waiting.append(child)
            else:
                # An answer that comes late would be taken for that of the next file.
                child.stop()


_pool = _ChildPool()
atexit.register(_pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.begin)
