"""The rounds of a run as a file, `rounds.jsonl`: for each section and round what was asked, read and judged."""

import asyncio
from collections.abc import Iterable

from deep_research.events import RunEvent
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.scope import Scope
from deep_research.store.port import Store
from deep_research.value import JsonObject, canonical_json

FILE = "rounds.jsonl"
_KINDS = frozenset({"serp-query", "search-task", "source", "section-coverage"})
# What is judged of a round; what is not known yet is null.
_JUDGED = ("coverage", "dimensions", "score", "gaps", "next_queries", "stop")


class RoundLog:
    """Writes the file anew from the stored events, one writer at a time: sections end their rounds at once."""

    def __init__(self) -> None:
        self._told: list[RunEvent] = []
        self._seq = 0
        self._writing = asyncio.Lock()

    async def write(self, run: str, *, store: Store, folder: RunFolder) -> None:
        """Write what is known of every round that was begun."""
        async with self._writing:
            for event in await store.read_events(run, after=self._seq):
                self._seq = event.seq
                self._told += [event] if event.kind in _KINDS else []
            await folder.write(FILE, "".join(canonical_json(line) + "\n" for line in rounds_of(self._told)))


def rounds_of(events: Iterable[RunEvent]) -> list[JsonObject]:
    """Return a record for each section and round, in that order; a retry's events replace those before."""
    newest = {event.key.partition("~")[0]: event for event in events if event.kind in _KINDS}
    places: dict[tuple[int, int], list[RunEvent]] = {}
    for event in newest.values():
        if place := Scope(event.key.split(":")[1]).section_and_round:
            places.setdefault(place, []).append(event)
    return [_record(number, own) for (_, number), own in sorted(places.items())]


def _record(number: int, events: list[RunEvent]) -> JsonObject:
    asked = [event.data for event in events if event.kind == "serp-query"]
    judged = next((event.data for event in events if event.kind == "section-coverage"), {})
    # A page that two queries found is one page.
    pages = {str(event.data["document"]): int(str(event.data["evidence"])) for event in _read(events)}
    queries = asked[0]["queries"] if asked else []
    return {
        "section": events[0].data["section"],
        "round": number,
        "queries": [query["query"] for query in queries if isinstance(query, dict)]
        if isinstance(queries, list)
        else [],
        "searched": sum(event.kind == "search-task" for event in events),
        "pages": len(pages),
        "evidence": sum(pages.values()),
        **{name: judged.get(name) for name in _JUDGED},
        "reasoning": judged.get("reason"),
    }


def _read(events: Iterable[RunEvent]) -> list[RunEvent]:
    return sorted((event for event in events if event.kind == "source"), key=lambda event: event.key)
