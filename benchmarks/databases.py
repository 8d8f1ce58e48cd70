"""What one run costs our process with PostgreSQL, beside SQLite: `python -m benchmarks.databases [ROUNDS]`.

Prints CPU seconds and wall time of whole processes. What the PostgreSQL server itself takes is not counted.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.whole_run import Runs, line, many_runs
from benchmarks.world_process import world_in_a_process
from tests.support.postgres import postgres_server, programs

ROUNDS = 5
MAX_RATIO = 1.15


def report(rounds: int = ROUNDS) -> None:
    """Print the table; the databases take turns, so that a busy machine is busy for both."""
    print(f"one run with each database, median of {rounds}")
    if programs() is None:
        print("  no PostgreSQL is installed")
        return
    in_files: list[Runs] = []
    in_postgres: list[Runs] = []
    with (
        world_in_a_process() as world,
        postgres_server(is_durable=True) as server,
        tempfile.TemporaryDirectory() as name,
    ):
        for number in range(rounds):
            folder = Path(name) / str(number)
            in_files.append(many_runs(1, world, folder / "sqlite"))
            in_postgres.append(many_runs(1, world, folder / "postgres", database_url=server.new_database()))
    one, other = _median_cpu_s(in_files), _median_cpu_s(in_postgres)
    line("CPU with SQLite", f"{one:.2f} s", note=f"wall {_median_wall_s(in_files):.2f} s")
    line("CPU with PostgreSQL", f"{other:.2f} s", note=f"wall {_median_wall_s(in_postgres):.2f} s")
    line("PostgreSQL ÷ SQLite, CPU", f"{other / one:.3f}", f"≤ {MAX_RATIO}", other / one <= MAX_RATIO)


def _median_cpu_s(runs: list[Runs]) -> float:
    return statistics.median(run.process.cpu_s for run in runs)


def _median_wall_s(runs: list[Runs]) -> float:
    return statistics.median(run.process.wall_s for run in runs)


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
