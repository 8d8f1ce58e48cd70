"""The process in which binary formats and large texts are read: takes files from its standard input until that ends.

What it reads may crash it or take it over. It holds no keys, and its parent (`children.py`) takes what it says for
data only.
"""

import json
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import IO, NamedTuple, cast

from deep_research.documents.readers.finishing import finished
from deep_research.documents.readers.port import MAX_TEXT_BYTES, Reader
from deep_research.errors import SourceError

# An address as a file's name may be long.
_MAX_HEAD_BYTES = 1_000_000


class Task(NamedTuple):
    """A file to be read, apart from its bytes: the module of its reader, its name, and its limits."""

    module: str
    name: str
    memory_bytes: int
    cpu_s: int


def send(stream: IO[bytes], head: object, body: bytes) -> None:
    """Write a message: its head and the size of its body as a line of JSON, then the body."""
    stream.write(json.dumps([head, len(body)]).encode() + b"\n")
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], max_bytes: int) -> tuple[object, bytes]:
    """Return the next message's head and body; raise EOFError where none comes, ValueError for what is no message."""
    line = stream.readline(_MAX_HEAD_BYTES)
    if not line.endswith(b"\n"):
        raise EOFError("The other side is gone.")
    match json.loads(line):
        case [head, int(size)] if 0 <= size <= max_bytes:
            body = stream.read(size)
        case _:
            raise ValueError("A message has a head and a size within bounds.")
    if len(body) < size:
        raise EOFError("The other side is gone.")
    return head, body


def main() -> None:
    """Read files until no more come, or until one has used up the memory."""
    replies = _reply_stream()
    outcome = ""
    while outcome != "memory":
        try:
            head, raw = receive(sys.stdin.buffer, sys.maxsize)
        except EOFError:
            return
        task = Task(*cast(tuple[str, str, int, int], head))
        _limit(task)
        outcome, body = _outcome(task, raw)
        send(replies, outcome, body)


def _reply_stream() -> IO[bytes]:
    """Return standard output for answers alone: what a package prints must not get between them."""
    replies = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    return replies


def _limit(task: Task) -> None:
    """Let the system stop this process where a file takes too much, as far as it offers that."""
    try:
        import resource
    except ImportError:  # On Windows the parent's patience is the only limit.
        return
    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: ceil(time.process_time()) + task.cpu_s}
    if sys.platform == "linux":
        # Elsewhere the address space is not limited, or counts what is shared by all.
        bounds[resource.RLIMIT_AS] = task.memory_bytes
    for kind, limit in bounds.items():
        _, hard = resource.getrlimit(kind)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _outcome(task: Task, raw: bytes) -> tuple[str, bytes]:
    try:
        reader = cast(Reader, import_module(task.module).read)
        body = finished(reader(raw, task.name), task.name).model_dump_json().encode()
        return ("read", body) if len(body) <= MAX_TEXT_BYTES else ("size", b"")
    except SourceError as exc:
        return "refused", str(exc).encode("utf-8", "replace")
    except MemoryError:
        return "memory", b""
    except Exception as exc:  # A file may break a reader in ways nobody foresaw; the parent says so.
        return "failed", type(exc).__name__.encode()
