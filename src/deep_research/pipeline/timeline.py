"""When a run was worked on, and which of its steps took which part of that time, told by its events."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from deep_research.events import RunEvent


class Span(NamedTuple):
    """A stretch of time."""

    begin: datetime
    end: datetime


class Step(NamedTuple):
    """A stage at one place of a run; its status is "" while it is under way, or where it was given up."""

    name: str
    span: Span
    status: str


def spans_of(events: Sequence[RunEvent]) -> list[Span]:
    """Return the stretches in which some process worked on the run: not while it waited, or lay killed."""
    spans: list[Span] = []
    is_over = True
    for event in events:
        status = event.data["status"] if event.kind == "run-status" else ""
        if is_over or status == "running":
            spans.append(Span(event.at, event.at))
        spans[-1] = spans[-1]._replace(end=event.at)
        is_over = status not in ("", "running")
    return spans


def steps_of(events: Sequence[RunEvent]) -> Iterator[Step]:
    """Yield every step in the order in which they began; one that has not ended lasts until now."""
    ended: dict[tuple[str, str], RunEvent] = {}
    for event in events:
        if event.kind == "progress" and event.data["status"] != "started":
            ended.setdefault(_place(event), event)
    for event in events:
        if event.kind == "progress" and event.data["status"] == "started":
            end = ended.get(_place(event))
            status = str(end.data["status"]) if end else ""
            yield Step(str(event.data["step"]), Span(event.at, end.at if end else events[-1].at), status)


def _place(event: RunEvent) -> tuple[str, str]:
    return str(event.data["step"]), event.key.split(":")[1]


def within(some: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the parts of some spans that lie in others."""
    parts = (Span(max(one.begin, other.begin), min(one.end, other.end)) for one in some for other in others)
    return [part for part in parts if part.begin < part.end]


def seconds_of(spans: Iterable[Span]) -> float:
    """Return the seconds that spans cover together: what overlaps counts once."""
    total, reached = 0.0, None
    for span in sorted(spans):
        begin = span.begin if reached is None else max(span.begin, reached)
        total += max(0.0, (span.end - begin).total_seconds())
        reached = span.end if reached is None else max(reached, span.end)
    return total
