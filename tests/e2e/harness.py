"""A user at the command line: real processes with a home and a working folder of their own.

`Lab` is the same user inside the test's process, for what a process of its own would add nothing to.
"""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import chdir, closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, TypeVar
from unittest.mock import patch

from pydantic import SecretStr

from deep_research.cli.main import main
from deep_research.events import OnEvent, RunEvent
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.journal import DECISIONS
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.report.escaping import unescape
from deep_research.request import ResearchRequest
from deep_research.settings import Settings
from deep_research.storage.store.port import JournalRow, RunRow
from deep_research.storage.store.store import Store
from deep_research.testing import CallLog
from deep_research.value import Json
from deep_research.wiring import open_store
from tests.e2e.warm import Forked, Parent
from tests.support.environment import NO_CHARTS
from tests.support.waiting import HANG_S, wait_until
from tests.support.world import World

QUESTION = "What did the projects cost and achieve?"
Result = TypeVar("Result")
IDLE_PARENTS: tuple[list[Parent], list[Parent]] = ([], [])
LOCKS = (Lock(), Lock())


@dataclass
class User:
    """One user with one store; `before` is a command that starts ours; its files stay within `max_file_kib`."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    question: str = QUESTION
    world: tuple[str, ...] = ("quick",)
    before: tuple[str, ...] = ()
    max_file_kib: int | None = None
    begun_warm: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def call_log(self) -> Path:
        return self.folder / "calls.log"

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DEEP_RESEARCH_", "TEST_"))
            and not name.endswith(("_API_KEY", "_TOKEN", "_OPS_KEY"))
        }
        here = Path(__file__).parent
        paths = [str(here), str(here.parents[1]), kept.get("PYTHONPATH", "")]
        ours = {
            "DEEP_RESEARCH_HOME": str(self.home),
            "DEEP_RESEARCH_ENGINES": "none",
            **NO_CHARTS,
            "TEST_CALL_LOG": str(self.call_log),
            "TEST_MENDED": str(self.folder / "mended"),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }
        return {**kept, **ours, **self.env, **extra}

    def start(self, *arguments: str, **extra: str) -> "subprocess.Popen[str]":
        """Start the command in a process, forked where nothing has to happen before the command begins."""
        options: dict[str, Any] = {
            "cwd": self.folder,
            "env": self.environment(**extra),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        if self.before:
            command = [*self.before, sys.executable, "-m", "deep_research", *arguments]
            return subprocess.Popen(command, **options)
        return self.fork(*arguments, **options)

    def fork(self, *arguments: str, **options: Any) -> "subprocess.Popen[Any]":
        """Start the command in a process that a warm parent forks, with the options of `Popen`."""
        with self._parent() as parent:
            return Forked(parent, arguments, max_file_kib=self.max_file_kib, **options)

    @contextmanager
    def _parent(self) -> Iterator[Parent]:
        """Yield a parent that nobody else has an order for."""
        # Consecutive processes differ in their hash seed, as those do that are started by hand.
        self.begun_warm += 1
        number = self.begun_warm % len(IDLE_PARENTS)
        idle = IDLE_PARENTS[number]
        with LOCKS[number]:
            parent = idle.pop() if idle else Parent()
            yield parent
            idle.append(parent)

    def run(self, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in a process, forked where nothing has to happen before the command begins."""
        if self.before:
            return finish(self.start(*arguments, **extra))
        # In files, and no pipes: what the process leaves behind may keep those open.
        with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
            options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            process = self.fork(*arguments, cwd=self.folder, env=self.environment(**extra), **options)
            try:
                code = process.wait(HANG_S)
            finally:
                process.kill()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def run_together(
        self, *commands: Sequence[str], before_last: Callable[[], object], **extra: str
    ) -> "list[subprocess.CompletedProcess[str]]":
        """Run commands in processes that begin at the same moment; call something before the last one ends."""
        with self._parent() as parent:
            return parent.run_together(
                commands, folder=self.folder, env=self.environment(**extra), timeout_s=HANG_S, before_last=before_last
            )

    def call(self, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in this process, for what a process of its own would add nothing to but seconds."""
        worlds, out, err, code = str(Path(__file__).parent), StringIO(), StringIO(), 0
        with (
            chdir(self.folder),
            patch.dict(os.environ, self.environment(**extra), clear=True),
            patch.object(sys, "path", [worlds, *sys.path]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main(list(arguments))
            except SystemExit as exit_:
                code = exit_.code if isinstance(exit_.code, int) else 0
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def ask(self, wiring: str, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return self.run("ask", self.question, "--wiring", f"worlds:{wiring}", *arguments, **extra)

    def with_store(self, work: Callable[[Store], Awaitable[Result]]) -> Result:
        async def run() -> Result:
            url = self.env.get("DEEP_RESEARCH_DATABASE_URL")
            store = open_store(Settings(home=self.home, database_url=SecretStr(url) if url else None))
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

    def journal(self) -> list[JournalRow]:
        run = self.only_run().id
        return self.with_store(lambda store: store.list_calls(run))

    def calls(self) -> list[JournalRow]:
        """Return the rows of calls to somebody, without those that only record a choice or a count."""
        return [row for row in self.journal() if row.kind not in DECISIONS]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return (
            [line for line in CallLog.read(self.call_log) if line["event"] == event] if self.call_log.exists() else []
        )

    def begun(self) -> list[str]:
        """Return the outside calls that were begun, in order, by all processes."""
        return [f"{line['kind']} {line['what']}" for line in self.logged("begin")]

    def report(self) -> str:
        """Return the report as it reads, without the two things that differ between runs."""
        row = self.only_run()
        text = (Path(row.folder) / "report.md").read_text(encoding="utf-8")
        return re.sub(r"started [^\n]*", "started …", unescape(text).replace(row.id, "…"))

    def wait_for_calls(self, count: int) -> None:
        wait_until(lambda: len(self.logged("begin")) >= count)

    def wait_for_act(self, act: str) -> None:
        """Wait until the model has been asked for an act."""
        wait_until(lambda: any(call.startswith(f"llm {act} ") for call in self.begun()))

    def freeze(self, process: "subprocess.Popen[str]") -> None:
        """Stop a process where it holds no lock: a frozen writer would keep everybody else out of the store."""
        while True:
            kill(process, signal.SIGSTOP)
            wait_until(lambda: _is_stopped(process.pid))
            if _is_free(self.home / "store.db"):
                return
            kill(process, signal.SIGCONT)
            time.sleep(0.02)

    def everything(self) -> dict[str, object]:
        """Return all rows of the store and the content of all files of the runs."""
        with closing(sqlite3.connect(self.home / "store.db")) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            kept: dict[str, object] = {
                name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in tables
            }
        files = sorted(path for path in (self.folder / "logs").rglob("*") if path.is_file())
        return kept | {str(path): path.read_bytes() for path in files}


def _is_stopped(pid: int) -> bool:
    """Say whether every thread of a process stands still: a signal takes a moment to reach them all."""
    tasks = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(")")[2].split()[0] in "Tt" for task in tasks)


@dataclass
class Lab:
    """The user's runs in this process: the real runtime over the real store, in a scripted world."""

    user: User
    world: World = field(default_factory=lambda: World(pages=8))
    machine: StateMachine | None = None
    change: Callable[[Adapters], Adapters] = lambda adapters: adapters
    charts: bool = False

    def settings(self) -> Settings:
        return Settings(home=self.user.home, logs=self.user.folder / "logs", charts=self.charts)

    def processor(self) -> DeepResearchProcessor:
        adapters = replace(self.world, log=CallLog(self.user.call_log)).adapters(self.settings())
        return DeepResearchProcessor(self.change(adapters), machine=self.machine, wiring="worlds:quick")

    def ask(self, question: str = QUESTION, *, on_event: OnEvent | None = None, **given_request: Any) -> RunRow:
        request = ResearchRequest(question=question, **given_request)
        return asyncio.run(self.processor().process(request, on_event=on_event))

    def resume(self, run: str, *, retry: bool = False, on_event: OnEvent | None = None) -> RunRow:
        return asyncio.run(self.processor().resume(run, retry=retry, on_event=on_event))

    def answer(self, run: str, answer: Json) -> RunRow:
        asyncio.run(self.processor().answer(run, answer))
        return self.resume(run)

    def cancel(self, run: str) -> RunRow:
        return asyncio.run(self.processor().cancel(run))


def finish(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    """Wait for a process and return what it said."""
    try:
        out, err = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args!r} hung:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def assert_explained(ended: "subprocess.CompletedProcess[str]", code: int) -> str:
    """The exit code is right, the last thing said is ours, and no trace was shown; return what was said."""
    assert ended.returncode == code, f"{ended.returncode} instead of {code}:\n{ended.stderr}"
    assert "Traceback" not in ended.stderr, ended.stderr
    _, mark, said = ended.stderr.rpartition("deep-research: ")
    assert mark, ended.stderr
    assert said.strip(), "an empty sentence"
    return said


def assert_emitted_once(events: list[RunEvent]) -> None:
    """No gap in the numbers, no key twice."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    keys = [event.key for event in events]
    assert len(keys) == len(set(keys)), "a key was told twice"


def keys_but_status(events: list[RunEvent]) -> set[str]:
    """What was told about the work itself; each process adds its own status."""
    return {event.key for event in events if event.kind != "run-status"}


def kill(process: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    os.kill(process.pid, number)


def _is_free(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True
