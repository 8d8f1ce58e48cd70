"""Chart code in a real sandbox: what it draws comes back, and whatever happens to a worker, the next chart works."""

import asyncio
import base64
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deep_research.charts.sandbox.bubblewrap import Bubblewrap
from deep_research.charts.sandbox.process import SandboxLimits, SandboxProcess, Start, WarmSandbox
from deep_research.errors import SourceError, SourceRefused
from deep_research.value import Json
from tests.support.bubblewrap import NEEDS_BUBBLEWRAP

pytestmark = [*NEEDS_BUBBLEWRAP, pytest.mark.processes]
STYLE = files("deep_research.charts").joinpath("style.py").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[2]
CHART = "plt.plot([row['value'] for row in data])"
ROWS: Json = [{"label": "2023", "value": 1.5}, {"label": "2024", "value": 2}]


class Counting(Bubblewrap):
    """Bubblewrap that counts how often it was started."""

    def __init__(self) -> None:
        self.starts = 0

    def start(self, limits: SandboxLimits) -> Start:
        self.starts += 1
        return super().start(limits)


@pytest.fixture
async def sandbox() -> AsyncIterator[WarmSandbox]:
    sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(), STYLE)
    try:
        await sandbox.check()
    except SourceRefused as refused:
        await sandbox.close()
        pytest.skip(str(refused))
    yield sandbox
    await sandbox.close()


def worker_of(sandbox: WarmSandbox) -> SandboxProcess:
    assert sandbox._process is not None
    return sandbox._process


async def test_charts_come_back_with_what_they_show(sandbox: WarmSandbox):
    code = """
import pandas as pd, numpy as np
print("三行", len(data))
frame = pd.DataFrame(data)
plt.plot(frame.label, frame.value)
plt.axhline(7)
plt.axvline(1)
plt.title("收入 營收 売上高")
plt.savefig("chart.png")
plt.close()
plt.figure()
plt.bar(["a", "b"], np.array([3, 4]))
plt.figure()
plt.barh(["a", "b"], [5, 6])
plt.scatter([1, 2], [8, 9])
"""
    made = await sandbox.execute(code, ROWS)
    assert made.stdout == "三行 2\n"
    assert made.plotted == ((1.5, 2.0, 7.0, 7.0), (3.0, 4.0), (5.0, 6.0, 8.0, 9.0))
    assert [base64.b64decode(png)[:4] for png in made.figures] == [b"\x89PNG"] * 3
    assert all("<svg" in svg for svg in made.svgs)


@pytest.mark.parametrize(
    "code",
    [
        "plt.pie([row['value'] for row in data], labels=[row['label'] for row in data])",
        "plt.scatter([row['label'] for row in data], [row['value'] for row in data])",
        "plt.plot([row['value'] for row in data]); plt.fill_between([0, 1, 2], [row['value'] for row in data])",
        "for at, row in enumerate(data): plt.bar(['all'], [row['value']], bottom=sum(r['value'] for r in data[:at]))",
    ],
    ids=["pie", "scatter", "area", "stacked"],
)
async def test_the_values_of_every_form_are_read_from_what_was_drawn(sandbox: WarmSandbox, code: str):
    rows: Json = [{"label": label, "value": value} for label, value in (("a", 91000.7), ("b", 58123.4), ("c", 3.25))]
    made = await sandbox.execute(code, rows)
    assert sorted(made.plotted[0]) == pytest.approx([3.25, 58123.4, 91000.7], rel=1e-12)
    wrong = await sandbox.execute(code.replace("row['value']", "row['value'] + (row['label'] == 'b')"), rows)
    assert sorted(wrong.plotted[0])[1] != pytest.approx(58123.4, rel=1e-6)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('before')\nplt.plot(data[7])", r"before\n(?s:.*)line 2(?s:.*)plt.plot\(data\[7\]\)(?s:.*)IndexError"),
        ("plt.plot(", "SyntaxError"),
        ("import nowhere", "No module named 'nowhere'"),
        ("pass", "drew no figure"),
    ],
)
async def test_bad_code_is_told_what_is_wrong(sandbox: WarmSandbox, code: str, said: str):
    with pytest.raises(SourceError, match=said):
        await sandbox.execute(code, ROWS)
    assert (await sandbox.execute(CHART, ROWS)).plotted == ((1.5, 2.0),)


async def test_a_lost_worker_costs_no_chart(sandbox: WarmSandbox):
    first = worker_of(sandbox)
    os.kill(first.pid, signal.SIGKILL)
    assert (await sandbox.execute(CHART, ROWS)).plotted == ((1.5, 2.0),)
    assert (await sandbox.execute(CHART, ROWS)).plotted == ((1.5, 2.0),)
    assert worker_of(sandbox) is not first


async def test_the_spare_stands_in_and_is_replaced():
    backend = Counting()
    sandbox = WarmSandbox([backend], SandboxLimits(), STYLE)
    try:
        await sandbox.execute(CHART, ROWS)
    except SourceRefused as refused:
        pytest.skip(str(refused))
    spare = sandbox._spare
    assert spare is not None
    await spare
    os.kill(worker_of(sandbox).pid, signal.SIGKILL)
    # A chart of its own sandbox, then one of the spare; and a new spare.
    await sandbox.execute(CHART, ROWS)
    await sandbox.execute(CHART, ROWS)
    assert worker_of(sandbox) is spare.result()
    await sandbox.close()
    assert backend.starts == 4


async def test_a_chart_that_is_called_off_leaves_nothing_running(sandbox: WarmSandbox):
    busy = worker_of(sandbox)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await sandbox.execute("while True: pass")
    assert not busy.is_alive
    assert (await sandbox.execute(CHART, ROWS)).plotted == ((1.5, 2.0),)


async def test_the_host_owns_the_clock():
    sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(timeout_s=5), STYLE)
    try:
        await sandbox.check()
        worker = worker_of(sandbox)
        with pytest.raises(SourceError, match="stopped after 5 s"):
            await sandbox.execute("import time\ntime.sleep(10_000)")
        # Only the code was ended.
        assert worker_of(sandbox) is worker
        # One that cannot even be stopped is ended as a whole; here it is asleep itself.
        os.kill(worker.pid, signal.SIGSTOP)
        _stop_inside(worker.pid)
        with pytest.raises(SourceError, match="stopped after 5 s"):
            await sandbox.execute(CHART, ROWS)
        sandbox.limits = SandboxLimits()
        assert (await sandbox.execute(CHART, ROWS)).plotted == ((1.5, 2.0),)
    except SourceRefused as refused:
        pytest.skip(str(refused))
    finally:
        await sandbox.close()


def _stop_inside(pid: int) -> None:
    """Stop the processes that a process has started."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child), signal.SIGSTOP)


async def test_closing_ends_every_process(sandbox: WarmSandbox):
    await sandbox.execute(CHART, ROWS)
    pid = worker_of(sandbox).pid
    inside = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    assert inside
    await sandbox.close()
    for _ in range(100):
        if not any(Path(f"/proc/{child}").exists() for child in inside):
            break
        await asyncio.sleep(0.1)
    assert not any(Path(f"/proc/{child}").exists() for child in inside)


async def test_a_sandbox_that_does_not_hold_is_refused():
    class Open(Bubblewrap):
        """Without limits and the filter."""

        def start(self, limits: SandboxLimits) -> Start:
            start = super().start(limits)
            # Root's command stands inside another.
            command = [word.replace("fence.close()", "None") for word in start.command]
            return start._replace(command=command)

    sandbox = WarmSandbox([Open()], SandboxLimits(), STYLE)
    with pytest.raises(SourceRefused, match=r"the self-test failed: .*processes can be started"):
        await sandbox.execute(CHART, ROWS)
    await sandbox.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can fail to give up being root")
async def test_root_that_was_not_given_up_is_refused():
    class Rooted(Bubblewrap):
        """Leaves out the step that gives root up."""

        def start(self, limits: SandboxLimits) -> Start:
            start = super().start(limits)
            words = [word.replace("os.setres", "lambda *_: os.getres") for word in start.command]
            return start._replace(command=words)

    sandbox = WarmSandbox([Rooted()], SandboxLimits(), STYLE)
    with pytest.raises(SourceRefused, match=r"does not run as the user 65534|code is root"):
        await sandbox.execute(CHART, ROWS)
    await sandbox.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root covers a folder before it starts bubblewrap")
async def test_a_bubblewrap_below_tmp_is_found(monkeypatch: pytest.MonkeyPatch):
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        shutil.copy(str(shutil.which("bwrap")), folder)
        monkeypatch.setenv("PATH", folder, prepend=":")
        sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(), STYLE)
        assert await sandbox.check() == "bubblewrap"
        await sandbox.close()


async def test_nothing_inside_outlives_a_host_that_is_killed(tmp_path: Path):
    code = "import time\ntime.sleep(10_000)"
    request = json.dumps({"code": code, "data": None}).encode() + b"\n"
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.sandbox_host", stdin=PIPE, stdout=PIPE,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )  # fmt: skip
    assert host.stdin is not None
    host.stdin.write(json.dumps({"code": CHART, "data": ROWS}).encode() + b"\n")
    assert host.stdout is not None
    answer = json.loads(await host.stdout.readline())
    if "SourceRefused" in answer["error"]:
        pytest.skip(answer["error"])
    host.stdin.write(request)
    await host.stdin.drain()
    inside = set[int]()
    # The worker, the program in it, and the code that sleeps.
    while len(inside) < 3:
        inside = _descendants(host.pid)
        await asyncio.sleep(0.05)
    host.kill()
    await host.communicate()
    while any(Path(f"/proc/{pid}").exists() for pid in inside):
        await asyncio.sleep(0.05)


def _descendants(pid: int) -> set[int]:
    try:
        children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()
    return children.union(*map(_descendants, children))


async def test_a_machine_without_a_known_filter_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.charts.sandbox.process.filters", lambda: {"pdp11": b""})
    sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(), STYLE)
    with pytest.raises(SourceRefused, match=r"no filter of system calls"):
        await sandbox.execute(CHART, ROWS)
    await sandbox.close()
