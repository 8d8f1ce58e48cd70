"""Many runs a day, reckoned from what one run was measured to cost: what the busiest hour needs, what gives way first.

`python -m benchmarks.scale` measures (`benchmarks.run_cost`), lets a day pass for each number of runs, and prints both.
What is assumed and not measured stands in `Assumed`.
"""

import heapq
import math
import random
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks import run_cost
from benchmarks.run_cost import RunCost
from deep_research.settings.models import ModelSettings

DAY_S = 86_400.0
RUNS_A_DAY = (10_000, 100_000, 1_000_000)


class Assumed(NamedTuple):
    """What a machine of the makers cannot measure: habits of people, speed of models, sizes of servers."""

    # A run with a hosted model takes minutes; some take far longer than most.
    median_run_s: float = 240.0
    spread: float = 0.6
    # The busiest hour has so many times the runs of a mean one.
    peak: float = 2.5
    # Runs at once in a worker process, and processor time it may use.
    runs_at_once: int = 16
    busy_share: float = 0.7
    # Connections beside those of the store: two of the queue, and one that listens.
    queue_connections: int = 3
    heartbeat_s: float = 1.0
    # How long one call to a hosted model takes.
    model_call_s: float = 10.0
    database_cores: int = 32
    database_connections: int = 500
    database_commits_a_second: float = 20_000.0
    log_bytes_a_second: float = 200e6
    disk_bytes: float = 4e12
    kept_days: int = 30
    model_tokens_a_minute: float = 10e6
    searches_a_second: float = 50.0


class Day(NamedTuple):
    """What a day came to."""

    runs: int
    workers: int
    most_under_way: int
    most_waiting: int
    wait_p50_s: float
    wait_p99_s: float
    peak_starts_a_second: float


class Need(NamedTuple):
    """How much of something the busiest hour takes, and how much there is."""

    what: str
    needed: float
    there_is: float
    unit: str
    advice: str

    @property
    def share(self) -> float:
        """Return the part of it that is used."""
        return self.needed / self.there_is


def arrivals(runs: int, assumed: Assumed, chance: random.Random) -> Iterator[float]:
    """Yield when the questions of a day come: by chance, few at night, `peak` times the mean at the busiest hour."""
    mean, sharpness = runs / DAY_S, _sharpness(assumed.peak)
    at = 0.0
    while True:
        at += chance.expovariate(mean * assumed.peak)
        if at >= DAY_S:
            return
        # A curve over the day whose mean is 1 and whose top is `peak`.
        height = ((1 - math.cos(2 * math.pi * at / DAY_S)) / 2) ** sharpness
        if chance.random() < height:
            yield at


def _sharpness(peak: float) -> float:
    """Return the power to which (1 - cos) / 2 has a mean of 1 / peak over the day."""
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        # The mean of sin² to a power, by the gamma function.
        mean = math.exp(math.lgamma(middle + 0.5) - math.lgamma(middle + 1.0)) / math.sqrt(math.pi)
        low, high = (middle, high) if mean > 1 / peak else (low, middle)
    return (low + high) / 2


def workers_for(runs: int, cost: RunCost, assumed: Assumed) -> int:
    """Return how many worker processes the busiest hour needs, by their processors and by their places for runs."""
    rate = runs / DAY_S * assumed.peak
    by_processor = rate * cost.cpu_s / assumed.busy_share
    by_places = rate * assumed.median_run_s * math.exp(assumed.spread**2 / 2) / assumed.runs_at_once
    return max(1, math.ceil(1.1 * max(by_processor, by_places)))


def day(runs: int, cost: RunCost, assumed: Assumed, *, workers: int = 0, seed: int = 1) -> Day:
    """Let a day pass: runs come, wait for a place, and go on; the longest waiting begins first."""
    chance = random.Random(seed)
    workers = workers or workers_for(runs, cost, assumed)
    places = workers * assumed.runs_at_once
    ends: list[float] = []
    waiting_until: list[float] = []
    waits: list[float] = []
    most_under_way = most_waiting = 0
    for at in arrivals(runs, assumed, chance):
        while ends and ends[0] <= at:
            heapq.heappop(ends)
        while waiting_until and waiting_until[0] <= at:
            heapq.heappop(waiting_until)
        # With all places taken, the run begins when the place before it in line comes free.
        begin = at if len(ends) < places else heapq.heappop(ends)
        length = assumed.median_run_s * math.exp(chance.gauss(0, assumed.spread))
        heapq.heappush(ends, begin + length)
        waits.append(begin - at)
        if begin > at:
            heapq.heappush(waiting_until, begin)
        most_under_way = max(most_under_way, len(ends) - len(waiting_until))
        most_waiting = max(most_waiting, len(waiting_until))
    waits.sort()
    return Day(
        runs=len(waits),
        workers=workers,
        most_under_way=min(most_under_way, places),
        most_waiting=most_waiting,
        wait_p50_s=waits[len(waits) // 2],
        wait_p99_s=waits[len(waits) * 99 // 100],
        peak_starts_a_second=runs / DAY_S * assumed.peak,
    )


def needs(passed: Day, cost: RunCost, assumed: Assumed) -> list[Need]:
    """Return what the busiest hour takes of each thing, the scarcest first."""
    rate = passed.peak_starts_a_second
    beats = passed.most_under_way / assumed.heartbeat_s
    found = [
        Need(
            "calls to the model at once",
            rate * cost.model_calls * assumed.model_call_s,
            ModelSettings.model_fields["model_calls_in_flight"].default,
            "",
            "DEEP_RESEARCH_MODEL_CALLS_IN_FLIGHT, as many as the provider grants",
        ),
        Need(
            "tokens of the model",
            rate * cost.tokens * 60,
            assumed.model_tokens_a_minute,
            "a minute",
            "more keys or providers, a smaller depth, models of one's own",
        ),
        Need(
            "searches",
            rate * cost.searches,
            assumed.searches_a_second,
            "a second",
            "SearXNG of one's own, a higher plan",
        ),
        Need(
            "connections to the database",
            passed.workers * (cost.connections + assumed.queue_connections),
            assumed.database_connections,
            "",
            "fewer connections a process (DEEP_RESEARCH_DATABASE_CONNECTIONS), or more databases",
        ),
        Need(
            "processors of the database",
            rate * cost.database_cpu_s,
            assumed.database_cores,
            "",
            "a larger server, then one database for each group of accounts",
        ),
        Need(
            "transactions of the database",
            rate * cost.commits + beats,
            assumed.database_commits_a_second,
            "a second",
            "a larger server, then one database for each group of accounts",
        ),
        Need("write-ahead log", rate * cost.log_bytes, assumed.log_bytes_a_second, "bytes a second", "a faster disk"),
        Need(
            f"disk for {assumed.kept_days} days",
            passed.runs * cost.kept_bytes * assumed.kept_days,
            assumed.disk_bytes,
            "bytes",
            "keep large content in an object store, delete old runs",
        ),
    ]
    return sorted(found, key=lambda need: -need.share)


def report() -> None:
    """Measure, and print what many runs need."""
    cost = run_cost.run_cost()
    run_cost.report(cost)
    print_days(cost, Assumed())


def print_days(cost: RunCost, assumed: Assumed) -> None:
    """Let the days pass, and print what each needs."""
    for runs in RUNS_A_DAY:
        passed = day(runs, cost, assumed)
        print(f"\n{runs:,} runs a day: {passed.peak_starts_a_second:.2f} a second at the busiest hour")
        print(f"  worker processes {passed.workers:,}; most runs under way {passed.most_under_way:,}")
        waits = f"p50 {passed.wait_p50_s:.1f} s, p99 {passed.wait_p99_s:.1f} s"
        print(f"  wait for a place {waits}; most waiting at once {passed.most_waiting:,}")
        half = day(runs, cost, assumed, workers=max(1, passed.workers * 2 // 3))
        print(f"  with a third fewer workers: p99 {half.wait_p99_s:.0f} s, most waiting {half.most_waiting:,}")
        for need in needs(passed, cost, assumed):
            mark = "  <- gives way" if need.share > 1 else ""
            print(
                f"    {need.what:<30} {need.needed:>16,.0f} {need.unit:<14} {need.share:>8.1%} of what there is{mark}"
            )


if __name__ == "__main__":
    report()
