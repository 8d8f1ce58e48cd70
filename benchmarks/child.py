"""A process that is measured: its wall time, CPU and peak memory, from its start to its exit."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from benchmarks.world_process import environment

Process = subprocess.Popen[bytes]
# A child's peak begins with the memory of whoever started it, so that this process has to stay below what it measures.
_PARENT_MB = 60


class Ended(NamedTuple):
    """What a process came to; `began_s` is by the clock of the world's log."""

    began_s: float
    wall_s: float
    cpu_s: float
    memory_mb: float
    output: str


def start(
    arguments: list[str],
    settings: Mapping[str, object],
    folder: Path,
    output: IO[bytes],
    *,
    within: Sequence[str] = (),
) -> Process:
    """Start Python with these settings in a folder; `within` is a command that becomes it."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [*within, sys.executable, *arguments]
    return subprocess.Popen(command, env=environment(settings), cwd=folder, stdout=output, stderr=subprocess.STDOUT)


def measure(arguments: list[str], settings: Mapping[str, object], folder: Path) -> Ended:
    """Run Python to its end; a failure ends the bench, with what it said."""
    assert _own_peak_mb() < _PARENT_MB, "run this bench by itself: what else was measured here would count"
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = start(arguments, settings, folder, output)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode()
    assert process.returncode == 0, f"exit code {process.returncode}\n{said[-3000:]}"
    return Ended(began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said)


def _own_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
