"""Where sources disagree: the same thing measured in the same unit for the same time, with figures that differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.selection import trimmed
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import DateMention, find_dates
from deep_research.text.quantities import Quantity, find_quantities
from deep_research.text.sentences import split_sentences

_MOST_SHOWN, _MOST_STATEMENTS = 4, 2
# Figures nearer than this agree; further apart than this they are of different things.
_ROUNDING, _FAR = 0.05, 5.0
# How much of the words around two figures must be the same, and of how many words.
_SAME_SHARE, _FEWEST_SHARED = 0.5, 3
_MOST_FIGURES = 4
_CLAUSE = re.compile(r"[;；]|,\s(?!\d)|，|\b(?:while|whereas|but)\b")
_NAME = re.compile(r"(?<![.!?。]\s)(?<!^)\b[A-Z][\w&-]*[A-Za-z]\b")
# What a figure is a figure of is changed by these: half of it, more of it, the change of it.
_KIND = re.compile(
    r"\b(?:increas\w*|decreas\w*|fell|rose|grew|growth|reduc\w*|declin\w*|drop\w*|target\w*|goal\w*|budget\w*|expect\w*"
    r"|forecast\w*|project\w*|plan\w*|estimat\w*|average|median|minimum|maximum|least|most|first|total|overrun|exceed\w*|another|further"
    r"|additional|per)\b|增|减|降|升|目标|预算|概算|预计|计划|平均|每|超出|另|最[高低大小]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Claim:
    """A figure that a sentence states, and what it is a figure of."""

    piece: Evidence
    sentence: str
    figure: Quantity
    about: frozenset[str]
    names: frozenset[str]
    kinds: frozenset[str]
    dates: tuple[str, ...]


def find_disagreements(evidence: Sequence[Evidence], *, section: str) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the plainest first."""
    claims = [claim for piece in evidence if not piece.header for claim in _claims(piece)]
    pairs = [
        (-alike, one, other)
        for at, one in enumerate(claims)
        for other in claims[at + 1 :]
        if (alike := _disagree(one, other))
    ]
    told: set[str] = set()
    tables = []
    for _, one, other in sorted(pairs, key=lambda pair: (pair[0], pair[1].piece.id, pair[2].piece.id)):
        if not {one.sentence, other.sentence} & told:
            group = _group(one, other, claims)
            told |= {claim.sentence for claim in group}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(_statement, group))))
    return tuple(tables[:_MOST_SHOWN])


def _claims(piece: Evidence) -> Iterator[Claim]:
    for start, end in split_sentences(piece.quote):
        sentence = piece.quote[start:end]
        figures, dates = find_quantities(sentence), find_dates(sentence)
        # A sentence full of figures is a list: which word belongs to which is not plain.
        for figure in figures if len(figures) <= _MOST_FIGURES else ():
            if figure.unit:
                yield _claim(piece, sentence, figure, dates)


def _claim(piece: Evidence, sentence: str, figure: Quantity, dates: Sequence[DateMention]) -> Claim:
    first, last = _clause(sentence, figure)
    clause = f"{sentence[first : figure.start]} {sentence[figure.end : last]}"
    for date in find_dates(clause)[::-1]:
        clause = f"{clause[: date.start]} {clause[date.end :]}"
    near = [date.iso for date in dates if first <= date.start < last] or [date.iso for date in dates]
    return Claim(
        piece=piece,
        sentence=sentence,
        figure=figure,
        about=frozenset(term for term in content_terms(clause) if not term[0].isdigit()),
        names=frozenset(_NAME.findall(sentence)),
        kinds=frozenset(word.lower()[:5] for word in _KIND.findall(clause)),
        dates=tuple(near),
    )


def _clause(sentence: str, figure: Quantity) -> tuple[int, int]:
    """Return the clause that a figure stands in, or the whole sentence where that says too little by itself."""
    breaks = [match.end() for match in _CLAUSE.finditer(sentence)]
    first = max((at for at in breaks if at <= figure.start), default=0)
    last = min((at for at in breaks if at > figure.end), default=len(sentence))
    is_enough = len(content_terms(sentence[first:last])) > _FEWEST_SHARED + 1
    return (first, last) if is_enough else (0, len(sentence))


def _disagree(one: Claim, other: Claim) -> float:
    """Return how much two claims are about the same, if they are and their figures differ; else 0."""
    if one.piece.document == other.piece.document or one.figure.unit != other.figure.unit or one.kinds != other.kinds:
        return 0.0
    low, high = sorted((abs(one.figure.value), abs(other.figure.value)))
    if not low or not _ROUNDING < high / low - 1 < _FAR:
        return 0.0
    if not _same_time(one.dates, other.dates) or not _same_names(one.names, other.names):
        return 0.0
    shared, both = one.about & other.about, one.about | other.about
    alike = len(shared) / max(len(both), 1)
    return alike if alike >= _SAME_SHARE and len(shared) >= _FEWEST_SHARED else 0.0


def _same_time(one: Sequence[str], other: Sequence[str]) -> bool:
    if not one or not other:
        return True
    return any(first.startswith(second) or second.startswith(first) for first in one for second in other)


def _same_names(one: frozenset[str], other: frozenset[str]) -> bool:
    return not one or not other or bool(one & other)


def _group(one: Claim, other: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """Return the two claims and those that disagree with both of them, each figure once, in order of size."""
    group = [one, other]
    for claim in claims:
        if len(group) < _MOST_STATEMENTS and all(_disagree(claim, known) for known in group):
            group.append(claim)
    return sorted(group, key=lambda claim: claim.figure.value)


def _statement(claim: Claim) -> Sentence:
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=claim.figure.raw.strip())
