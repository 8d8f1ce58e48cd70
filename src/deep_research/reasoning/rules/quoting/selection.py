"""Choosing what to quote: units that say most on the question, each in the one section it fits best, nothing twice."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from deep_research.reasoning.rules.question.sections import Aspect, aspect_of, aspects_named
from deep_research.reasoning.rules.quoting.relevance import Weights
from deep_research.reasoning.rules.quoting.units import SourceSentence, Unit, states_nothing
from deep_research.report.evidence.passage import Evidence
from deep_research.text.analyzer import analyze, content_terms
from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import find_quantities
from deep_research.text.sentences import split_sentences
from deep_research.value import digest
from deep_research.verify.particulars import particulars
from deep_research.verify.trimming import possible_cuts

# Of one document, so many units may be quoted, and so many rows of its tables.
UNITS_A_DOCUMENT = (4, 4)
# A table of so few rows is quoted whole.
_SMALL_TABLE = 8
# What a unit's best, second and third sentence count for.
_PLACES = (1.0, 0.5, 0.25)
_FITS_AROUND, _FITS_DOCUMENT = 0.4, 0.1
_ASPECT_HITS = 2
_ON_FOCUS = 0.3
# What a word of an aspect that is asked for is worth, and how many count.
_HIT, _MAX_HITS = 0.15, 3
_REPEATED_SHARE = 0.55
# No section takes more of the room than this.
MAX_SECTION_SHARE = 0.5
# A unit and its heading hold at least so many of the topic's terms, and so much of its weight.
_NEAR_TERMS, _NEAR_SHARE = 2, 0.1
# One term is enough if it is most of the topic.
_MOST = 0.5

# A unit that begins so leans on what stands before it and is not quoted with it.
_LEANING = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|His|Her|Such|Both|Another|Neither|Either|Then|Here|"
    r"So|But|And|Or|Yet|Nor|Also|(?:First|Second|Third)(?=,)|Firstly|Secondly|Finally"
    r"|The (?:former|latter|same|other|rest|lower|higher|smaller|larger))\b"
    r"|\d{1,2}[.)、]\s"
    r"|(?:它|他(?!汀)|她|其|该|該|这|這|那|此|上述|前者|后者|後者|同样|同樣|另外|再者|但|而|并(?!购|网)|並(?!購|網)|也|还(?!款|原|本)|還(?!款|原|本)|第[一二三四五六]，|首先|其次|最后|最後)"
)
# A definite noun that only an earlier sentence explains.
_ABOVE = re.compile(
    r"(?i)\bthe (?:decrease|increase|difference|remaining|remainder|reduction|rise|fall|shortfall|latter|former)\b"
    r"(?! (?:in|of)\b)"
    r"|^(?:The )?\w+ of (?:that|this|these|those) \w+|\bthat (?:amount|sum|year|figure|choice)\b"
    r"|\bboth (?:items|sides|cases)\b"
    r"|\bthis reason\b|\btherefore\b|\b(?:days|weeks|months|years) later\b"
    # "60毫米以上" and "三级及以上" are bounds.
    r"|因此|为此|為此|其余|其餘|上述|前述|(?<![岁歲年月日及])(?<!\d)(?<!\d.)(?<!\d..)(?<!\d...)以上|如下"
)
# What would be, not what is.
_SUPPOSED = re.compile(r"\bwould\b|^If\b|如果|假如|若(?=每|不|能)")
# Somebody says that this has nothing to do with it.
_DISCLAIMS = re.compile(
    r"(?i)(?:\bnot|n['’]t|\bwithout)\s(?:(?:\w+\s)?(?:relat|address|focus)|(?:directly|specifically)\s\w)\w*"
    r"|\bfocus\w*\b[^.]{0,60}\brather than\b|\bunrelated to\b|\bno direct\b"
    r"|与.{0,20}(?:无关|没有关系|无直接)|不直接(?:相关|影响|涉及)|不涉及"
)
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_DIRECTION = re.compile(
    r"\b(?:rose|rise|risen|increase|grew|grow|fell|fall|fallen|decrease|drop|decline|more|less)\w*|增|升|涨|减|降|跌"
)
# Whoever wrote a document speaks of their own house.
_OWN_HOUSE = re.compile(r"(?i)\b(?:we|our|us)\b|我们|我們|本公司|我司|本市|我市")


class Candidate(NamedTuple):
    """A unit of a document with what speaks for it."""

    unit: Unit
    score: float


@dataclass(frozen=True)
class Interest:
    """What is looked for: the question's terms by weight, the terms of each name in it, and the aspects it asks for."""

    weights: Weights
    names: tuple[frozenset[str], ...] = ()
    aspects: tuple[Aspect, ...] = ()

    @cached_property
    def topic(self) -> Weights:
        return self.weights.without_aspects()

    def is_near(self, unit: Unit) -> bool:
        """Return whether a unit is about the topic at all; a document may have other subjects besides."""
        disclaiming = (each for each in unit.sentences if _DISCLAIMS.search(to_simplified(each.text)))
        if any(self.topic.share(each.terms) >= _NEAR_SHARE for each in disclaiming):
            return False
        terms = unit.terms.union(analyze(unit.heading), *(each.terms for each in unit.before))
        held, share = len(self.topic.of) - len(self.topic.missing(terms)), self.topic.share(terms)
        return share >= _NEAR_SHARE and (held >= _NEAR_TERMS or share > _MOST)

    def worth(self, sentence: SourceSentence) -> float:
        """Return what a sentence adds: a figure first of all, then the question's words, its names, a date."""
        is_own = _OWN_HOUSE.search(sentence.text) is not None or any(name <= sentence.terms for name in self.names)
        figures = min(len(find_quantities(sentence.text)), 3)
        is_dated = bool(find_dates(sentence.text))
        is_weak = _SUPPOSED.search(sentence.text) is not None or states_nothing(sentence.text)
        covered = self.weights.share(sentence.terms) + _HIT * shown_of(self.aspects, sentence.text)
        return bool(figures) + 0.1 * figures + 2 * covered + 0.5 * is_own + 0.25 * is_dated - 0.3 * is_weak


def shown_of(aspects: Iterable[Aspect], text: str) -> int:
    """Return how many words of the aspects that are asked for a text shows, up to a few."""
    return min(sum(aspect.hits(text) for aspect in aspects), _MAX_HITS)


def choose_units(
    units: Sequence[Unit], interest: Interest, *, room: tuple[int, int] = UNITS_A_DOCUMENT
) -> list[Candidate]:
    """Return the best units of a document on the topic, none of which shares a sentence with another, best first.

    `room` is for units and for rows.
    """
    near = filter(interest.is_near, units)
    # Units overlap: what a sentence is worth is asked once.
    worth = cache(interest.worth)
    candidates = [Candidate(unit, _score(unit, worth)) for unit in near]
    candidates.sort(key=lambda candidate: candidate.unit.start)
    # Of rows that are worth the same, the newest says how things stand.
    candidates.sort(key=lambda candidate: _newest(candidate.unit), reverse=True)
    return apart(candidates, room)


def whole_tables(chosen: Sequence[Candidate], units: Sequence[Unit]) -> list[Candidate]:
    """Return what was chosen, with all rows of each small table of which one is among it."""
    found: dict[int, Candidate] = {}
    for unit, score in chosen:
        rows = [other for other in units if unit.header and other.header == unit.header]
        for each in rows if 0 < len(rows) <= _SMALL_TABLE else [unit]:
            found.setdefault(each.start, Candidate(each, score))
    return list(found.values())


def apart(candidates: Iterable[Candidate], room: tuple[int, int] | None = None) -> list[Candidate]:
    """Return candidates of which none shares a sentence with another, best first, as many as there is room for."""
    taken: set[int] = set()
    # First for sentences, then for rows.
    left = list(room or (math.inf, math.inf))
    chosen = []
    for candidate in sorted(candidates, key=lambda candidate: -candidate.score):
        unit, is_row = candidate.unit, candidate.unit.header is not None
        starts = {sentence.start for sentence in unit.sentences}
        if left[is_row] and not starts & taken:
            left[is_row] -= 1
            taken |= starts
            chosen.append(candidate)
    return chosen


def _newest(unit: Unit) -> str:
    return max((mention.iso for mention in find_dates(unit.text)), default="") if unit.header else ""


def _score(unit: Unit, worth: Callable[[SourceSentence], float]) -> float:
    worths = sorted((worth(sentence) for sentence in unit.sentences), reverse=True)
    score = sum(place * worth for place, worth in zip(_PLACES, worths, strict=False))
    return round(score - 0.4 * (not stands_alone(unit.sentences[0].text)), 6)


def section_of(unit: Unit, outline: Sequence[str], *, title: str, document: frozenset[str]) -> str:
    """Return the section that a unit fits best, by its own words, then by what stands above it and around it."""
    around = frozenset(analyze(f"{unit.heading} {title}"))
    return max(outline, key=lambda section: fit(unit, aspect_of(section), around, document))


def is_on(unit: Unit, focus: str) -> bool:
    """Return whether a unit, with what stands above it, speaks of a focus that the user set."""
    # A single word that shows an aspect ("costs") stands for it.
    named = aspects_named(focus) if len(content_terms(focus)) == 1 else ()
    around = frozenset(analyze(unit.heading))
    return any(fit(unit, aspect, around, frozenset()) >= _ON_FOCUS for aspect in (aspect_of(focus), *named))


def fit(unit: Unit, aspect: Aspect, around: frozenset[str], document: frozenset[str]) -> float:
    """Return how well a unit fits a section, about 0 to 1; its aspect is what it looks at, such as cost or results."""
    if aspect.key:
        hits = aspect.hits(unit.text) + _FITS_AROUND * aspect.hits(unit.heading)
        return hits / (hits + _ASPECT_HITS)
    own = aspect.terms & unit.terms
    near = (aspect.terms & around) - own
    far = (aspect.terms & document) - own - near
    return (len(own) + _FITS_AROUND * len(near) + _FITS_DOCUMENT * len(far)) / max(len(aspect.terms), 1)


def stands_alone(sentence: str) -> bool:
    """Return whether a sentence makes sense without its neighbours."""
    return not (_LEANING.match(sentence) or _ABOVE.search(sentence))


def trimmed(sentence: str) -> str:
    """Return the sentence as the report quotes it: without a leading connective, bare citations and line breaks."""
    kept, starts_anew = sentence, False
    for cut in reversed(possible_cuts(sentence)):
        before, after = kept[: cut.start], kept[cut.end :]
        kept = (before.rstrip() if after[:1] in tuple(".,;:!?") else before) + after
        starts_anew = starts_anew or cut.is_connective
    kept = " ".join(kept.split())
    return kept[:1].upper() + kept[1:] if starts_anew else kept


def repeats(one: str, other: str) -> bool:
    """Return whether two passages tell the same: most of the shorter one's content, and no figure of its own.

    Passages that agree in words and differ in figures are no repetition: they disagree.
    """
    first, second = _contents(one), _contents(other)
    if not first or not second or len(first & second) <= _REPEATED_SHARE * min(len(first), len(second)):
        return False
    return any(_adds_nothing(short, to) for short, to in ((one, other), (other, one)))


@lru_cache(maxsize=2_048)
def _contents(text: str) -> frozenset[str]:
    return frozenset(content_terms(text))


def _adds_nothing(text: str, known: str) -> bool:
    """Return whether a passage holds no figure, date, name or direction that the known one lacks, and no denial."""
    own, others = particulars(text), particulars(known)
    is_known = set(own.figures) <= set(others.figures) and set(own.dates) <= set(others.dates)
    return is_known and own.negations == others.negations and _signs(text) <= _signs(known)


def _signs(text: str) -> set[str]:
    return {
        *(match[0] for match in _NAME.finditer(text) if match.start()),
        *_DIRECTION.findall(to_simplified(text).lower()),
    }


def best_first(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return evidence by its score, the best first; of what several copies of a text say alike, one copy has it all."""
    return sorted(evidence, key=lambda piece: (-piece.score, digest(piece.quote), piece.document))


def by_document(ranked: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence document by document, the one with the best piece first, each in its own order."""
    best = list(dict.fromkeys(piece.document for piece in ranked))
    return sorted(ranked, key=lambda piece: (best.index(piece.document), piece.start))


def choose(ranked: Sequence[Evidence], *, room: int) -> list[Evidence]:
    """Take evidence from the top while there is room for its sentences, passing over what repeats."""
    chosen: list[Evidence] = []
    for piece in ranked:
        size = sentence_count(piece)
        if size <= room and not any(repeats(piece.quote, other.quote) for other in chosen if not piece.header):
            chosen.append(piece)
            room -= size
    return chosen


def sentence_count(piece: Evidence) -> int:
    """Return how many sentences or rows of its source a piece of evidence holds."""
    return len(split_sentences(piece.quote))


def share_room(
    sections: Sequence[Sequence[Evidence]], *, room: int, least: int, largest: float = MAX_SECTION_SHARE
) -> list[list[Evidence]]:
    """Return what of each section is quoted when all share the room: its `least` best pieces, then the best of all."""
    order = [(position, piece) for position, pieces in enumerate(sections) for piece in pieces]
    best = list(map(best_first, sections))
    first = [(at, pieces[rank]) for rank in range(least) for at, pieces in enumerate(best) if rank < len(pieces)]
    rest = sorted((each for each in order if each not in first), key=lambda each: (-each[1].score, each[1].id))
    kept: list[list[Evidence]] = [[] for _ in sections]
    quoted = set()
    most = int(largest * room)
    filled: Counter[int] = Counter()
    for position, piece in (*first, *rest):
        # Under one of several headings the rows of a table stand together.
        is_begun = len(sections) > 1 and piece.header and any(other.header == piece.header for other in kept[position])
        size = 0 if is_begun else sentence_count(piece)
        if size <= room and filled[position] + size <= most and piece.id not in quoted:
            kept[position].append(piece)
            filled[position] += size
            quoted.add(piece.id)
            room -= size
    return [sorted(own, key=list(pieces).index) for own, pieces in zip(kept, sections, strict=True)]
