"""A plan as text that people edit (YAML, of which JSON is a part), and back; misfits are named by line or key."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import yaml
from pydantic import ValidationError

from deep_research.errors import InputError
from deep_research.events import RunEvent
from deep_research.reasoning.values import Entries, MapEntry, Plan, SectionPlan
from deep_research.report.sources.hit import SearchQuery
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import Words

MAX_SECTIONS = 5
_MAX_CHARS = 100_000
_PLAN_KEYS = tuple(Plan.model_fields)
_SECTION_KEYS = ("title", "description", "search_queries")
Data = Mapping[object, object]
_QUERY_KEYS = tuple(SearchQuery.model_fields)


def plan_of(row: RunRow, events: Sequence[RunEvent]) -> Plan | None:
    """Return the plan that waits for approval, or the one that a run follows."""
    waiting = (row.pending or {}).get("plan")
    if waiting is not None:
        return Plan.from_json(waiting)
    followed = followed_plan(events)
    if followed is None:
        return None
    return Plan.from_json({"research_title": followed["title"], **{key: followed[key] for key in ("goal", "sections")}})


def followed_plan(events: Sequence[RunEvent]) -> dict[str, Any] | None:
    """Return the plan that a run follows, as its event tells it."""
    return next((event.data for event in reversed(events) if event.kind == "report-plan"), None)


def plan_as_text(plan: Plan, *, head: str) -> str:
    """Return the plan for an editor; queries are written as plain texts and keep their goals when they come back."""
    sections = [
        {
            "title": section.title,
            "description": section.description,
            "search_queries": [query.query for query in section.search_queries],
        }
        for section in plan.sections
    ]
    data = plan.to_json() | {"sections": sections, "entries": [entry.name for entry in plan.entries]}
    body: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=110)
    return "".join(f"# {line}\n" for line in head.splitlines()) + body


def plan_from_text(text: str, original: Plan, words: Words) -> Plan:
    """Return the plan that a text spells; what it leaves out but title and sections stays as it was."""
    if len(text) > _MAX_CHARS:
        raise InputError(words("plan.too_long", count=_MAX_CHARS))
    try:
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else 1
        raise InputError(words("plan.not_yaml", line=line, problem=exc.problem or "YAML")) from exc
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise InputError(words("plan.not_yaml", line=1, problem="YAML")) from exc
    if not isinstance(data, Mapping):
        raise InputError(words("plan.not_mapping"))
    return _PlanReader(original, words).plan(data)


class _PlanReader:
    """Takes a plan from plain data, key by key, and says of the first thing that does not fit what would."""

    def __init__(self, original: Plan, words: Words) -> None:
        self._original = original
        self._words = words
        self._known = {query.query: query for section in original.sections for query in section.search_queries}

    def plan(self, data: Data) -> Plan:
        self._check_keys(data, _PLAN_KEYS, "")
        listed = self._list(self._present(data, "sections"), "sections")
        if not listed:
            raise InputError(self._words("plan.no_section"))
        if len(listed) > MAX_SECTIONS:
            raise InputError(self._words("plan.too_many", count=MAX_SECTIONS, given=len(listed)))
        sections = tuple(self._section(section, f"sections {number}") for number, section in enumerate(listed, start=1))
        first: dict[str, int] = {}
        for number, section in enumerate(sections, start=1):
            same = first.setdefault(section.title.casefold(), number)
            if same != number:
                raise InputError(self._words("plan.same_title", first=same, second=number, title=section.title))
        original = self._original
        return original.replace(
            research_title=self._filled(self._present(data, "research_title"), "research_title"),
            goal=self._text(data.get("goal", original.goal), "goal"),
            scope=self._text(data.get("scope", original.scope), "scope"),
            domains=tuple(
                self._text(one, "domains") for one in self._list(data.get("domains", original.domains), "domains")
            ),
            sections=sections,
            entries=self._entries(data, [section.title for section in sections]),
        )

    def _entries(self, data: Data, titles: Sequence[str]) -> Entries:
        """Return what is to be looked for: what is listed, by name, else what no dropped section has."""
        if "entries" not in data:
            return self._original.entries_of(titles)
        known = {entry.name: entry for entry in self._original.entries}
        listed = [
            each.get("name") if isinstance(each, Mapping) else each for each in self._list(data["entries"], "entries")
        ]
        names = dict.fromkeys(self._filled(name, f"entries {number}") for number, name in enumerate(listed, start=1))
        return tuple(known.get(name) or MapEntry(name=name) for name in names)

    def _section(self, data: object, key_path: str) -> SectionPlan:
        data = self._mapping(data, _SECTION_KEYS, key_path, "section")
        queries = self._list(data.get("search_queries", ()), f"{key_path}: search_queries")
        return SectionPlan(
            title=self._filled(self._present(data, "title", f"{key_path}: "), f"{key_path}: title"),
            description=self._text(data.get("description", ""), f"{key_path}: description"),
            search_queries=tuple(
                self._query(query, f"{key_path}: search_queries {number}")
                for number, query in enumerate(queries, start=1)
            ),
        )

    def _query(self, data: object, key_path: str) -> SearchQuery:
        if isinstance(data, str):
            return self._known.get(data) or SearchQuery(query=self._filled(data, key_path))
        data = self._mapping(data, _QUERY_KEYS, key_path, "query")
        query = self._filled(self._present(data, "query", f"{key_path}: "), f"{key_path}: query")
        goal = self._text(data.get("goal", ""), f"{key_path}: goal")
        try:
            return SearchQuery.model_validate({**data, "query": query, "goal": goal})
        except ValidationError:
            self._refuse(key_path, "query")

    def _mapping(self, data: object, known: Sequence[str], key_path: str, wanted: str) -> Data:
        if not isinstance(data, Mapping):
            self._refuse(key_path, wanted)
        self._check_keys(data, known, f"{key_path}: ")
        return data

    def _check_keys(self, data: Data, known: Sequence[str], key_path: str) -> None:
        for key in data:
            if key not in known:
                raise InputError(self._words("plan.unknown_key", place=f"{key_path}{key}", known=", ".join(known)))

    def _present(self, data: Data, key: str, key_path: str = "") -> object:
        if key not in data:
            raise InputError(self._words("plan.missing", place=f"{key_path}{key}"))
        return data[key]

    def _text(self, value: object, key_path: str) -> str:
        # A key with nothing behind it is an empty text in an editor's eyes.
        if value is None:
            return ""
        if not isinstance(value, str):
            self._refuse(key_path, "text")
        return " ".join(value.split())

    def _filled(self, value: object, key_path: str) -> str:
        text = self._text(value, key_path)
        if not text:
            raise InputError(self._words("plan.empty", place=key_path))
        return text

    def _list(self, value: object, key_path: str) -> Sequence[object]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self._refuse(key_path, "list")
        return value

    def _refuse(self, key_path: str, wanted: str) -> NoReturn:
        raise InputError(self._words("plan.wrong_type", place=key_path, wanted=self._words(f"plan.{wanted}")))
