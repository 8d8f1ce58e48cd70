"""The map of what a complete answer names: which texts name an entry, what is asked for it, how readers change it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from deep_research.events import RunEvent
from deep_research.pipeline.control import changes_of
from deep_research.pipeline.state import merge_unique
from deep_research.reasoning.rules.question.shared_names import name_pattern, short_name
from deep_research.reasoning.values import Entries, MapEntry, Strings
from deep_research.report.sources.hit import SearchQuery
from deep_research.storage.store.port import Answers
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words
from deep_research.value import Json, Value

# "strike: PEP 517; PEP 518", "add: PEP 660", "enough": what a reader says of the map in words.
_CHANGE = re.compile(r"(?is)\s*(?:(?P<strike>strike|删去)|add|补充)\s*[:：]\s*(?P<names>\S.*)")
_ENOUGH = frozenset({"enough", "够了"})
MAX_CHANGED = 40


class MapChange(Value):
    """What a reader changes about the map: entries to strike, entries to add to a section, or that it is enough."""

    strike: Strings = Field(default=(), max_length=MAX_CHANGED)
    add: Strings = Field(default=(), max_length=MAX_CHANGED)
    section: str = ""
    enough: bool = False


def map_change_in(answer: Json) -> MapChange | None:
    """Return what an answer changes about the map, None where it changes nothing."""
    if isinstance(answer, dict) and isinstance(given := answer.get("map"), dict):
        return MapChange.from_json(given)
    if not isinstance(answer, str):
        return None
    plain = to_simplified(answer)
    if plain.strip(" .。!！").casefold() in _ENOUGH:
        return MapChange(enough=True)
    if not (found := _CHANGE.fullmatch(plain)):
        return None
    names = answer[slice(*found.span("names"))]
    listed = tuple(dict.fromkeys(filter(None, map(str.strip, re.split("[;；\n]", names)))))[:MAX_CHANGED]
    return MapChange(strike=listed) if found["strike"] else MapChange(add=listed)


def entries_now(events: Iterable[RunEvent], answers: Answers, words: Words) -> Entries:
    """Return the entries as the run told them last, with what readers changed since."""
    told = next((event.data for event in reversed([*events]) if event.kind == "research-map"), {})
    entries: Any = told.get("entries", ())
    followed = int(str(told.get("changes", 0)))
    return changed(tuple(map(MapEntry.from_json, entries)), changes_after(followed, answers), words)


def changes_after(followed: int, answers: Answers) -> list[MapChange]:
    """Return what readers changed after so many changes."""
    last = changes_of("map", answers)
    return [MapChange.from_json(answers[f"map/{number}"]) for number in range(followed + 1, last + 1)]


def changed(entries: Entries, changes: Iterable[MapChange], words: Words) -> Entries:
    """Return the entries as readers changed them; what they added stands first."""
    for change in changes:
        struck, added = {*map(key_of, change.strike)}, {key_of(name): name for name in change.add}
        kept: list[MapEntry] = []
        for entry in entries:
            keys = {*_keys(entry)}
            if keys & struck:
                entry = entry.replace(status="set_aside", reason=words("map.struck"), from_reader=True)
            elif keys & added.keys() and entry.status != "found":
                entry = entry.replace(status="open", reason="", queries=(), from_reader=True)
            kept.append(entry)
        known = names_of(entries)
        new = [name for key, name in added.items() if key not in known]
        entries = (*(MapEntry(name=name, section=change.section, from_reader=True) for name in new), *kept)
    return entries


def query_of(entry: MapEntry) -> str:
    """Return the query that is asked for an entry."""
    return entry.name.replace(":", "").replace("：", " ")


def asked_for(entry: MapEntry, queries: Sequence[SearchQuery]) -> MapEntry:
    """Return an entry with the query that was asked for it, if one was."""
    query = query_of(entry)
    return entry.replace(queries=(query,)) if any(each.query == query for each in queries) else entry


def found_in(entry: MapEntry, texts: Mapping[str, str]) -> MapEntry:
    """Return an entry with the documents that name it."""
    documents = tuple(id_ for id_, text in texts.items() if name_pattern(entry.name).search(text))
    if not documents:
        return entry
    status = "found" if entry.status == "open" else entry.status
    return entry.replace(status=status, documents=merge_unique(entry.documents, documents))


def is_wanted(query: SearchQuery, entries: Entries) -> bool:
    """Return whether a query is for more than what readers struck."""
    named = [entry for entry in entries if name_pattern(entry.name).search(query.query)]
    return not named or not all(entry.is_struck for entry in named)


def names_of(entries: Entries) -> set[str]:
    """Return the names that a reader may strike, as `key_of` spells them."""
    return {key for entry in entries for key in _keys(entry)}


def key_of(name: str) -> str:
    """Return a name as it is compared."""
    return " ".join(name.split()).casefold()


def _keys(entry: MapEntry) -> tuple[str, str]:
    return key_of(entry.name), short_name(entry.name)
