"""Where a run's CPU goes: `python -m benchmarks.profile [RUNS] [--without-waits]`.

Prints the functions of the event loop's thread that are dearest by their own CPU time and, of ours, with all they call;
then what the other threads are at while they are not waiting, by looking at them a few hundred times a second.
"""

import asyncio
import cProfile
import linecache
import os
import pstats
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks.many_runs import research
from benchmarks.world_calls import NO_WAIT
from benchmarks.world_process import environment, world_in_a_process

TOP = 20
_LOOK_EVERY_S = 0.003
# Where a thread stands that waits for work.
_WAITING = re.compile(r"/(threading|queue|selectors|socket|concurrent/futures/thread)\.py$")
_ROOTS = re.compile(r"^.*?/(?:site-packages|src|lib/python[\d.]+)/")


class Lookout(threading.Thread):
    """Looks at the other threads, and counts where those stand that work."""

    def __init__(self) -> None:
        super().__init__(name="lookout", daemon=True)
        self.seen: Counter[str] = Counter()
        self.looks = 0
        self.ended = threading.Event()

    def run(self) -> None:
        in_thread = {threading.main_thread().ident, self.ident}
        while not self.ended.wait(_LOOK_EVERY_S):
            self.looks += 1
            for ident, frame in sys._current_frames().items():
                code = frame.f_code
                at_work = linecache.getline(code.co_filename, frame.f_lineno or 0)
                if ident not in in_thread and not _WAITING.search(code.co_filename) and ".get()" not in at_work:
                    self.seen[f"{_ROOTS.sub('', code.co_filename)}:{code.co_name}"] += 1


def main(count: int, *, has_waits: bool) -> None:
    """Profile so many runs in the bench world."""
    with world_in_a_process(None if has_waits else NO_WAIT) as world, tempfile.TemporaryDirectory() as folder:
        os.environ.update(environment(world.settings(Path(folder))))
        profile, lookout = cProfile.Profile(time.thread_time, builtins=False), Lookout()
        begin, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        lookout.start()
        profile.enable()
        asyncio.run(research(count))
        profile.disable()
        lookout.ended.set()
        wall, cpu, own = time.perf_counter() - begin, time.process_time() - cpu, time.thread_time() - own
    print(f"{count} runs: {wall:.1f} s, CPU {cpu:.1f} s, of these {own:.1f} s on the event loop's thread (profiled)")
    _print_functions(profile)
    print(f"\n  other threads, while they work: {lookout.seen.total() / lookout.looks:.2f} of them at a time")
    for place, times in lookout.seen.most_common(TOP):
        print(f"  {times / lookout.looks:8.1%}  {place}")


def _print_functions(profile: cProfile.Profile) -> None:
    found = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # the types leave it out
    rows = [(own, total, calls, place) for place, (_, calls, own, total, _) in found.items()]
    print("\n  own CPU s      calls  function")
    for own, _, calls, place in sorted(rows, reverse=True)[:TOP]:
        print(f"  {own:9.3f} {calls:10}  {_spelled(place)}")
    ours = [row for row in rows if "deep_research" in row[3][0]]
    print("\n  with all it calls, s      calls  function of ours")
    for _, total, calls, place in sorted(ours, key=lambda row: -row[1])[: 2 * TOP]:
        print(f"  {total:20.3f} {calls:10}  {_spelled(place)}")


def _spelled(place: tuple[str, int, str]) -> str:
    file, number, name = place
    return name if file == "~" else f"{_ROOTS.sub('', file)}:{number} {name}"


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 1, has_waits="--without-waits" not in sys.argv)
