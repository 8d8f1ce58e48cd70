"""What one run costs the database and the processor, measured on a PostgreSQL of its own in the bench world.

`python -m benchmarks.run_cost` prints the table; `benchmarks.scale` reckons with it.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.child import measure
from benchmarks.world_calls import KINDS
from benchmarks.world_process import world_in_a_process
from tests.support.postgres import PostgresServer, postgres_server

RUNS = 6
# As many connections as a few worker processes have.
COMMITTERS, COMMIT_S = 16, 5
_POLL_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


class RunCost(NamedTuple):
    """What one run takes; bytes and rows are those that stay, `connections` the most that were open at once."""

    cpu_s: float
    database_cpu_s: float
    commits: float
    log_bytes: float
    rows: dict[str, float]
    bytes: dict[str, float]
    connections: int
    model_calls: float
    tokens: float
    searches: float
    pages: float
    commits_a_second: float

    @property
    def kept_bytes(self) -> float:
        """Return the bytes of all tables and indexes."""
        return sum(self.bytes.values())


class _Counters(NamedTuple):
    database_cpu_s: float
    commits: int
    log_bytes: int
    rows: dict[str, int]
    bytes: dict[str, int]


def run_cost() -> RunCost:
    """Research a few questions in one process on a new database, and return what each cost."""
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres_server(is_durable=True) as server,
        world_in_a_process() as world,
    ):
        url = server.new_database()
        settings = world.settings(Path(folder), database_url=url)
        # Loads what a run needs and makes the tables, neither of which a worker does for each run.
        measure(["-m", "benchmarks.many_runs", "1"], settings, Path(folder))
        loading = measure(["-m", "benchmarks.many_runs", "0"], settings, Path(folder))
        before = _counters(server, url)
        world.plan()
        with _connections(server, url) as seen:
            ended = measure(["-m", "benchmarks.many_runs", str(RUNS)], settings, Path(folder))
        after = _counters(server, url)
        calls = world.calls()
        tokens = _query(server, url, _TOKENS)
        counts = {kind: sum(call.kind == kind for call in calls) / RUNS for kind in KINDS}
        return RunCost(
            cpu_s=(ended.cpu_s - loading.cpu_s) / RUNS,
            database_cpu_s=(after.database_cpu_s - before.database_cpu_s) / RUNS,
            commits=(after.commits - before.commits) / RUNS,
            log_bytes=(after.log_bytes - before.log_bytes) / RUNS,
            rows={table: (count - before.rows.get(table, 0)) / RUNS for table, count in after.rows.items()},
            bytes={table: (size - before.bytes.get(table, 0)) / RUNS for table, size in after.bytes.items()},
            connections=max(seen),
            model_calls=counts["short"] + counts["long"],
            tokens=float(tokens[0][0]),
            searches=counts["search"],
            pages=counts["page"],
            commits_a_second=_commits_a_second(server, url),
        )


_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'deep_research'"
_TOKENS = """
    SELECT avg(tokens) FROM (
        SELECT run, sum((spend::json ->> 'tokens')::int) AS tokens FROM deep_research.journal GROUP BY run
    ) AS of_runs"""


def _counters(server: PostgresServer, url: str) -> _Counters:
    tables = [row[0] for row in _query(server, url, _TABLES)]
    rows, sizes = {}, {}
    for table in tables:
        name = f'deep_research."{table}"'
        ((count, size),) = _query(
            server, url, f"SELECT (SELECT count(*) FROM {name}), pg_total_relation_size('{name}')"
        )
        rows[table], sizes[table] = int(count), int(size)
    told = "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint FROM pg_stat_database"
    ((commits, log_bytes),) = _query(server, url, f"{told} WHERE datname = current_database()")
    return _Counters(_cpu_s(server), int(commits), int(log_bytes), rows, sizes)


def _query(server: PostgresServer, url: str, query: str) -> list[list[str]]:
    """Ask with PostgreSQL's own program: a library for it would count as memory of what is measured."""
    told = subprocess.run(
        [server.programs / "psql", "-At", "-F", "\t", "-c", query, url], check=True, capture_output=True, text=True
    )
    return [line.split("\t") for line in told.stdout.splitlines()]


def _cpu_s(server: PostgresServer) -> float:
    """Return the CPU of the server's processes, ended ones included."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid = int(stat.parent.name)
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid == server.pid:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == server.pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / _TICKS


@contextmanager
def _connections(server: PostgresServer, url: str) -> Iterator[list[int]]:
    """Count connections now and then, without the one that counts."""
    seen, is_over = [0], threading.Event()
    query = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"

    def look() -> None:
        while not is_over.wait(_POLL_S):
            seen.append(int(_query(server, url, query)[0][0]))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def _commits_a_second(server: PostgresServer, url: str) -> float:
    """Return how many small transactions the database keeps on its disk in a second."""
    _query(server, url, "CREATE TABLE public.small (number int)")
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("INSERT INTO public.small VALUES (1);\n")
        script.flush()
        options = ["-n", "-c", str(COMMITTERS), "-j", "2", "-T", str(COMMIT_S), "-f", script.name]
        told = subprocess.run(
            [server.programs / "pgbench", *options, url], check=True, capture_output=True, text=True
        ).stdout
    found = re.search(r"tps = ([\d.]+)", told)
    assert found, told
    return float(found[1])


def report(cost: RunCost | None = None) -> None:
    """Print the table."""
    cost = cost or run_cost()
    print(f"\none run on PostgreSQL, the mean of {RUNS} at once in one process")
    print(f"  CPU of our process              {cost.cpu_s:8.2f} s")
    print(f"  CPU of PostgreSQL               {cost.database_cpu_s:8.2f} s")
    print(f"  commits                         {cost.commits:8.0f}")
    print(f"  write-ahead log                 {cost.log_bytes / 1e3:8.0f} kB")
    print(f"  kept in tables and indexes      {cost.kept_bytes / 1e3:8.0f} kB")
    for table in sorted(cost.bytes, key=lambda table: -cost.bytes[table]):
        if cost.rows[table] or cost.bytes[table]:
            print(f"    {table:<27} {cost.bytes[table] / 1e3:10.0f} kB {cost.rows[table]:8.0f} rows")
    print(f"  connections of the process      {cost.connections:8d}")
    calls = f"{cost.model_calls:.0f} of a model ({cost.tokens:.0f} tokens), {cost.searches:.0f} searches"
    print(f"  calls                           {calls}, {cost.pages:.0f} pages")
    print(f"  small commits of {COMMITTERS} connections   {cost.commits_a_second:8.0f} a second")


if __name__ == "__main__":
    report()
