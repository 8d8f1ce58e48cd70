"""What every test starts from: none of the machine's settings, and a home of its own."""

import asyncio
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop
from argon2 import PasswordHasher
from hypothesis import settings, strategies

from deep_research.charts import drawing
from deep_research.pipeline.stages import chart
from deep_research.service.accounts import passwords
from deep_research.web.search import throttle
from tests.support.cpu import costly, cpu_s, note_cost
from tests.support.environment import NO_CHARTS
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.skips import floors_skipped, wanting
from tests.support.waiting import HANG_S

# A busy machine is no defect, and what CI finds must be found again at the desk.
settings.register_profile("quick", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=30)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=300)
settings.load_profile("quick")

LONG_TIMEOUT_S = 1_800
CPU_BEFORE, SHARED_CPU = pytest.StashKey[float](), pytest.StashKey[list[float]]()
# A chart that is late on a busy machine is no defect either.
drawing._TIMEOUT_S = chart._DRAWING_S = HANG_S
# A password is hashed as it is everywhere, but not for a tenth of a second each time.
passwords.PasswordHasher = partial(PasswordHasher, time_cost=1, memory_cost=1_024, parallelism=1)  # type: ignore[assignment,attr-defined]  # it is only called

# The store waits for the disk at every commit, and three workers wait for each other's. A killed process loses as much
# in memory as on a disk, so that is where files stand; TMPDIR names another place.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the test, and every process it starts, a fresh home and no other settings of ours."""
    for name in list(os.environ):
        if name.startswith(("DEEP_RESEARCH_", "SANDBOX_", "LANGSMITH_", "LANGCHAIN_")) or name.endswith(
            ("_API_KEY", "_TOKEN", "_OPS_KEY")
        ):
            monkeypatch.delenv(name)
    # A process remembers that a service was down: another test's server may have had this one's address.
    throttle._throttle.cache_clear()
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DEEP_RESEARCH_HOME", str(home))
    # No test asks anybody outside this machine; one about the web names a server of its own.
    monkeypatch.setenv("DEEP_RESEARCH_ENGINES", "none")
    for name, value in NO_CHARTS.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL for all tests of this process that want one."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def database_url(postgres: PostgresServer) -> str:
    """Return the address of an empty database."""
    return postgres.new_database()


@pytest.fixture
def processes_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every process that is started end before anybody can write to it."""
    start = asyncio.create_subprocess_exec

    async def start_and_wait(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*command, **options)
        await process.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_wait)


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run what starts processes on both loops: the server's own differs in what it raises about one that has ended."""
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if item.get_closest_marker("processes"):
        loops["uvloop"] = uvloop.new_event_loop
    return loops


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give what takes long on an idle machine more time against hangs than the rest."""
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is left when the time is up: `.ci/run` says when it has to come to its end."""
    item.config.stash[SHARED_CPU] = []
    item.stash[CPU_BEFORE] = cpu_s()
    if time.time() > float(os.environ.get("TEST_DEADLINE", "inf")):
        pytest.skip("no time was left for it")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Leave what several tests share out of the account of the first of them."""
    if fixturedef.scope == "function":
        return (yield)
    before = cpu_s()
    try:
        return (yield)
    finally:
        request.config.stash[SHARED_CPU].append(cpu_s() - before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hold what `make test` runs to what a test may take of the processor."""
    report = yield
    if report.when == "teardown" and "not long" in item.config.option.markexpr:
        shared: list[float] = item.config.stash[SHARED_CPU]
        own_s = cpu_s() - item.stash[CPU_BEFORE] - sum(shared)
        note_cost(report, own_s)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what took too much of the processor, and what was skipped for want of a program, with what brings it."""
    for line in costly(report for reports in terminalreporter.stats.values() for report in reports):
        terminalreporter.write_line(line)
    for line in wanting(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in CI where a floor of quality was skipped, though the sets are here."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI"):
        return
    if skipped := floors_skipped(reporter.stats.get("skipped", [])):
        reporter.write_line("Floors of quality were skipped: " + ", ".join(skipped), red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_finish() -> None:
    """Load what would else count as some test's own time, and keep what was imported out of the collector's way."""
    # In a fresh clone, Hypothesis takes seconds to make its table of characters.
    strategies.text().validate()
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests that wait for a process, a lease or a minute leave theirs idle."""
    return (os.cpu_count() or 1) + 1
