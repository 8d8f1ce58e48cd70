"""Runs shared among worker processes on PostgreSQL: how soon one begins, how many a minute, what a lost worker costs.

`python -m benchmarks.workers`, on an otherwise idle machine; SQLite with the worker of `serve` stands beside it where
both can do the same.
"""

import asyncio
import os
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from pydantic import SecretStr

from benchmarks.child import Process, start
from benchmarks.many_runs import question
from benchmarks.server_process import QUESTION, ServerProcess, settings_by_rules
from benchmarks.whole_run import line
from benchmarks.world_process import WorldProcess, world_in_a_process
from deep_research.errors import RunHeld
from deep_research.service.runs.run_queue import open_queue
from deep_research.settings import Settings
from deep_research.storage.store.lease import current_owner
from deep_research.wiring import open_store
from tests.support.postgres import PostgresServer, postgres_server, programs
from tests.support.store_samples import make_run, make_status

STARTS, WAITING, USERS, SHARED, AT_ONCE, KILLS = 100, 1_000, 10, 24, 8, 5
PROCESSES = (1, 2, 4)
MAX_CPU_RATIO, MAX_WALL_RATIO = 1.1, 1.2
LEASE_S = 30.0
# A worker takes so long to load what runs need, or less.
LOADING_S = 8.0
_PATIENCE_S = 900.0


class Shared(NamedTuple):
    """What some runs came to: seconds from the first question to the last report, and CPU of each run."""

    wall_s: float
    cpu_s: float


def report() -> None:
    """Print the table."""
    if programs() is None:
        print("workers: no PostgreSQL is installed")
        return
    with (
        postgres_server(is_durable=True) as server,
        world_in_a_process() as world,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        print(f"from a question to its run's first claim, {STARTS} questions one after the other")
        _print_starts("SQLite, the server itself", _starts(folder / "starts-sqlite", None))
        _print_starts("PostgreSQL, another process", _starts(folder / "starts", server))
        print(f"\n{WAITING:,} runs wait, of ten users; four takers take them all")
        _print_waiting("SQLite, take and claim", Settings(home=folder / "waiting"))
        _print_waiting("PostgreSQL, take and claim", Settings(database_url=SecretStr(server.new_database())))
        print("\nruns of the bench world shared among worker processes")
        _print_shared(world, folder, server)
        print(f"\nfrom kill -9 to the next claim of a run, by another worker; lease {LEASE_S:g} s, {KILLS} kills")
        _print_takeovers(world, folder, server)


class Host(ServerProcess):
    """A server and its workers in one database; without a database, one server that works itself."""

    def __init__(self, settings: Mapping[str, object], folder: Path) -> None:
        super().__init__(settings, folder, *(["--workers", "0"] if "database_url" in settings else []))
        self.workers: list[Process] = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
        super().__exit__(kind, error, trace)

    def add_worker(self, *, processes: int = 1, hostname: str = "") -> Process:
        """Start a worker, on a host of another name where one is given."""
        given = ["-m", "deep_research", "worker", "--processes", str(processes), "--at-once", str(AT_ONCE)]
        within = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', hostname] if hostname else []
        worker = start(given, self.settings, self.folder, self.log, within=within)
        self.workers.append(worker)
        return worker


def _starts(folder: Path, server: PostgresServer | None) -> list[float]:
    """Ask one question after the other, and return how long each waited for somebody to claim its run."""
    settings = settings_by_rules(folder)
    if server is not None:
        settings["database_url"] = server.new_database()
    with Host(settings, folder) as host:
        if server is not None:
            host.add_worker()
        runs = []
        for _ in range(STARTS + 1):
            runs.append(host.ask(QUESTION, clarify="off"))
            host.wait_until(runs[-1], "done")
        # The first one waits for the worker to load.
        return asyncio.run(_waits(Settings.model_validate(settings), runs[1:]))


async def _waits(settings: Settings, runs: Sequence[str]) -> list[float]:
    """Return the seconds from each run's creation to its first event, which whoever has claimed it writes."""
    store = open_store(settings)
    try:
        waits = []
        for run in runs:
            (first,) = await store.read_events(run, limit=1)
            waits.append((first.at - (await store.get_run(run)).created_at).total_seconds())
        return waits
    finally:
        await store.close()


def _print_starts(what: str, waits: list[float]) -> None:
    shown = f"p50 {_percentile(waits, 50) * 1000:.0f} ms"
    line(what, shown, note=f"p99 {_percentile(waits, 99) * 1000:.0f} ms, longest {max(waits) * 1000:.0f} ms")


def _print_waiting(what: str, settings: Settings) -> None:
    """Let runs of ten users wait, and have them taken and claimed by several processes, each once."""
    runs = asyncio.run(_put_all(settings))
    count = max(PROCESSES)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as takers:
        # Every process loads what it needs before the first run is taken.
        list(takers.map(time.sleep, [LOADING_S] * count))
        began = time.perf_counter()
        taken = [of_one.result() for of_one in [takers.submit(_take_and_claim, settings) for _ in range(count)]]
        wall = time.perf_counter() - began
    claimed = Counter(run for of_one in taken for run, _ in of_one)
    assert claimed == Counter(runs), "a run was lost, or claimed twice"
    takes = [seconds for of_one in taken for _, seconds in of_one]
    shown = f"p50 {_percentile(takes, 50) * 1000:.1f} ms"
    line(what, shown, note=f"p99 {_percentile(takes, 99) * 1000:.1f} ms; all in {wall:.1f} s")


async def _put_all(settings: Settings) -> list[str]:
    store = open_store(settings)
    queue = open_queue(settings, store)
    runs = [make_run(f"{number:08x}") for number in range(WAITING)]
    for number, run in enumerate(runs):
        await store.create_run(run.model_copy(update={"user": f"user-{number % USERS}"}))
        await queue.put(run.id, f"user-{number % USERS}")
    await queue.close()
    await store.close()
    return [run.id for run in runs]


def _take_and_claim(settings: Settings) -> list[tuple[str, float]]:
    """Take and claim runs until none is left; return each with the time it took."""
    return asyncio.run(_take_until_none(settings))


async def _take_until_none(settings: Settings) -> list[tuple[str, float]]:
    store = open_store(settings)
    queue = open_queue(settings, store)
    mine: list[tuple[str, float]] = []
    while True:
        began = time.perf_counter()
        run = await queue.take(Counter(), {run for run, _ in mine})
        if run is None:
            break
        seen = await store.get_run(run)
        if seen.status != "created":  # Somebody was quicker.
            continue
        with suppress(RunHeld):
            lease = await store.lease(run, current_owner(), lease_s=LEASE_S, seen_epoch=seen.epoch)
            mine.append((run, time.perf_counter() - began))
            await store.finish(lease, "done", event=make_status("done"))
    await queue.close()
    await store.close()
    return mine


def _print_shared(world: WorldProcess, folder: Path, server: PostgresServer) -> None:
    idle = {count: _share(world, folder / f"idle-{count}", server, processes=count, runs=0) for count in (1, 2)}
    one = _share(world, folder / "one", server, processes=1, runs=1)
    ten = _share(world, folder / "ten", server, processes=2, runs=10)
    one_cpu_s, ten_cpu_s = one.cpu_s - idle[1].cpu_s, (ten.cpu_s - idle[2].cpu_s) / 10
    line("one run", f"{one.wall_s:.1f} s", note=f"CPU {one_cpu_s:.2f} s")
    line("ten runs, two processes", f"{ten.wall_s:.1f} s", note=f"CPU of each {ten_cpu_s:.2f} s")
    ratio = ten_cpu_s / one_cpu_s
    line("  CPU of each ÷ one run's", f"{ratio:.2f}", f"≤ {MAX_CPU_RATIO}", ratio <= MAX_CPU_RATIO)
    ratio = ten.wall_s / one.wall_s
    line("  wall ÷ one run's", f"{ratio:.2f}", f"≤ {MAX_WALL_RATIO}", ratio <= MAX_WALL_RATIO)
    for count in PROCESSES:
        shared = _share(world, folder / f"shared-{count}", server, processes=count, runs=SHARED, depth="quick")
        line(f"{SHARED} quick runs, {count} processes", f"{SHARED / shared.wall_s * 60:.1f} a minute")


def _share(
    world: WorldProcess, folder: Path, server: PostgresServer, *, processes: int, runs: int, **changes: object
) -> Shared:
    """Let worker processes that are ready share runs; their CPU is that of their whole lives."""
    settings = world.settings(folder, database_url=server.new_database(), **changes)
    world.plan()
    with Host(settings, folder) as host:
        worker = host.add_worker(processes=processes)
        time.sleep(LOADING_S)
        began = time.monotonic()
        asked = [host.ask(question(number), clarify="off") for number in range(runs)]
        for run in asked:
            host.wait_until(run, "done")
        wall = time.monotonic() - began
        worker.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(worker.pid, 0)
        worker.returncode = os.waitstatus_to_exitcode(status)
    return Shared(wall, used.ru_utime + used.ru_stime)


def _print_takeovers(world: WorldProcess, folder: Path, server: PostgresServer) -> None:
    for what, hostname in (("on the same host", ""), ("on another host", "another")):
        if hostname and not can_name_hosts():
            line(what, "", note="hosts with names of their own take root and unshare")
            continue
        delays = [
            _takeover_s(world, folder / f"takeover-{hostname}{number}", server, hostname) for number in range(KILLS)
        ]
        line(what, f"p50 {statistics.median(delays):.1f} s", note=f"longest {max(delays):.1f} s")


def _takeover_s(world: WorldProcess, folder: Path, server: PostgresServer, hostname: str) -> float:
    """Kill the worker of a run, and return the seconds until another has claimed it."""
    settings = world.settings(folder, database_url=server.new_database(), lease_s=LEASE_S)
    world.plan()
    with Host(settings, folder) as host:
        first = host.add_worker(hostname=hostname)
        run = host.ask(question(0), clarify="off")
        host.wait_for(lambda: len(world.calls()) > 2)
        host.add_worker()
        time.sleep(LOADING_S)
        return asyncio.run(_kill_and_watch(Settings.model_validate(settings), run, first))


async def _kill_and_watch(settings: Settings, run: str, worker: Process) -> float:
    store = open_store(settings)
    epoch = (await store.get_run(run)).epoch
    worker.kill()
    worker.wait()
    killed = time.monotonic()
    while (await store.get_run(run)).epoch == epoch:
        assert time.monotonic() - killed < _PATIENCE_S, "nobody has taken the run over"
        await asyncio.sleep(0.05)
    await store.close()
    return time.monotonic() - killed


def can_name_hosts() -> bool:
    """Return whether a process can be given a host name of its own here."""
    return shutil.which("unshare") is not None and os.geteuid() == 0


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


if __name__ == "__main__":
    report()
