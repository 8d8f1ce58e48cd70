"""Whole runs in the bench world, each in a process of its own: one table, with the aims beside the figures.

`python -m benchmarks.whole_run` prints it alone; `--quick` leaves out what takes minutes (100 runs, faults, the kill).
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.child import Ended, measure
from benchmarks.installed_size import weigh
from benchmarks.paid_again import kill_and_resume
from benchmarks.recorded import bare_chain_s, waits
from benchmarks.world_calls import KINDS, PLANTED, Call, FaultRule, Latencies, once_each, some_of_all
from benchmarks.world_process import HANG_TIMEOUT_S, WorldProcess, world_in_a_process

QUESTION = "What did tram lines and river ferries cost, and what did they achieve?"
ROUNDS = 3
MANY = 100
WAITS_SHOWN = 6
# The same run at commit b71be02, before one call wrote the whole report.
CALLS_BEFORE, TOKENS_BEFORE = 69, 214_543
FAULTY_SHARE = 0.05
# Where a hundred runs share two cores an answer may wait for its reader; only what hangs may be given up.
PATIENCE_S = 30.0
TIMEOUTS = ("model_timeout_s", "model_idle_timeout_s", "search_timeout_s", "fetch_timeout_s")
KILL_AT = 0.4


class Runs(NamedTuple):
    """What a process with one or more runs came to, by itself, by the world's log and by the runs' own statistics."""

    process: Ended
    calls: list[Call]
    stats: list[dict[str, Any]]
    reports: list[str]
    home: Path

    @property
    def first_call_s(self) -> float:
        """Return the seconds from the start of the process to its first call."""
        return self.calls[0].began_s - self.process.began_s

    @property
    def chain_s(self) -> float:
        """Return the seconds of the longest chain that a run needed."""
        return max(float(stat["longest_chain_s"]) for stat in self.stats)

    @property
    def within_s(self) -> float:
        """Return the seconds from the first call to the last answer."""
        return max(float(stat["first_call_to_last_answer_s"]) for stat in self.stats)

    @property
    def wall_over_chain(self) -> float:
        """Return how much longer the process lived than the chain needed."""
        return self.process.wall_s / self.chain_s

    def again(self, *kinds: str) -> int:
        """Return how many calls of these kinds asked for what an earlier one had asked for."""
        asked = [call.digest for call in self.calls if call.kind in kinds]
        return len(asked) - len(set(asked))

    @property
    def planted(self) -> int:
        """Return how many reports hold something that was planted."""
        return sum(any(lie in report for lie in PLANTED) for report in self.reports)


def one_run(world: WorldProcess, folder: Path, faults: Sequence[FaultRule] = (), **changes: object) -> Runs:
    """Ask one question at the command line."""
    world.plan(faults)
    ended = measure(["-m", "deep_research", "ask", QUESTION], world.settings(folder, **changes), folder)
    return _runs(ended, world, sorted((folder / "logs").glob("research_data/*")))


def many_runs(
    count: int, world: WorldProcess, folder: Path, faults: Sequence[FaultRule] = (), **changes: object
) -> Runs:
    """Research so many questions at once in one process; each must come to a verified report."""
    world.plan(faults)
    ended = measure(["-m", "benchmarks.many_runs", str(count)], world.settings(folder, **changes), folder)
    rows = json.loads(ended.output.splitlines()[-1])
    unfinished = [row for row in rows if row["status"] != "done" or not row["is_verified"]]
    assert not unfinished, unfinished[:3]
    return _runs(ended, world, [Path(row["folder"]) for row in rows])


def _runs(ended: Ended, world: WorldProcess, folders: Sequence[Path]) -> Runs:
    stats = [json.loads((folder / "stats.json").read_text()) for folder in folders]
    reports = [(folder / "report.md").read_text() for folder in folders]
    return Runs(ended, world.calls(), stats, reports, folders[0].parents[2] / "home")


def line(what: str, figure: str, aim: str = "", is_met: bool = True, note: str = "") -> None:
    """Print one line of the table."""
    mark = "" if not aim else "" if is_met else "MISSED"
    print(f"  {what:<47} {figure:>12}  {f'aim {aim}' if aim else '':<12} {mark:<6} {note}".rstrip())


def print_one(runs: Runs) -> None:
    """Print what one run took."""
    process, calls, use = runs.process, runs.calls, runs.stats[0]["model"]
    pages = {call.name for call in calls if call.kind == "page" and call.is_answered}
    line("wall, process start to exit", f"{process.wall_s:.2f} s")
    bare = bare_chain_s(runs.home, Latencies())
    line("longest needed chain", f"{runs.chain_s:.2f} s", note=f"{bare:.2f} s by the world's latencies alone")
    ratio, inner = runs.wall_over_chain, runs.within_s / runs.chain_s
    line("wall ÷ needed chain", f"{ratio:.3f}", "≤ 1.15", ratio <= 1.15)
    line("first call to last answer ÷ chain", f"{inner:.3f}", "≤ 1.05", inner <= 1.05, f"{runs.within_s:.2f} s")
    first = runs.first_call_s
    line("process start to first call", f"{first:.2f} s", "≤ 2.5 s", first <= 2.5)
    counts = ", ".join(f"{sum(call.kind == kind for call in calls)} {kind}" for kind in KINDS)
    line("calls", str(sum(call.kind in KINDS for call in calls)), note=counts)
    asked, tokens = use["calls"], use["prompt_tokens"] + use["completion_tokens"]
    line("calls of a model", str(asked), f"< {CALLS_BEFORE}", asked < CALLS_BEFORE, "the aim is what it was before")
    note = f"{use['prompt_tokens']:,} of prompts; the aim is what it was before"
    line("tokens, upper estimate", f"{tokens:,}", f"< {TOKENS_BEFORE:,}", tokens < TOKENS_BEFORE, note)
    note = f"at most; {use['prefix_share']:.1%} repeat the prompt before"
    line("prompt tokens a provider's cache can serve", f"{use['cacheable_share']:.1%}", note=note)
    line("pages read", str(len(pages)), "≥ 20", len(pages) >= 20)
    line("identical prompts", str(runs.again("short", "long")), "0", runs.again("short", "long") == 0)
    line("pages fetched twice", str(runs.again("page")), "0", runs.again("page") == 0)
    line("planted false citations in the report", str(runs.planted), "0", runs.planted == 0)
    line("calls in flight, most", str(max(call.in_flight for call in calls)))
    line("CPU", f"{process.cpu_s:.2f} s")
    line("peak memory", f"{process.memory_mb:.0f} MB", "≤ 140 MB", process.memory_mb <= 140)


def print_waits(runs: Runs) -> None:
    """Print where a run stood still although nothing was missing."""
    found = waits(runs.home)
    print(
        f"\n  on the way to the last answer it stood still for {sum(wait.seconds for wait in found):.2f} s, most of it"
    )
    for wait in found[:WAITS_SHOWN]:
        print(f"  {wait.seconds:6.2f} s  before {wait.scope}, which needed {wait.needed}")


def print_ten(ten: Runs, one: Runs) -> None:
    """Print what ten runs took, beside one."""
    print("\n  ten runs in one process")
    ratio = ten.process.wall_s / one.process.wall_s
    line("wall ÷ wall of one run", f"{ratio:.3f}", "≤ 1.15", ratio <= 1.15, f"{ten.process.wall_s:.2f} s")
    line("wall ÷ longest needed chain of them", f"{ten.wall_over_chain:.3f}")
    _print_many(ten)
    line("peak memory", f"{ten.process.memory_mb:.0f} MB", "≤ 220 MB", ten.process.memory_mb <= 220)


def _print_many(runs: Runs) -> None:
    line("calls", str(sum(call.kind in KINDS for call in runs.calls)))
    line("calls in flight, most", str(max(call.in_flight for call in runs.calls)))
    line("planted false citations in reports", str(runs.planted), "0", runs.planted == 0)
    line("CPU, and a run", f"{runs.process.cpu_s:.1f} s", note=f"{runs.process.cpu_s / len(runs.stats):.2f} s a run")


def print_hundred(title: str, runs: Runs) -> None:
    """Print what a hundred runs took."""
    print(f"\n  {title}")
    line("runs that ended in a verified report", str(len(runs.reports)), str(MANY), len(runs.reports) == MANY)
    line("wall", f"{runs.process.wall_s:.1f} s", note=f"× {runs.wall_over_chain:.2f} of the longest chain")
    faulty = sum(call.fault is not None for call in runs.calls)
    if faulty:
        line("faulty answers", str(faulty), note=f"{faulty / len(runs.calls):.1%} of calls")
    _print_many(runs)
    line("peak memory", f"{runs.process.memory_mb:.0f} MB")


def print_hangs(hung: Runs, usual: Runs) -> None:
    """Print what one hang at each kind of call costs, beside its timeouts and one retry each."""
    print(f"\n  one hang at each kind of call, timeout {HANG_TIMEOUT_S:g} s")
    latencies = Latencies()
    # The wait before a retry is a second at most.
    most = sum(HANG_TIMEOUT_S + 1.0 + latencies.of(kind) for kind in KINDS)
    extra = hung.process.wall_s - usual.process.wall_s
    line("wall more than usual", f"{extra:.2f} s", f"≤ {most:.1f} s", extra <= most, "timeouts, one retry each")
    line("planted false citations in the report", str(hung.planted), "0", hung.planted == 0)


def print_size() -> None:
    """Print what the base weighs."""
    weight = weigh()
    total = weight.files_mb + weight.compiled_mb
    print(f"\n  installed base, without pip: {weight.packages} packages, no extras, as installed here")
    note = f"{weight.files_mb:.0f} MB of files, {weight.compiled_mb:.0f} MB compiled"
    line("files and what Python compiles of them", f"{total:.0f} MB", "≤ 250 MB", total <= 250, note)
    line("heaviest", "", note=", ".join(f"{name} {size:.0f}" for name, size in weight.heaviest))


def report(*, is_quick: bool = False) -> None:
    """Print the table."""
    latencies = Latencies()
    times = "/".join(f"{latencies.of(kind):g}" for kind in KINDS)
    rounds = 1 if is_quick else ROUNDS
    print(f"whole runs in the bench world (answers {times} s: short, long, search, page), default depth")
    print(f"\n  one run, median of {rounds}")
    with world_in_a_process() as world, tempfile.TemporaryDirectory() as name:
        places = _places(Path(name))
        # Compiles the modules, as an installation has done already.
        measure(["-m", "benchmarks.many_runs", "0"], world.settings(next(places)), Path(name))
        loaded = measure(["-m", "benchmarks.many_runs", "0"], world.settings(next(places)), Path(name))
        tries = [one_run(world, next(places)) for _ in range(rounds)]
        median = statistics.median_low(run.process.wall_s for run in tries)
        one = next(run for run in tries if run.process.wall_s == median)
        print_one(one)
        note = f"{loaded.wall_s:.2f} s"
        line("imports alone", f"{loaded.memory_mb:.0f} MB", "≤ 110 MB", loaded.memory_mb <= 110, note)
        print_waits(one)
        print_ten(many_runs(10, world, next(places)), one)
        if not is_quick:
            _print_slow(world, places, one)
    print_size()


def _print_slow(world: WorldProcess, places: Iterator[Path], one: Runs) -> None:
    print_hundred(f"{MANY} runs in one process", many_runs(MANY, world, next(places)))
    faulty = many_runs(MANY, world, next(places), some_of_all(FAULTY_SHARE), **dict.fromkeys(TIMEOUTS, PATIENCE_S))
    print_hundred(f"{MANY} runs in one process, {FAULTY_SHARE:.0%} faults of all kinds", faulty)
    hung = one_run(world, next(places), once_each("hang"), **dict.fromkeys(TIMEOUTS, HANG_TIMEOUT_S))
    print_hangs(hung, one)
    killed = kill_and_resume(world, next(places), QUESTION, after_s=KILL_AT * one.process.wall_s)
    print(f"\n  killed with kill -9 at {KILL_AT:.0%} of its usual time, and resumed")
    note = f"{killed.finished} were finished; {killed.asked_again} of them not on record were asked again"
    line("finished calls paid again", str(killed.paid_again), "0", killed.paid_again == 0, note)


def _places(folder: Path) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        yield folder / str(number)


if __name__ == "__main__":
    report(is_quick="--quick" in sys.argv)
