"""Chart code does not get out of the sandbox, takes no more than it may, and leaves nothing behind for the next chart.

All of it runs for real, started by root, who drops to nobody, and by an ordinary user.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bubblewrap import NEEDS_BUBBLEWRAP
from tests.support.escapes import ATTEMPTS, HARMLESS, MISUSES, Attempt, Misuse

ROOT = Path(__file__).parents[2]
ORDINARY = 12_345
SECRET = "DEEP_RESEARCH_TEST_SECRET"
NEXT_CHART = """
import os
print(sorted(os.listdir("/tmp")), os.getcwd())
plt.plot([row["value"] for row in data], label="下一张")
plt.legend()
"""
ROWS = [{"value": 1.5}, {"value": 2}]

pytestmark = [pytest.mark.long, *NEEDS_BUBBLEWRAP]


class Host:
    """A process of some user that owns a sandbox, and what lies around it."""

    def __init__(self, python: list[str], environment: dict[str, str], uid: int | None, folder: Path) -> None:
        self.python, self.uid, self.folder = python, uid, folder
        self.environment = {**environment, SECRET: "hidden"}
        self.process = self._started([*python, "-m", "tests.support.sandbox_host"])
        self.listeners = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        addresses: list[Any] = [("127.0.0.1", 0), f"{folder}/socket", f"\0{folder}"]
        for listener, address in zip(self.listeners, addresses, strict=True):
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
        secret = folder / "file"
        secret.write_text("hidden")
        for path in (folder, secret, folder / "socket"):
            path.chmod(0o777)
        self.data: dict[str, Any] = {
            "file": str(secret),
            "folder": str(folder),
            "pid": self.process.pid,
            "name": SECRET,
            "port": self.listeners[0].getsockname()[1],
            "socket": f"{folder}/socket",
            "abstract": str(folder),
        }

    def _started(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=self.environment,
            user=self.uid,
            group=self.uid,
            extra_groups=None if self.uid is None else [],
        )

    def run(self, code: str, data: object, within_s: float = 60.0) -> dict[str, Any]:
        """Run code in the sandbox."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"code": code, "data": data, "within_s": within_s}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def run_outside(self, attempt: Attempt) -> str:
        """Run an attempt as this user without a sandbox; return what it printed."""
        before = f"class plt: plot = figure = lambda *_, **__: None\ndata = {self.data!r}\n"
        # The shell is the parent then, of the same user.
        process = self._started(["/bin/sh", "-c", '"$@"; true', "sh", *self.python, "-c", before + attempt.program()])
        printed, _ = process.communicate()
        return printed

    def connections(self) -> int:
        """Return how many have come since this was asked last."""
        came = 0
        for listener in self.listeners:
            while True:
                try:
                    listener.accept()[0].close()
                except BlockingIOError:
                    break
                came += 1
        return came

    def close(self) -> None:
        """End it."""
        self.process.communicate()
        for listener in self.listeners:
            listener.close()


def _readable_python(uid: int) -> tuple[list[str], dict[str, str]]:
    """Return a Python that an ordinary user may run, and our packages: this one, or the system's of this version."""
    path = f"{ROOT}/src:{ROOT}:{sysconfig.get_path('purelib')}"
    for name in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"}
        command = [name, "-c", "import pandas, pydantic, deep_research"]
        try:
            ended = subprocess.run(command, user=uid, group=uid, extra_groups=[], env=environment, cwd="/", check=False)
        except OSError:
            continue
        if ended.returncode == 0:
            return [name], environment
    pytest.skip("root's Python cannot be read by other users, and the system has none of the same version")


@pytest.fixture(scope="module", params=["root", "ordinary user"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    is_root = os.geteuid() == 0
    if request.param == "root" and not is_root:
        pytest.skip("only root can drop to another user")
    python, environment, uid = [sys.executable], {"PYTHONPATH": f"{ROOT}/src:{ROOT}"}, None
    if request.param != "root" and is_root:
        uid = ORDINARY
        python, environment = _readable_python(uid)
    # Not below pytest's own folder, which only its user may enter.
    folder = Path(tempfile.mkdtemp())
    running = Host(python, environment, uid, folder)
    try:
        answer = running.run(NEXT_CHART, ROWS)
        if "SourceRefused" in answer["error"]:
            pytest.skip(answer["error"])
        yield running
    finally:
        running.close()
        shutil.rmtree(folder)


def _works(host: Host, within_s: float = 60.0) -> None:
    """The next chart is as good as the first, and finds nothing of the last one."""
    answer = host.run(NEXT_CHART, ROWS, within_s)
    assert (answer["error"], answer["plotted"]) == ("", [[1.5, 2.0]])
    assert answer["printed"] == "[] /tmp\n"
    assert 'width="576' in answer["svg"]
    assert host.process.poll() is None


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_no_way_leads_out_and_the_next_chart_works(host: Host, attempt: Attempt):
    host.connections()
    answer = host.run(attempt.program(), host.data)
    assert answer["printed"].startswith("BLOCKED"), answer
    assert "ESCAPED" not in answer["printed"]
    _works(host)
    assert host.connections() == 0
    assert sorted(path.name for path in host.folder.iterdir()) == ["file", "socket"]


@pytest.mark.parametrize("attempt", HARMLESS, ids=lambda attempt: attempt.name)
def test_without_the_sandbox_the_same_attempt_gets_through(host: Host, attempt: Attempt):
    assert host.run_outside(attempt).startswith("ESCAPED")
    (host.folder / "written").unlink(missing_ok=True)


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.name)
def test_misuse_costs_its_own_chart_alone(host: Host, misuse: Misuse):
    answer = host.run(misuse.code, None, misuse.within_s)
    assert re.search(misuse.said, answer["error"]), answer["error"]
    assert len(answer["error"]) < 10_000
    assert "\x1b" not in answer["error"]
    _works(host, misuse.within_s)


def test_there_are_many_attempts():
    assert len(ATTEMPTS) + len(MISUSES) >= 100
