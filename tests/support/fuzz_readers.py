"""Reads thousands of spoiled files in a process with limits, and says which of them crashed it or took too much.

`python -m tests.support.fuzz_readers --seed 1 --count 3600` prints a table; `--first 17 --count 1` tries one case
again, and `--write FOLDER` puts the files there instead of reading them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from deep_research.documents.readers.registry import FORMATS
from tests.support.hostile_files import KINDS, case, samples

MAX_CPU_S = 10.0
MAX_MB = 1_000
# What stops a file that would take the machine with it; what counts is measured.
_HARD_CPU_S, _HARD_BYTES = 12, 4_000_000_000
_ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """What became of one case: `fault` is empty where it was read or refused within the limits."""

    number: int
    format: str
    kind: str
    is_read: bool
    cpu_s: float
    peak_mb: float
    fault: str


def run(seed: int, first: int, count: int) -> list[Outcome]:
    """Return what became of each case; a process that dies costs the case it died of, and the next goes on."""
    outcomes: list[Outcome] = []
    at, until = first, first + count
    while at < until:
        command = [sys.executable, "-m", __spec__.name, *("--child", "--seed", str(seed))]
        child = subprocess.run(
            [*command, *("--first", str(at), "--count", str(until - at))],
            capture_output=True,
            text=True,
            cwd=_ROOT,
            check=False,
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        done = [Outcome(*line) for line in lines if len(line) > 1]
        outcomes += done
        at += len(done)
        if at < until:
            if not lines:
                raise RuntimeError(f"the child did not start: {child.stderr}")
            spoiled = case(seed, at)
            fault = f"the process died ({child.returncode}) {child.stderr[-200:]}"
            outcomes.append(Outcome(at, spoiled.format, spoiled.kind, False, _HARD_CPU_S, 0.0, fault))
            at += 1
    return outcomes


def faults(seed: int, outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for each case that failed, with what is needed to try it again."""
    return [
        f"--seed {seed} --first {one.number} --count 1 ({one.format}, {one.kind}): {one.fault}"
        for one in outcomes
        if one.fault
    ]


def table(outcomes: Iterable[Outcome]) -> str:
    """Return how many files of each format and kind were read and refused, and the most that one of them took."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        for kind in (one.kind, "all"):
            groups[one.format, kind].append(one)
    lines = [f"{'format':9} {'mutation':9} files  read refused faults  worst CPU s  worst MB"]
    for name in FORMATS:
        for kind in (*KINDS, "all"):
            some = groups.get((name, kind), [])
            read, wrong = sum(one.is_read for one in some), sum(bool(one.fault) for one in some)
            worst_cpu = max((one.cpu_s for one in some), default=0.0)
            worst_mb = max((one.peak_mb for one in some), default=0.0)
            lines.append(
                f"{name:9} {kind:9} {len(some):5} {read:5} {len(some) - read - wrong:7} {wrong:6}"
                f" {worst_cpu:12.2f} {worst_mb:9.0f}"
            )
    return "\n".join(lines)


def _read_all(seed: int, first: int, count: int) -> Iterator[Sequence[object]]:
    """Yield the number of each case before it is read, and what became of it."""
    from deep_research.documents.corpus.documents import prepare
    from deep_research.documents.readers import read
    from deep_research.errors import SourceError

    resource.setrlimit(resource.RLIMIT_AS, (_HARD_BYTES, _HARD_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What is loaded with the first file of a format is not that file's fault.
    for name, raw in samples().items():
        prepare(read(raw, name=f"sample.{name}"), name)
    for number in range(first, first + count):
        yield (number,)
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        spoiled = case(seed, number)
        spent, fault, is_read = _cpu_s(), "", False
        _limit_cpu(_HARD_CPU_S)
        _forget_peak()
        try:
            reading = read(spoiled.raw, name=spoiled.name)
            prepare(reading, spoiled.name)
            is_read = True
            if not reading.text.strip() or any(
                not 0 <= place.start <= place.end <= len(reading.text) for place in reading.places
            ):
                fault = "a place stands outside of the text"
        except SourceError:
            pass
        except BaseException as exc:  # whatever a reader raises is what is looked for
            fault = f"{type(exc).__name__}: {str(exc)[:150]}"
        cpu_s, peak_mb = _cpu_s() - spent, _peak_mb()
        if not fault and cpu_s > MAX_CPU_S:
            fault = f"took {cpu_s:.1f} CPU seconds"
        if not fault and peak_mb > MAX_MB:
            fault = f"took {peak_mb:.0f} MB"
        yield (number, spoiled.format, spoiled.kind, is_read, round(cpu_s, 3), round(peak_mb), fault)


def _limit_cpu(seconds: int) -> None:
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))


def _processes() -> list[Path]:
    """Return this process and those it has started, as far as the system tells."""
    found, waiting = [], [os.getpid()]
    while waiting:
        number = waiting.pop()
        found.append(Path(f"/proc/{number}"))
        for children in Path(f"/proc/{number}/task").glob("*/children"):
            try:
                waiting += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _cpu_s() -> float:
    """Return the CPU time of this process, of those it started and of those of them that have ended."""
    total = 0.0
    for process in _processes():
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total or time.process_time()


def _forget_peak() -> None:
    for process in _processes():
        try:
            (process / "clear_refs").write_text("5")
        except OSError:
            continue


def _peak_mb() -> float:
    """Return the most memory that one of the processes held since the peak was forgotten."""
    peak = 0.0
    for process in _processes():
        try:
            status = (process / "status").read_text()
        except OSError:
            continue
        peak = max([peak, *(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))])
    return peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run from the command line; the status is 1 where a case failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=84)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        for line in _read_all(asked.seed, asked.first, asked.count):
            print(json.dumps(line), flush=True)
        return 0
    if asked.write:
        asked.write.mkdir(parents=True, exist_ok=True)
        for number in range(asked.first, asked.first + asked.count):
            spoiled = case(asked.seed, number)
            (asked.write / f"{number}-{spoiled.kind}-{spoiled.name}").write_bytes(spoiled.raw)
        return 0
    outcomes = run(asked.seed, asked.first, asked.count)
    found = faults(asked.seed, outcomes)
    print(table(outcomes), *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
