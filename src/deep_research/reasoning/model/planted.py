"""Statements that are false by our own making, from the passages themselves: whoever calls one supported cannot judge.

The same passages give the same statements, so that a run can be replayed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deep_research.report.evidence.passage import Evidence
from deep_research.text.dates import find_dates, find_months
from deep_research.text.sentences import split_sentences
from deep_research.value import digest
from deep_research.verify.particulars import figures_of

_DIGITS = re.compile(r"\d+")
# Two words that no article stands before: "Andrew Park". One in capitals may begin anything.
_NAME = re.compile(r"(?<=[a-z,;] )(?<![Tt]he )(?<!\b[Aa] )(?<!\b[Aa]n )[A-Z][a-z]+(?: [A-Z][a-z]+)+(?![\w-])")
# What turns a statement round, widens its scope, or drops its hedge.
_TURNS = tuple(
    (kind, re.compile(rf"\b(?:{told})\b" if told.isascii() else told), other)
    for kind, told, other in (
        ("scope", "may|might|could", "will"),
        ("scope", r"some(?! \d)|several|many|(?<!at )most", "all"),
        ("scope", "a pilot(?: project)?|the pilot(?: project)?", "the company-wide roll-out"),
        ("scope", "plans to|aims to|intends to|proposes to", "has already begun to"),
        ("scope", "plan to|aim to|intend to|propose to", "have already begun to"),
        ("scope", "可能|或许|有望", "必然"),
        ("scope", "部分|多数|一些", "全部"),
        ("scope", "计划|計劃|拟|擬", "已经"),
        ("direction", "increased|rose|grew|improved", "fell"),
        ("direction", "decreased|fell|dropped|declined", "rose"),
        ("direction", "higher than", "lower than"),
        ("direction", "lower than", "higher than"),
        ("direction", "增长|增長|上升|提高", "下降"),
        ("direction", "下降|减少|減少|降低", "上升"),
        ("direction", "高于|高於", "低于"),
    )
)
# A message begins with when it was sent.
_STAMP = re.compile(r"[\[(]?\d{1,4}[-/.]\d")
_MIN_CHARS, _MAX_CHARS = 20, 300
# A heading is no sentence.
_STOPS = (".", "。", "!", "?", "！", "？")


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
    """Yield statements of a passage with another scope, direction, subject, period or figure, each with its kind."""
    for start, end in split_sentences(quote):
        sentence = " ".join(quote[start:end].split())
        is_whole = sentence.endswith(_STOPS) and _MIN_CHARS <= len(sentence) <= _MAX_CHARS
        if not is_whole or "|" in sentence or _STAMP.match(sentence):
            continue
        for kind, pattern, other in _TURNS:
            if pattern.search(sentence):
                yield kind, pattern.sub(other, sentence, count=1)
                break
        own = _NAME.search(sentence)
        others = [name for name in dict.fromkeys(_NAME.findall(whole)) if not {*name.split()} & {*sentence.split()}]
        if own and others:
            yield "subject", sentence.replace(own[0], others[len(sentence) % len(others)], 1)
        for mention in find_dates(sentence)[:1]:
            year = mention.iso[:4]
            if year.isdigit() and year in mention.raw:
                yield "period", sentence.replace(mention.raw, mention.raw.replace(year, str(int(year) + 2)), 1)
        days = " ".join(mention.raw for mention in (*find_dates(sentence), *find_months(sentence)))
        for figure in figures_of(sentence):
            digits = _DIGITS.search(figure.raw)
            if digits and digits[0] not in days and figure.raw in sentence:
                # Another first digit, and so another size.
                other = str((int(digits[0][0]) + 2) % 9 + 1) + digits[0][1:]
                changed = figure.raw.replace(digits[0], other, 1)
                if changed.strip() not in whole:
                    yield "figure", sentence.replace(figure.raw, changed, 1)
                    break
