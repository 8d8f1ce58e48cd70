"""Figures that sources state, and what each is a figure of: whether two say the same, or contradict each other."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.question.phrases import spans_between
from deep_research.reasoning.rules.quoting.selection import best_first, trimmed
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import DateMention, find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import Quantity, find_quantities
from deep_research.text.sentences import split_sentences

# Figures nearer than this agree; further apart than this they are of different things.
_ROUNDING, _FAR = 0.05, 5.0
# The same figure, given with fewer digits.
_SAME_FIGURE = 0.004
# A figure of so many digits is hardly another one's by chance.
_TELLING_DIGITS, _TELLING_SHARED = 3, 2
# The words around two figures are the same but for so many, and there are enough of them.
_MAX_OTHER_WORDS, _MIN_SHARED = 1, 3
_SAME_SENTENCE = 0.5
_MAX_FIGURES = 4
# The ends of a range are no figure of their own.
_RANGE = re.compile(r"\bbetween\b|\bfrom\b|(?<=[\d%])\s?(?:[-–~]|to|至|到)\s?(?=[\d$€£¥])|介于|之间")
_CLAUSE = re.compile(r"[;；]|,\s(?!\d)|，|\b(?:while|whereas|but)\b")
# Whose count it is does not change what is counted.
_ATTRIBUTION = re.compile(
    r"(?i)^(?:according to|as counted by|in the (?:count|view) of)\b.*"
    r"|^(?:据|據|按照?|根据|根據).*(?:统计|統計|测算|測算|估算|说法|說法|数据|數據|核算)$"
)
# Who says whom a figure is from adds no origin to it.
_HEARSAY = re.compile(
    r"(?i)\b(?:according to|as (?:stated|reported|told) (?:by|in)|cit(?:es|ing)|quot(?:es|ing))\b"
    r"|^据|[，,]据|根据[^，。]{1,30}(?:报告|总结|数据|公报|统计)|援引|引述|(?:报告|总结|公报)(?:称|显示|指出|写道)"
)
# A plan and what came of it are two things, and so are one and the mean of many, whatever the figures.
_PLANNED = frozenset(
    """targe goal goals budge expec forec plan plans plann avera media minim maxim
    目标 预算 概算 预计 计划 平均 至少 至多""".split()
)
# What a figure is a figure of is changed by these: more of it, the change of it, a limit of it, what it is to be.
_KIND = re.compile(
    r"(?i)\b(?:increas\w*|decreas\w*|fell|rose|grew|growth|reduc\w*|declin\w*|drop\w*|target\w*|goal\w*|budget\w*|expect\w*"
    r"|forecast\w*|project\w*|plan\w*|estimat\w*|average|median|minimum|maximum|least|most|first|total|overrun|exceed\w*"
    r"|another|further|additional|per|over|under|above|below|more|less|up|nearly|almost|before|after|without|by)\b"
    r"|[增减降升前后每另约近]|目标|预算|概算|预计|计划|平均|超[出过]|至少|至多|不[足到]|以[上下]|最[高低大小多少]"
)


class FigureClaim(NamedTuple):
    """A figure that a sentence states, and what it is a figure of.

    In a sentence that is a range or a list, which word belongs to which figure is not plain.
    """

    piece: Evidence
    sentence: str
    figure: Quantity
    about: frozenset[str]
    sentence_about: frozenset[str]
    kinds: frozenset[str]
    dates: tuple[str, ...]
    figures: frozenset[float]
    is_plain: bool

    @property
    def is_hearsay(self) -> bool:
        """Return whether the sentence names somebody else as the one who gives the figure."""
        return bool(_HEARSAY.search(to_simplified(self.sentence)))


# A run asks for the same passages round by round, when it weighs them and when it writes.
@lru_cache(maxsize=1_024)
def _claims(piece: Evidence) -> tuple[FigureClaim, ...]:
    found: list[FigureClaim] = []
    for start, end in split_sentences(piece.quote):
        sentence = piece.quote[start:end]
        figures = find_quantities(sentence)
        if any(figure.unit for figure in figures):
            found += _of_sentence(piece, sentence, figures)
    return tuple(found)


def _of_sentence(piece: Evidence, sentence: str, figures: Sequence[Quantity]) -> Iterator[FigureClaim]:
    dates = find_dates(sentence)
    clauses = [
        span
        for span in spans_between(_CLAUSE.finditer(sentence), len(sentence))
        if not _ATTRIBUTION.match(sentence[slice(*span)].strip(" ,，"))
    ]
    known = clauses or [(0, len(sentence))]
    whole = frozenset(term for at, end in known for term in content_terms(sentence[at:end]))
    values = frozenset(round(figure.value, 6) for figure in figures)
    is_plain = len(figures) <= _MAX_FIGURES and not _RANGE.search(sentence)
    for figure in figures:
        if figure.unit:
            about, near = _around(figure, sentence, clauses, dates)
            yield FigureClaim(
                piece=piece,
                sentence=sentence,
                figure=figure,
                about=frozenset(content_terms(about)),
                sentence_about=whole,
                kinds=frozenset(word.lower()[:5] for word in _KIND.findall(to_simplified(about))),
                dates=near,
                figures=values,
                is_plain=is_plain,
            )


def _around(
    figure: Quantity, sentence: str, clauses: Sequence[tuple[int, int]], dates: Sequence[DateMention]
) -> tuple[str, tuple[str, ...]]:
    """Return the words of the clause that a figure stands in, of all clauses where those are few, and its dates."""
    own = next((span for span in clauses if span[0] <= figure.start < span[1]), None)
    first, last = own or (0, len(sentence))
    if len(content_terms(sentence[first:last])) <= _MIN_SHARED + 1:
        known = clauses or [(first, last)]
        first, last = known[0][0], max(end for _, end in known)
    about = sentence[:last]
    mentions: list[Quantity | DateMention] = [figure, *dates]
    for each in mentions:
        about = about[: each.start] + " " * len(about[each.start : each.end]) + about[each.end :]
    near = {date.iso for date in dates if first <= date.start < last} or {date.iso for date in dates}
    return about[first:], tuple(sorted(near))


def differ(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents' claims are about the same, at the same time, and their figures differ."""
    if not (one.is_plain and other.is_plain and _ROUNDING < _distance(one, other) < _FAR):
        return False
    # A sentence that tells the other's figure as well says what the difference is.
    if round(one.figure.value, 6) in other.figures or round(other.figure.value, 6) in one.figures:
        return False
    is_same_time = not one.dates or not other.dates or one.dates == other.dates
    if not is_same_time or one.kinds != other.kinds or len(one.about & other.about) < _MIN_SHARED:
        return False
    shared, both = one.sentence_about & other.sentence_about, one.sentence_about | other.sentence_about
    return len(one.about ^ other.about) <= _MAX_OTHER_WORDS and len(shared) >= _SAME_SENTENCE * len(both)


def agree(one: FigureClaim, other: FigureClaim) -> bool:
    """Return whether two documents give the same figure for the same thing, in whatever words."""
    if _distance(one, other) > _SAME_FIGURE or one.kinds & _PLANNED != other.kinds & _PLANNED:
        return False
    # One date may hold the other: 2025 holds 2025-12-31.
    dates = [(first, second) for first in one.dates for second in other.dates]
    if dates and not any(first.startswith(second) or second.startswith(first) for first, second in dates):
        return False
    if min(_digits(one.figure.raw), _digits(other.figure.raw)) >= _TELLING_DIGITS:
        shared = (one.about & other.sentence_about) | (other.about & one.sentence_about)
        return len(shared) >= _TELLING_SHARED
    fewest = max(_MIN_SHARED, _SAME_SENTENCE * min(len(one.about), len(other.about)))
    return len(one.about & other.about) >= fewest


def _distance(one: FigureClaim, other: FigureClaim) -> float:
    """Return by which share the larger figure exceeds the smaller; infinite for figures that cannot be compared."""
    if one.piece.document == other.piece.document or one.figure.unit != other.figure.unit:
        return inf
    low, high = sorted((abs(one.figure.value), abs(other.figure.value)))
    return high / low - 1 if low else inf


def _digits(figure: str) -> int:
    return len("".join(re.findall(r"\d", figure)).strip("0"))


_MAX_SHOWN = 4


def find_disagreements(
    evidence: Sequence[Evidence], *, section: str, gathered: Sequence[Evidence] = ()
) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the best evidence first.

    One aspect stands in the report; the other may be anything that was gathered.
    """
    claims, known = ranked_claims(evidence), {piece.id for piece in evidence}
    others = [*claims, *ranked_claims([piece for piece in gathered if piece.id not in known])]
    shown: set[str] = set()
    tables = []
    alike: dict[object, list[tuple[int, FigureClaim]]] = defaultdict(list)
    for place, claim in enumerate(others):
        alike[claim.figure.unit, claim.kinds].append((place, claim))
    for at, one in enumerate(claims):
        near = alike[one.figure.unit, one.kinds]
        other = next((claim for place, claim in near if place > at and differ(one, claim)), None)
        if other is not None and not {one.sentence, other.sentence} & shown:
            pair = sorted((one, other), key=lambda claim: claim.figure.value)
            shown |= {one.sentence, other.sentence}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(statement, pair))))
    return tuple(tables[:_MAX_SHOWN])


def ranked_claims(evidence: Iterable[Evidence]) -> list[FigureClaim]:
    """Return the figures with a unit that prose states, the best evidence first.

    What rows of tables mean is not plain without their headers.
    """
    return [claim for piece in best_first(evidence) if not piece.header for claim in _claims(piece)]


def statement(claim: FigureClaim) -> Sentence:
    """Return a claim as a row of a table: its figure, and its source's own sentence."""
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=claim.figure.raw.strip())
