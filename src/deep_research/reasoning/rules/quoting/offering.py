"""Which passages of a long document a reader is offered first, and which ones of any document tell where a thing
stands. It chooses nothing: whoever reads takes what fits.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum, log

from deep_research.reasoning.rules.question.sections import aspects
from deep_research.reasoning.rules.question.shared_names import name_pattern
from deep_research.reasoning.rules.quoting.units import MAX_SENTENCES, Stretches, Unit, units_of
from deep_research.reasoning.values import Context
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.head import head_of
from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.sentences import split_sentences

# What became of something. In 1,440 tokens a page, 10 of 11 passages that tell it are offered on 25 long pages; without
# these words 8.
_FATE = re.compile(
    r"(?i)\b(?:reject|withdr[ae]w|supersed|deprecat|obsolet|defer(?:red|ral)|replaced|remov(?:ed|al)|accept(?:ed|ance)"
    r"|resolution|status)|弃用|废弃|废止|移除|取代|取而代之|撤回|驳回|否决|采纳|不再提供|删除"
)
# How far something has come.
_STATE = re.compile(
    r"(?i)\b(?:alpha|beta|GA|stable|final|draft|stagnant|general(?:ly)? availab(?:le|ility)|graduat(?:es|ed|ion)"
    r"|(?:proposed|considered|scheduled|declined) for|enabled by default|no longer)\b"
    r"|稳定|正式(?:可用|发布|版)|特性状态|默认启用|进入"
)
_SETTLED = re.compile(
    r"(?i)\b(?:GA|stable|final|general(?:ly)? availab|graduat|removed|withdrawn|rejected)|稳定|正式|移除|撤回"
)
# The opening stands before all; then, beside what speaks of all that is asked, what tells the document's own fate, what
# speaks of problems, and what stands first under a heading or in a table.
_OPENING, _FATE_TOLD, _STATE_TOLD, _PROBLEM, _FIRST, _QUESTION = 9.0, 2.0, 1.0, 0.2, 0.25, 3.0
_MAX_PROBLEMS = 2
# Each further unit of a section, or row of a table, counts so much less than the one before.
_SAME_SECTION = 0.9


def offered_first(text: str, stretches: Stretches, title: str, asked: Sequence[str]) -> list[Unit]:
    """Return all that stands below a document's head, what a reader should see first before the rest.

    The first of `asked` is the question, the others are names of what is looked for.
    """
    # A document's head is shown with its title.
    start, end = head_of(text) or (0, 0)
    every = units_of(text, stretches, step=MAX_SENTENCES, is_whole=True)
    units = sorted((unit for unit in every if unit.end <= start or end <= unit.start), key=lambda unit: unit.start)
    heard, named = _heard(units, asked), frozenset(content_terms(title))
    sought = [name_pattern(name) for name in asked[1:]]
    problems = next(aspect.terms for aspect in aspects() if aspect.key == "problems")
    groups: dict[object, list[tuple[float, int]]] = {}
    worth = [0.0] * len(units)
    for at, unit in enumerate(units):
        own = groups.setdefault(unit.header or unit.heading, [])
        beside = _PROBLEM * min(len(unit.terms & problems), _MAX_PROBLEMS) + _FIRST * (not own)
        sentences = [each.text for each in unit.sentences]
        told = max(
            _FATE_TOLD * _tells_fate(unit, named, is_first=not own),
            _STATE_TOLD * _tells_state(sentences, unit.heading, sought),
        )
        worth[at] = _OPENING * (not at) + told
        own.append((heard[at] + beside, at))
    for own in groups.values():
        for rank, (beside, at) in enumerate(sorted(own, key=lambda each: -each[0])):
            worth[at] += beside * _SAME_SECTION**rank
    return [units[at] for at in sorted(range(len(units)), key=lambda at: -worth[at])]


def _heard(units: Sequence[Unit], asked: Sequence[str]) -> list[float]:
    """Return how much each unit speaks of what is asked, 0 to 1: words that few units of the document hold count most.

    A name counts where most of it stands.
    """
    counts = Counter(term for unit in units for term in unit.terms)
    sums = [0.0] * len(units)
    for number, words in enumerate(asked):
        worth = {term: log(1 + len(units) / max(counts[term], 1)) for term in {*content_terms(words)}}
        held, total = worth.keys() & counts.keys(), fsum(worth.values())
        for at, unit in enumerate(units):
            if found := held & unit.terms:
                share = fsum(worth[term] for term in found) / total
                sums[at] += share * share if number else _QUESTION * share
    best = max(sums, default=0) or 1
    return [each / best for each in sums]


def _tells_fate(unit: Unit, named: frozenset[str], *, is_first: bool) -> bool:
    """Return whether a unit says what became of what the document is about, or stands first under a heading on that."""
    if is_first and _FATE.search(to_simplified(unit.heading.split(" › ")[-1])):
        return True
    return any(_FATE.search(to_simplified(each.text)) and named & each.terms for each in unit.sentences)


def states_of(
    names: Sequence[str], evidence: Sequence[Evidence], contexts: Mapping[str, Context]
) -> tuple[Evidence, ...]:
    """Return the passages that tell where things stand: of each the newest, the newest that says it is settled, one
    that has no date, and the oldest.
    """
    found: dict[str, Evidence] = {}
    for pattern in map(name_pattern, names):
        named = (
            piece for piece in evidence if pattern.search(piece.quote) or pattern.search(contexts[piece.id].headings)
        )
        own = [piece for piece in named if _tells_state(_lines(piece.quote), contexts[piece.id].headings, [pattern])]
        own.sort(key=lambda piece: contexts[piece.id].published)
        undated = [piece for piece in own if not contexts[piece.id].published]
        dated = own[len(undated) :]
        settled = [piece for piece in dated if _SETTLED.search(piece.quote)]
        found |= {piece.id: piece for piece in (*dated[-1:], *settled[-1:], *undated[:1], *dated[:1])}
    return tuple(found.values())


def _lines(text: str) -> Iterator[str]:
    return (text[start:end] for start, end in split_sentences(text))


def _tells_state(lines: Iterable[str], heading: str, names: Iterable[re.Pattern[str]]) -> bool:
    """Return whether sentences, or the heading above them, name one of these things and say where it stands."""
    head = heading.split(" › ")[-1]
    plain = [to_simplified(line) for line in (head, *lines)]
    told = [line for line in plain if _STATE.search(line) or _FATE.search(line)]
    # What stands under a heading is about it, and a heading may be all that tells.
    about = plain if plain[0] in told else told
    return bool(told) and any(name.search(head) or any(map(name.search, about)) for name in names)
