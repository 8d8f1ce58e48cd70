"""A chart of a model's code: in a process of its own, by the fork server in the sandbox, and after a worker was killed.

The same code each time, over the same rows, drawn as PNG and as SVG. CPU is of all processes that have a part in it.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from statistics import median
from unittest.mock import patch

from deep_research.charts.sandbox.bubblewrap import Bubblewrap
from deep_research.charts.sandbox.process import SandboxLimits, SandboxProcess, WarmSandbox
from deep_research.errors import SourceError, SourceRefused

CHARTS = 10
STYLE = files("deep_research.charts").joinpath("style.py").read_text(encoding="utf-8")
ROWS = [{"label": str(year), "value": 40 + year % 7 * 3.5} for year in range(2016, 2026)]
CODE = """
import pandas as pd
frame = pd.DataFrame(data)
fig, ax = plt.subplots()
ax.plot(frame["label"], frame["value"], label="营收")
ax.set_title("Revenue 营收, million euros, 2016-2025")
ax.set_ylabel("million euros")
ax.legend()
"""
WHOLE = f"""
import base64, io, json, numpy, pandas
import matplotlib.pyplot as plt
look = {{"__name__": "style"}}
exec({STYLE!r}, look)
look["apply"]()
data = json.loads({json.dumps(ROWS)!r})
exec({CODE!r})
for kind in ("png", "svg"):
    plt.gcf().savefig(io.BytesIO(), format=kind)
"""


async def report() -> None:
    """Print the table."""
    sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(), STYLE)
    print("\na chart of a model's code     CPU ms   wall ms")
    try:
        began = time.perf_counter()
        await sandbox.check()
        _line("start and self-test", _used_inside_s(_worker(sandbox)), time.perf_counter() - began)
    except SourceRefused as refused:
        print(f"  not measured: {refused}")
        return
    try:
        cold, warm = [], []
        # By turns, so that what else the machine does weighs on both.
        for _ in range(CHARTS):
            cold.append(_cold())
            warm.append(await _measured(sandbox, lambda: sandbox.execute(CODE, ROWS)))
        _line("cold process", *map(median, zip(*cold, strict=True)))
        _line("fork server", *map(median, zip(*warm, strict=True)))
        share = sum(cpu for cpu, _ in warm) / sum(cpu for cpu, _ in cold)
        _line("a child that crashed", *await _measured(sandbox, lambda: _crash(sandbox)))
        assert sandbox._spare is not None
        await sandbox._spare
        os.kill(_worker(sandbox), signal.SIGKILL)
        used: list[float] = []
        with patch.object(SandboxProcess, "end", _noting(used)):
            began = time.perf_counter()
            await sandbox.execute(CODE, ROWS)
            _line("worker killed: its chart", sum(used), time.perf_counter() - began)
        assert sandbox._spare is not None
        before = _used_inside_s((await sandbox._spare).pid)
        began = time.perf_counter()
        await sandbox.execute(CODE, ROWS)
        wall = time.perf_counter() - began
        _line("worker killed: the next one", _used_inside_s(_worker(sandbox)) - before, wall)
        print(f"  fork server / cold process: {share:.2f} of the CPU")
    finally:
        await sandbox.close()


def _line(name: str, cpu_s: float | None, wall_s: float) -> None:
    print(f"  {name:<28}{'-' if cpu_s is None else f'{cpu_s * 1000:.0f}':>6}{wall_s * 1000:>10.0f}")


def _cold() -> tuple[float, float]:
    """Draw it in a process that has loaded nothing; nothing shuts it in."""
    began, cpu = time.perf_counter(), _children_s()
    subprocess.run([sys.executable, "-I", "-c", WHOLE], check=True)
    return _children_s() - cpu, time.perf_counter() - began


async def _measured(sandbox: WarmSandbox, act: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return CPU, of the sandbox and of this process, and time of something."""
    worker = _worker(sandbox)
    began, cpu = time.perf_counter(), _used_inside_s(worker) + time.process_time()
    await act()
    return _used_inside_s(worker) + time.process_time() - cpu, time.perf_counter() - began


def _noting(used: list[float]) -> Callable[[SandboxProcess], Awaitable[str]]:
    """Return the end of a worker, which first notes what the worker has used."""
    end = SandboxProcess.end

    async def noting(worker: SandboxProcess) -> str:
        with suppress(FileNotFoundError):
            used.append(_used_inside_s(worker.pid))
        return await end(worker)

    return noting


async def _crash(sandbox: WarmSandbox) -> None:
    with suppress(SourceError):
        await sandbox.execute("import os; os._exit(1)")


def _worker(sandbox: WarmSandbox) -> int:
    assert sandbox._process is not None
    return sandbox._process.pid


def _used_inside_s(pid: int) -> float:
    """Return the CPU of what a process has started, and of the children that this has waited for."""
    inside = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    stats = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in inside]
    return sum(int(ticks) for fields in stats for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _children_s() -> float:
    used = os.times()
    return used.children_user + used.children_system


if __name__ == "__main__":
    asyncio.run(report())
