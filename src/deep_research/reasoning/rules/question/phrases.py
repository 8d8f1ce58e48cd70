"""The phrases of a question: what it asks about, cut free of the words it asks with, as the user spelled them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple

from deep_research.reasoning.rules.lexicon import load_table
from deep_research.text.analyzer import CJK, analyze, content_terms
from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.stop_words import ENGLISH

_CJK_RUN = re.compile(f"[{CJK}]+")
_BREAK = re.compile(r"[^\w\s'’&-]|\s[-–—]+\s")
_POSSESSIVE = re.compile(r"['’]s?$")
# A word with one capital, at its beginning: a name, unless it opens the sentence. "FSMA" and "AI-driven" are none.
_NAME = re.compile(r"[A-Z][a-z'’]+(?:[A-Z][a-z]+)*(?:-[A-Z][a-z]+)*(?:['’]s?)?$")
_MAX_CHINESE_CHARACTERS = 10


class Phrase(NamedTuple):
    """A stretch of a question and its terms; `is_name` if it only names somebody, some place or some company."""

    text: str
    terms: frozenset[str]
    is_name: bool = False


@cache
def _tables() -> dict[str, list[str]]:
    return {key: text.split() for key, text in load_table("asking_words").items()}


@cache
def question_words() -> frozenset[str]:
    """Return the English words that questions are asked with, with their regular endings."""
    words = [form for word in _tables()["en"] for form in (word, re.sub("y$", "i", word))]
    return ENGLISH.union(f"{word}{ending}" for word in words for ending in ("", "s", "es", "d", "ed"))


@cache
def _chinese_asking() -> re.Pattern[str]:
    longest = sorted(_tables()["zh"], key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(_tables()['zh_kept'])})|(?P<asking>{'|'.join(longest)})")


def chinese_pieces(text: str) -> list[tuple[int, int]]:
    """Return where what is asked about stands between the Chinese words it is asked with."""
    found = _chinese_asking().finditer(to_simplified(text))
    pieces = spans_between((match for match in found if match["asking"]), len(text))
    return [(start, end) for start, end in pieces if start < end]


def spans_between(breaks: Iterable[re.Match[str]], length: int) -> list[tuple[int, int]]:
    """Return what stands before, between and after breaks in a text of this length; it may be empty."""
    ends = [0, *(at for match in breaks for at in match.span()), length]
    return list(zip(ends[::2], ends[1::2], strict=True))


@cache
def question_word_terms() -> frozenset[str]:
    """Return the terms of the English words that questions are asked with."""
    return frozenset(analyze(" ".join(sorted(question_words()))))


def phrases(question: str) -> list[Phrase]:
    """Return the different phrases of a question in order, without dates and bare numbers."""
    for date in reversed(find_dates(question)):
        question = f"{question[: date.start]};{question[date.end :]}"
    found: dict[frozenset[str], Phrase] = {}
    for text, is_name in (*_english(question), *_chinese(question)):
        terms = frozenset(content_terms(text)) or frozenset(analyze(text))
        if terms and any(term[-1].isalpha() for term in terms):
            found.setdefault(terms, Phrase(text, terms, is_name))
    return sorted(found.values(), key=lambda phrase: question.find(phrase.text))


def _english(question: str) -> Iterator[tuple[str, bool]]:
    for part in _BREAK.split(_CJK_RUN.sub(";", question)):
        for is_asked, run in groupby(part.split(), key=is_asking):
            if not is_asked:
                yield from _without_names(run)


def is_asking(word: str) -> bool:
    """Return whether questions are asked with a word of English."""
    plain = _POSSESSIVE.sub("", word).lower()
    parts = plain.split("-")
    return plain in question_words() or (len(parts) > 1 and all(part in question_words() for part in parts))


def _without_names(run: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield a run of words as names and as what stands between them: "MediConn's patient data" is two phrases."""
    for is_name, group in groupby(run, key=lambda word: _NAME.match(word) is not None):
        yield _POSSESSIVE.sub("", " ".join(group)), is_name


def _chinese(question: str) -> Iterator[tuple[str, bool]]:
    for run in _CJK_RUN.finditer(question):
        for start, end in chinese_pieces(run[0]):
            if 2 <= end - start <= _MAX_CHINESE_CHARACTERS:
                yield run[0][start:end], False
