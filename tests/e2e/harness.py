"""A user at the command line: real processes with a home and a working folder of their own."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from deep_research.events import RunEvent
from deep_research.store.port import JournalRow, RunRow
from deep_research.store.sqlite import SqliteStore
from deep_research.testing.model import CallLog

QUESTION = "What did the projects cost and achieve?"
Result = TypeVar("Result")


@dataclass
class User:
    """One user with one store."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def call_log(self) -> Path:
        return self.folder / "calls.log"

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DEEP_RESEARCH_", "TEST_"))}
        paths = [str(Path(__file__).parent), kept.get("PYTHONPATH", "")]
        ours = {
            "DEEP_RESEARCH_HOME": str(self.home),
            "TEST_CALL_LOG": str(self.call_log),
            "TEST_MENDED": str(self.folder / "mended"),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }
        return {**kept, **ours, **self.env, **extra}

    def start(self, *arguments: str, **extra: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "deep_research", *arguments],
            cwd=self.folder,
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments, **extra)
        try:
            out, err = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{arguments} hung:\n{out}\n{err}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def ask(self, wiring: str, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return self.run("ask", QUESTION, "--wiring", f"worlds:{wiring}", *arguments, **extra)

    def with_store(self, work: Callable[[SqliteStore], Awaitable[Result]]) -> Result:
        async def run() -> Result:
            store = SqliteStore(self.home / "store.db")
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(run())

    def only_run(self) -> RunRow:
        rows = self.with_store(lambda store: store.list_runs(limit=5))
        assert len(rows) == 1, [row.id for row in rows]
        return rows[0]

    def events(self) -> list[RunEvent]:
        run = self.only_run().id
        return self.with_store(lambda store: store.read_events(run))

    def calls(self) -> list[JournalRow]:
        run = self.only_run().id
        return self.with_store(lambda store: store.list_calls(run))

    def logged(self, event: str) -> list[dict[str, Any]]:
        return (
            [line for line in CallLog.read(self.call_log) if line["event"] == event] if self.call_log.exists() else []
        )

    def report(self) -> str:
        """Return the report without the two things that differ between runs."""
        row = self.only_run()
        text = (Path(row.folder) / "report.md").read_text(encoding="utf-8")
        return re.sub(r"started [^\n]*", "started …", text.replace(row.id, "…"))

    def wait_for(self, condition: Callable[[], bool], *, timeout_s: float = 60) -> None:
        end = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)

    def wait_for_calls(self, count: int) -> None:
        self.wait_for(lambda: len(self.logged("begin")) >= count)


def assert_told_once(events: list[RunEvent]) -> None:
    """No gap in the numbers, no key twice."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    keys = [event.key for event in events]
    assert len(keys) == len(set(keys)), "a key was told twice"


def keys_but_status(events: list[RunEvent]) -> set[str]:
    """What was told about the work itself; each process adds its own status."""
    return {event.key for event in events if event.kind != "run-status"}


def kill(process: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    os.kill(process.pid, number)
