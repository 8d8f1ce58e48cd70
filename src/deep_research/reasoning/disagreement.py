"""Where sources disagree: the same thing measured in the same unit for the same time, with figures that differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.selection import trimmed
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import DateMention, find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.quantities import Quantity, find_quantities
from deep_research.text.sentences import split_sentences

_MOST_SHOWN = 4
# Figures nearer than this agree; further apart than this they are of different things.
_ROUNDING, _FAR = 0.05, 5.0
# The words around two figures are the same but for so many, and there are enough of them.
_MOST_OTHER_WORDS, _FEWEST_SHARED = 1, 3
_SAME_SENTENCE = 0.5
_MOST_FIGURES = 4
# The ends of a range are no figure of their own.
_RANGE = re.compile(r"\bbetween\b|\bfrom\b|(?<=[\d%])\s?(?:[-–~]|to|至|到)\s?(?=[\d$€£¥])|介于|之间")
_CLAUSE = re.compile(r"[;；]|,\s(?!\d)|，|\b(?:while|whereas|but)\b")
# Whose count it is does not change what is counted.
_ATTRIBUTION = re.compile(
    r"^(?:according to|as counted by|in the (?:count|view) of)\b.*"
    r"|^(?:据|據|按照?|根据|根據).*(?:统计|統計|测算|測算|估算|说法|說法|数据|數據|核算)$",
    re.IGNORECASE,
)
# What a figure is a figure of is changed by these: more of it, the change of it, a limit of it, what it is to be.
_KIND = re.compile(
    r"\b(?:increas\w*|decreas\w*|fell|rose|grew|growth|reduc\w*|declin\w*|drop\w*|target\w*|goal\w*|budget\w*|expect\w*"
    r"|forecast\w*|project\w*|plan\w*|estimat\w*|average|median|minimum|maximum|least|most|first|total|overrun|exceed\w*"
    r"|another|further|additional|per|over|under|above|below|more|less|up|nearly|almost|before|after|without|by)\b"
    r"|[增减降升前后每另约近]|目标|预算|概算|预计|计划|平均|超[出过]|至少|至多|不[足到]|以[上下]|最[高低大小多少]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Claim:
    """A figure that a sentence states, and what it is a figure of."""

    piece: Evidence
    sentence: str
    figure: Quantity
    about: frozenset[str]
    sentence_about: frozenset[str]
    kinds: frozenset[str]
    dates: tuple[str, ...]
    figures: frozenset[float]


def find_disagreements(evidence: Sequence[Evidence], *, section: str) -> tuple[Paragraph, ...]:
    """Return a table for each matter on which documents give different figures, the best evidence first."""
    ranked = sorted((piece for piece in evidence if not piece.header), key=lambda piece: (-piece.score, piece.id))
    claims = [claim for piece in ranked for claim in _claims(piece)]
    told: set[str] = set()
    tables = []
    for at, one in enumerate(claims):
        other = next((claim for claim in claims[at + 1 :] if _disagree(one, claim)), None)
        if other is not None and not {one.sentence, other.sentence} & told:
            pair = sorted((one, other), key=lambda claim: claim.figure.value)
            told |= {one.sentence, other.sentence}
            tables.append(Paragraph(section=section, kind="table", sentences=tuple(map(_statement, pair))))
    return tuple(tables[:_MOST_SHOWN])


def _claims(piece: Evidence) -> Iterator[Claim]:
    for start, end in split_sentences(piece.quote):
        sentence = piece.quote[start:end]
        figures, dates = find_quantities(sentence), find_dates(sentence)
        # A sentence full of figures is a list: which word belongs to which is not plain.
        is_plain = len(figures) <= _MOST_FIGURES and not _RANGE.search(sentence)
        for figure in figures if is_plain else ():
            if figure.unit:
                yield _claim(piece, sentence, figure, dates)


def _claim(piece: Evidence, sentence: str, figure: Quantity, dates: Sequence[DateMention]) -> Claim:
    clauses = [
        clause for clause in _clauses(sentence) if not _ATTRIBUTION.match(sentence[clause[0] : clause[1]].strip(" ,，"))
    ]
    own = [clause for clause in clauses if clause[0] <= figure.start < clause[1]] or [(0, len(sentence))]
    first, last = own[0]
    if len(content_terms(sentence[first:last])) <= _FEWEST_SHARED + 1:
        first, last = (clauses or own)[0][0], max(end for _, end in clauses or own)
    about = "".join(" " if _inside(at, figure, dates) else letter for at, letter in enumerate(sentence[:last]))[first:]
    near = sorted({date.iso for date in dates if first <= date.start < last} or {date.iso for date in dates})
    return Claim(
        piece=piece,
        sentence=sentence,
        figure=figure,
        about=frozenset(content_terms(about)),
        sentence_about=frozenset(term for at, end in clauses or own for term in content_terms(sentence[at:end])),
        kinds=frozenset(word.lower()[:5] for word in _KIND.findall(to_simplified(about))),
        dates=tuple(near),
        figures=frozenset(round(other.value, 6) for other in find_quantities(sentence)),
    )


def _clauses(sentence: str) -> list[tuple[int, int]]:
    breaks = [match.span() for match in _CLAUSE.finditer(sentence)]
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(sentence)]
    return list(zip(starts, ends, strict=True))


def _inside(at: int, figure: Quantity, dates: Sequence[DateMention]) -> bool:
    return figure.start <= at < figure.end or any(date.start <= at < date.end for date in dates)


def _disagree(one: Claim, other: Claim) -> bool:
    """Say whether two claims are about the same, at the same time, and their figures differ."""
    if one.piece.document == other.piece.document or one.figure.unit != other.figure.unit:
        return False
    low, high = sorted((abs(one.figure.value), abs(other.figure.value)))
    if not low or not _ROUNDING < high / low - 1 < _FAR:
        return False
    # A sentence that tells the other's figure as well says what the difference is.
    if round(one.figure.value, 6) in other.figures or round(other.figure.value, 6) in one.figures:
        return False
    is_same_time = not one.dates or not other.dates or one.dates == other.dates
    if not is_same_time or one.kinds != other.kinds or len(one.about & other.about) < _FEWEST_SHARED:
        return False
    shared, both = one.sentence_about & other.sentence_about, one.sentence_about | other.sentence_about
    return len(one.about ^ other.about) <= _MOST_OTHER_WORDS and len(shared) >= _SAME_SENTENCE * len(both)


def _statement(claim: Claim) -> Sentence:
    return Sentence(text=trimmed(claim.sentence), evidence=(claim.piece.id,), lead=claim.figure.raw.strip())
