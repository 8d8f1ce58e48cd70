"""A real PostgreSQL for tests: an installed server, started as a normal user, with a fresh database for each test.

It listens on a socket in its own folder, so that no port is needed.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import POSTGRESQL, lacking
from tests.support.waiting import HANG_S

_USER = "tester"
_UNPRIVILEGED = ("postgres", "nobody")


def programs() -> Path | None:
    """Return the folder of an installed PostgreSQL's programs, the newest where there are several."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(POSTGRESQL.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


@dataclass(eq=False)
class PostgresServer:
    """A running server; `stop` and `start` take it away and bring it back with all it holds."""

    folder: Path
    programs: Path
    is_durable: bool = False
    _process: subprocess.Popen[Any] | None = None
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def url(self, name: str) -> str:
        return f"postgresql://{_USER}@/{name}?host={self.folder}"

    @property
    def pid(self) -> int:
        """The process that starts all others of the server."""
        assert self._process is not None
        return self._process.pid

    def new_database(self, *, template: str = "template0") -> str:
        """Make a database and return its address."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return self.url(name)

    def execute(self, statement: str, *, url: str = "") -> None:
        import psycopg

        with psycopg.connect(url or self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def start(self) -> None:
        command = [
            str(self.programs / "postgres"),
            "-D",
            str(self.folder / "data"),
            *([] if self.is_durable else ["-F"]),
        ]
        options = ["-h", "", "-k", str(self.folder), "-c", "max_connections=60", "-c", "log_min_messages=fatal"]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd=self.folder, **_as_user())
        self._process = process
        until = time.monotonic() + HANG_S
        while subprocess.run([self.programs / "pg_isready", "-q", "-h", self.folder], check=False).returncode != 0:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT cuts all connections off, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=HANG_S)
            self._process = None


@contextmanager
def postgres_server(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """Start a server in a folder of its own; a test is skipped where none is installed."""
    found = programs()
    if found is None:
        pytest.skip(lacking("postgresql"))
    if os.geteuid() == 0 and not _as_user():
        pytest.skip("PostgreSQL does not start as root, and there is no user to start it as")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if user := _as_user():
            os.chown(folder, user["user"], user["group"])
        make = [
            str(found / "initdb"),
            "-D",
            str(folder / "data"),
            "-U",
            _USER,
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
        ]
        subprocess.run([*make, "--locale=C.UTF-8"], check=True, capture_output=True, cwd=folder, **_as_user())
        server = PostgresServer(folder, found, is_durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_user() -> dict[str, Any]:
    """Return what makes a child of root a normal user."""
    if os.geteuid() != 0:
        return {}
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return {}
