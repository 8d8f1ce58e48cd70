"""Which special sources suit a query, by rules, and how a prompt describes them. Asks none of them.

The chain of the general web and the user's own documents are no matter of choice.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest

from deep_research.reasoning.rules.lexicon import load_table
from deep_research.reasoning.rules.question.sections import Aspect, aspect_from
from deep_research.reasoning.values import Strings
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import SearchKind
from deep_research.text.dates import find_dates
from deep_research.value import Value
from deep_research.web.search.registry import EngineSpec

_MAX_WIDENED = 4
# News can be searched from this year on.
_FIRST_NEWS_YEAR = "2017"


class _SourceRule(Value):
    """How a kind of query finds its sources; `lexicon/special_sources.toml` tells what the parts mean."""

    most: int
    first: Strings = ()
    subjects: Mapping[str, Strings] = {}
    last: Strings = ()
    otherwise: Strings = ()


class _SpecialSources(Value):
    broad: Strings
    kinds: Mapping[SearchKind, _SourceRule]
    subjects: Mapping[str, Mapping[str, Strings]]


def choose_sources(query: SearchQuery, offered: Sequence[EngineSpec]) -> Strings:
    """Return the names of the specialists that suit a query, best first; what a user has set up himself comes first."""
    if query.kind == "local":
        return ()
    rule = _table().kinds[query.kind]
    subjects = [name for name in _subjects_of(query.query) if name in rule.subjects]
    # The first source of each subject, then the second of each.
    called = filter(None, chain.from_iterable(zip_longest(*(rule.subjects[name] for name in subjects))))
    wanted = [*rule.first, *called, *rule.last, *(() if subjects else rule.otherwise)]
    usable = _usable(query, offered)
    own = [spec.name for spec in usable.values() if _is_own(spec, query.kind)]
    known = [name for name in dict.fromkeys(wanted) if name in usable]
    return (*own, *known[: rule.most])


def widen(query: SearchQuery, offered: Sequence[EngineSpec], asked: Sequence[str]) -> Strings:
    """Return further specialists that need no key and could hold something, for when those asked found nothing."""
    if query.kind == "local":
        return ()
    rules = _table().kinds.values()
    called = [rule.subjects.get(name, ()) for name in _subjects_of(query.query) for rule in rules]
    usable = _usable(query, offered)
    further = dict.fromkeys((*chain.from_iterable(called), *_table().broad))
    free = [name for name in further if name in usable and not usable[name].needs_key and name not in asked]
    return tuple(free[:_MAX_WIDENED])


def describe(offered: Iterable[EngineSpec]) -> str:
    """Return a line for each source: its name, what it holds, and its priority."""
    return "\n".join(f"{spec.name}: {spec.about or spec.title} ({spec.priority})" for spec in offered)


def _usable(query: SearchQuery, offered: Iterable[EngineSpec]) -> dict[str, EngineSpec]:
    return {spec.name: spec for spec in offered if spec.is_specialist and (query.sites or not spec.needs_sites)}


def _is_own(spec: EngineSpec, kind: SearchKind) -> bool:
    """Return whether somebody wants just this source: a server that was set up, or one for the sites of the query."""
    is_server = spec.name.startswith("mcp:")
    return (is_server or spec.needs_sites) and (kind in spec.kinds or (is_server and "general" in spec.kinds))


def _subjects_of(text: str) -> list[str]:
    """Return the subjects that the words of a query show, the one with the most words first."""
    shown = {name: aspect.hits(text) for name, aspect in _subject_sides().items()}
    shown["events"] += any(date.iso >= _FIRST_NEWS_YEAR for date in find_dates(text))
    return sorted((name for name, count in shown.items() if count), key=lambda name: -shown[name])


@cache
def _table() -> _SpecialSources:
    return _SpecialSources.from_json(load_table("special_sources"))


@cache
def _subject_sides() -> dict[str, Aspect]:
    return {name: aspect_from(name, **words) for name, words in _table().subjects.items()}
