"""What a sentence may not lose or change: its figures, dates, negations and hedges. Reads words, judges no meaning."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from deep_research.text.analyzer import CJK
from deep_research.text.dates import DateMention, find_dates
from deep_research.text.folding import fold_typography, to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import Quantity, find_quantities

# White space beside a Chinese character says nothing, and would hide that "48.6 亿元" is one figure.
_EXTRA_SPACE = re.compile(rf"(?<=[{CJK}])\s+|(?<!\s)\s++(?=[{CJK}])")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|nobody|nowhere|hardly|scarcely|barely|rarely|seldom"
    r"|fail\w*|lack\w*|refus\w+|den(?:y|ies|ied))\b|n't\b|[不未没无非否勿毋莫]",
    re.IGNORECASE,
)
NEGATION_WORD = "not"
# Words that hold a sign of negation and deny nothing.
_NO_NEGATION = re.compile(
    r"\bnot only\b|\bno\.(?=:? ?\d)|不仅|不断|不同|不过|不少|不久|不止|不管|不但|非常|未来|无论|无锡|是否|否则|除非"
    r"|莫过于|非洲|不锈钢",
    re.IGNORECASE,
)
_NEGATION_OR_NOT = re.compile(rf"{_NO_NEGATION.pattern}|(?P<negation>{_NEGATION.pattern})", re.IGNORECASE)
HEDGE = re.compile(
    r"\b(?:may|might|could|can|would|should|likely|unlikely|possibl[ey]|probabl[ey]|perhaps|potential(?:ly)?|about"
    r"|approximately|around|nearly|almost|roughly|some|most|mostly|partly|estimate[sd]?|expect(?:s|ed)?|plan(?:s|ned)?"
    r"|propose[sd]?|project(?:s|ed)|forecasts?|reported(?:ly)?|alleged(?:ly)?|claim(?:s|ed)?|suggest(?:s|ed)?"
    r"|appear(?:s|ed)?|seem(?:s|ed)?|believe[sd]?|assume[sd]?|according to|up to|at least|at most|only|if|unless"
    r"|usually|often|sometimes|generally|typically)\b"
    r"|可能|或许|也许|大约|约|大概|左右|上下|预计|估计|据|有望|似乎|疑似|拟|计划|将|近|超过|至少|最多|以上|以下|部分"
    r"|多数|少数|通常|一般|如果|若|除非|认为|声称|称|表示|假设|仅|只",
    re.IGNORECASE,
)


class Particulars(NamedTuple):
    """The figures with units, dates, negations and hedges of a text, each in order."""

    figures: tuple[tuple[float, str], ...]
    dates: tuple[str, ...]
    negations: tuple[str, ...]
    hedges: tuple[str, ...]


# The same sentences and passages are compared many times over.
@lru_cache(maxsize=1_024)
def particulars(text: str) -> Particulars:
    """Return what a faithful shortening of the text must keep."""
    plain = plain_letters(text)
    return Particulars(
        figures=tuple((figure.value, figure.unit) for figure in figures_of(text)),
        dates=tuple(days_in([text])),
        negations=tuple(_NEGATION.findall(plain)),
        hedges=tuple(HEDGE.findall(plain)),
    )


def figures_of(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, read across stray white space; their offsets are not the text's."""
    return find_quantities(without_extra_space(text))


@lru_cache(maxsize=1_024)
def split_figures(text: str) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    """Return the quantities of a text in digits and those in words; of two that overlap, the longer one counts."""
    plain = without_extra_space(text)
    figures, worded = find_quantities(plain), find_worded(plain)
    lengths = {offset: own.end - own.start for own in worded for offset in range(own.start, own.end)}
    in_digits = [
        figure
        for figure in figures
        if all(lengths.get(offset, 0) <= figure.end - figure.start for offset in range(figure.start, figure.end))
    ]
    taken = {offset for figure in in_digits for offset in range(figure.start, figure.end)}
    in_words = [own for own in worded if taken.isdisjoint(range(own.start, own.end))]
    return tuple(in_digits), tuple(in_words)


def dates_of(text: str) -> tuple[DateMention, ...]:
    """Return the dates of a text, read across stray white space; their offsets are not the text's."""
    return find_dates(without_extra_space(text))


def days_in(texts: Iterable[str]) -> list[str]:
    """Return the dates of texts as ISO 8601 writes them."""
    return [date.iso for text in texts for date in dates_of(text)]


def without_extra_space(text: str) -> str:
    """Return the text without the white space beside Chinese characters."""
    return _EXTRA_SPACE.sub("", text)


def count_negations(text: str) -> int:
    """Return how many negations a text has."""
    return len(_NEGATION.findall(_NO_NEGATION.sub(" ", plain_letters(text))))


def spell_negations(text: str) -> str:
    """Return the text in plain letters with one word for every negation."""

    def spell(match: re.Match[str]) -> str:
        return f" {NEGATION_WORD} " if match.lastgroup == "negation" else match[0]

    return _NEGATION_OR_NOT.sub(spell, plain_letters(text))


def plain_letters(text: str) -> str:
    """Return the text in lower case, plain typography and simplified characters."""
    return to_simplified(fold_typography(text).text).lower()
