"""What the bench world is told and what it tells: latencies, faults, and the log of calls.

Imports nothing of the project, so that a process that only measures stays small.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

CallKind = Literal["short", "long", "search", "page", "robots"]
Fault = Literal["500", "429", "malformed", "hang", "cut"]
# The kinds that a report needs; a robots.txt is read by the way.
KINDS: tuple[CallKind, ...] = ("short", "long", "search", "page")
# How the journal of a run names them.
JOURNAL_KINDS: dict[CallKind, str] = {"short": "llm", "long": "llm", "search": "search", "page": "fetch"}
FAULTS: tuple[Fault, ...] = get_args(Fault)
# No page of the world holds this figure or this name: they stand in lies that its model tells.
PLANTED_FIGURE, PLANTED_NAME = "48613", "Zembla"
PLANTED = (PLANTED_FIGURE, PLANTED_NAME)
# Two models of one server: who asks the second waits for a long answer.
SHORT_MODEL, LONG_MODEL = "bench-short", "bench-long"


@dataclass(frozen=True)
class Latencies:
    """Seconds from a request to the last byte of its answer."""

    short: float = 0.8
    long: float = 3.0
    search: float = 0.4
    page: float = 0.2
    robots: float = 0.2

    def of(self, kind: CallKind) -> float:
        seconds: float = getattr(self, kind)
        return seconds


NO_WAIT = Latencies(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass
class Call:
    """One request as the world saw it, by the clock of `time.monotonic`, which all processes here share.

    `name` is an act, an engine or an address; `in_flight` counts this call and those under way as it came.
    """

    kind: CallKind
    name: str
    digest: str
    began_s: float
    in_flight: int
    ended_s: float = 0.0
    fault: Fault | None = None
    is_answered: bool = False


@dataclass(frozen=True)
class FaultRule:
    """A fault for calls of one kind: every nth, the first so many, or a share by lot; `name` picks an act or an engine.

    The lot of a call depends on the seed, what is asked and how often it was asked before, and on nothing else.
    """

    fault: Fault
    kind: CallKind
    name: str = ""
    every: int = 0
    first: int = 0
    share: float = 0.0
    seed: int = 0

    def hits(self, call: Call, number: int, times_asked: int) -> bool:
        """Say whether it hits the call that is the `number`th of those it is for."""
        lot = zlib.crc32(f"{self.seed} {self.fault} {call.digest} {times_asked}".encode()) / 2**32
        return number <= self.first or (self.every > 0 and number % self.every == 0) or lot < self.share


@dataclass
class Faults:
    """The faults that are planned, and how far they have come."""

    rules: Sequence[FaultRule] = ()
    _seen: Counter[int] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)

    def of(self, call: Call) -> Fault | None:
        """Return what goes wrong with a call, if anything."""
        self._asked[call.digest] += 1
        for place, rule in enumerate(self.rules):
            if rule.kind != call.kind or rule.name not in ("", call.name):
                continue
            self._seen[place] += 1
            if rule.hits(call, self._seen[place], self._asked[call.digest]):
                return rule.fault
        return None


def once_each(fault: Fault) -> list[FaultRule]:
    """Return rules by which the first call of each kind fails so."""
    return [FaultRule(fault, kind, first=1) for kind in KINDS]


def some_of_all(share: float, seed: int = 7) -> list[FaultRule]:
    """Return rules by which a share of all calls fails, by each of the faults alike."""
    return [FaultRule(fault, kind, share=share / len(FAULTS), seed=seed) for fault in FAULTS for kind in KINDS]
