"""The rounds of a run as a file, `rounds.jsonl`: for each section and round what was asked, read and judged."""

from collections.abc import Iterable

from deep_research.events import RunEvent
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.scope import Scope
from deep_research.value import JsonObject

FILE = "rounds.jsonl"
_KINDS = frozenset({"serp-query", "search-task", "source", "section-coverage"})
# Where these stand is the section's own place.
_OF_ONE = frozenset({"serp-query", "section-coverage"})
# What is judged of a round; what is not known yet is null.
_JUDGED = ("coverage", "dimensions", "score", "gaps", "next_queries", "stop")


async def write_rounds(folder: RunFolder) -> None:
    """Write what is known of every round that was begun, from the stored events."""
    await folder.write_json(FILE, *rounds_of(await folder.store.read_events(folder.lease.run)))


def rounds_of(events: Iterable[RunEvent]) -> list[JsonObject]:
    """Return a record for each section and round, in that order; a retry's events replace those before."""
    newest = {event.key.partition("~")[0]: event for event in events if event.kind in _KINDS}
    placed = [
        (found, event) for event in newest.values() if (found := Scope(event.key.split(":")[1]).section_and_round)
    ]
    titles = sorted({(number, event.data["section"]) for (number, _), event in placed if event.kind in _OF_ONE})
    by_round: dict[tuple[int, int], list[RunEvent]] = {}
    for (first, round_), event in placed:
        # The tasks of all sections have their place with the first.
        own = (number for number, title in titles if number >= first and title == event.data["section"])
        by_round.setdefault((next(own, first), round_), []).append(event)
    return [_record(number, own) for (_, number), own in sorted(by_round.items())]


def _record(number: int, events: list[RunEvent]) -> JsonObject:
    listed = next((event.data["queries"] for event in events if event.kind == "serp-query"), [])
    queries = listed if isinstance(listed, list) else []
    judged = next((event.data for event in events if event.kind == "section-coverage"), {})
    # A page that two queries found is one page.
    read = sorted((event for event in events if event.kind == "source"), key=lambda event: event.key)
    pages = {str(event.data["document"]): int(str(event.data["evidence"])) for event in read}
    return {
        "section": events[0].data["section"],
        "round": number,
        "queries": [query["query"] for query in queries if isinstance(query, dict)],
        "searched": sum(event.kind == "search-task" for event in events),
        "pages": len(pages),
        "evidence": sum(pages.values()),
        **{name: judged.get(name) for name in _JUDGED},
        "reasoning": judged.get("reason"),
    }
