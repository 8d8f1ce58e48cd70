"""Who works on a run, and when somebody else may take over. Knows processes, not databases."""

import os
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from deep_research.value import Value


class Owner(Value):
    """A process that works on a run, with its last sign of life on both clocks.

    The monotonic clock is shared by all processes of one boot and does not jump with the wall clock, so it decides on
    the same host; the wall clock decides only between hosts.
    """

    host: str
    boot: str
    pid: int
    started: str
    beat_wall_s: float
    beat_monotonic_s: float
    # Containers may share a name of their host, but a process sees only those of its own namespace.
    pid_namespace: str = ""

    def on_clock(self, ahead_s: float) -> "Owner":
        """Return the same on a wall clock that is so much ahead of the one it was read from."""
        return self.replace(beat_wall_s=self.beat_wall_s + ahead_s)


def current_owner() -> Owner:
    """Return this process with the time of now."""
    return Owner(
        host=socket.gethostname(),
        boot=_boot_id(),
        pid=os.getpid(),
        started=_process_start(os.getpid()),
        beat_wall_s=time.time(),
        beat_monotonic_s=time.monotonic(),
        pid_namespace=_pid_namespace(),
    )


def holds_lease(owner: Owner | None, claimant: Owner, *, lease_s: float) -> bool:
    """Return whether `owner` still keeps `claimant` out: dead on the same host never, alive while its heart beats."""
    if owner is None:
        return False
    if (owner.host, owner.pid_namespace) != (claimant.host, claimant.pid_namespace):
        return claimant.beat_wall_s - owner.beat_wall_s < lease_s
    if owner.boot != claimant.boot or _process_start(owner.pid) != owner.started:
        return False
    return claimant.beat_monotonic_s - owner.beat_monotonic_s < lease_s


@cache
def _boot_id() -> str:
    linux = Path("/proc/sys/kernel/random/boot_id")
    if linux.exists():
        return linux.read_text().strip()
    if sys.platform == "darwin":
        return _output_of("sysctl", "-n", "kern.boottime")
    return ""


@cache
def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _process_start(pid: int) -> str:
    """Return when a process started, in the system's own spelling, or "" if there is none."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] == "Z" else fields[19]
    if sys.platform == "win32":
        return "alive" if str(pid) in _output_of("tasklist", "/FI", f"PID eq {pid}", "/NH") else ""
    return _output_of("ps", "-o", "lstart=", "-p", str(pid))


def _output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
