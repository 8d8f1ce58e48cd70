"""Statements that are false by our own making, from the passages themselves: whoever calls one supported cannot judge.

The same passages give the same statements, so that a run can be replayed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deep_research.report.evidence.passage import Evidence
from deep_research.text.dates import find_dates
from deep_research.text.sentences import split_sentences
from deep_research.value import digest
from deep_research.verify.particulars import figures_of

_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w&'’-]+(?: [A-Z][\w&'’-]+)*")
# What widens the scope of a statement, or drops its hedge.
_SCOPES = tuple(
    (re.compile(rf"(?i)\b(?:{narrow})\b" if narrow.isascii() else narrow), wide)
    for narrow, wide in (
        ("may|might|could|should", "will"),
        ("some|several|many|most", "all"),
        ("pilot", "company-wide"),
        ("plans? to|planned to|aims? to|intends? to|proposes? to", "has begun to"),
        ("可能|或许|有望", "必然"),
        ("部分|多数|一些", "全部"),
        ("计划|擬|拟|計劃", "已经"),
    )
)
_MIN_CHARS, _MAX_CHARS = 12, 300


class PlantedStatement(NamedTuple):
    """A false statement and the passage that it seems to come from."""

    text: str
    evidence: str


def planted_statements(passages: Sequence[Evidence], most: int) -> list[PlantedStatement]:
    """Return at most so many false statements, each from another passage and of another kind where there are enough."""
    ranked = sorted((piece for piece in passages if not piece.header), key=lambda piece: digest(piece.quote))
    whole = " ".join(piece.quote for piece in passages)
    found: list[PlantedStatement] = []
    used: set[str] = set()
    for piece in ranked:
        if len(found) == most:
            break
        options = dict(_false_versions(piece.quote, whole))
        kind = next((each for each in options if each not in used), next(iter(options), ""))
        if kind:
            # All kinds have their turn before one comes again.
            used = {kind} if kind in used else {*used, kind}
            found.append(PlantedStatement(options[kind], piece.id))
    return found


def _false_versions(quote: str, whole: str) -> Iterator[tuple[str, str]]:
    """Yield statements of a passage with another scope, subject, period or figure, each with its kind."""
    for start, end in split_sentences(quote):
        sentence = " ".join(quote[start:end].split())
        if not _MIN_CHARS <= len(sentence) <= _MAX_CHARS:
            continue
        for pattern, wide in _SCOPES:
            if pattern.search(sentence):
                yield "scope", pattern.sub(wide, sentence, count=1)
                break
        names = list(dict.fromkeys(_NAME.findall(whole)))
        own = _NAME.search(sentence)
        others = [name for name in names if own and not {*name.split()} & {*sentence.split()}]
        if own and others:
            yield "subject", sentence.replace(own[0], others[len(sentence) % len(others)], 1)
        for mention in find_dates(sentence)[:1]:
            year = mention.iso[:4]
            if year.isdigit() and year in mention.raw:
                yield "period", sentence.replace(mention.raw, mention.raw.replace(year, str(int(year) + 2)), 1)
        days = " ".join(mention.raw for mention in find_dates(sentence))
        for figure in figures_of(sentence):
            digits = _DIGITS.search(figure.raw)
            if digits and digits[0] not in days and figure.raw in sentence:
                # Another first digit, and so another size.
                other = str((int(digits[0][0]) + 2) % 9 + 1) + digits[0][1:]
                changed = figure.raw.replace(digits[0], other, 1)
                if changed.strip() not in whole:
                    yield "figure", sentence.replace(figure.raw, changed, 1)
                    break
