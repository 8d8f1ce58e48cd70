"""Text → passages: about eight sentences or a natural paragraph, neighbours share a sentence, none crosses a heading.

A passage is at most some 200 words or 400 Chinese characters; a longer sentence is cut, where it can be at a space.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from deep_research.text.analyzer import CJK
from deep_research.text.sentences import TextSpan, split_sentences

# Two-sentence passages ranked .03 (nDCG) worse than those of eight sentences.
_FULL_SENTENCES, _MAX_SENTENCES = 6, 8
# A Chinese character weighs half a word.
_FULL_WORDS, _MAX_WORDS, _MAX_SHARED_WORDS = 120, 200, 60
_MAX_PIECE_CHARS = 1_200
# Digits, hashes and the like come without spaces; no prose has words longer than this on average.
_MAX_WORD_CHARS = 8
_WORD = re.compile(rf"[^\W{CJK}]+")
_CJK_CHARACTER = re.compile(f"[{CJK}]")
_HEADING_MARK = re.compile(r"(?:\A|\n)[ \t]{0,3}#{1,6}[ \t]+\Z")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SPACES = re.compile(r"\s*")
_LAST_SPACE = re.compile(r"\s(?=\S*\Z)")


class _PassageUnit(NamedTuple):
    """A sentence, a heading or a table row, and what stands before it."""

    start: int
    end: int
    words: float
    is_heading: bool
    is_row: bool
    after_blank: bool


def cut_passages(text: str) -> list[TextSpan]:
    """Return the passages of a text in order; together they hold every sentence."""
    passages: list[TextSpan] = []
    units: list[_PassageUnit] = []
    for unit in _units(text):
        if units and _ends_before(units, unit):
            passages.append(TextSpan(units[0].start, units[-1].end))
            units = _shared(units, unit)
        units.append(unit)
    if units:
        passages.append(TextSpan(units[0].start, units[-1].end))
    return passages


def _ends_before(units: list[_PassageUnit], unit: _PassageUnit) -> bool:
    words = sum(part.words for part in units)
    if unit.is_heading:
        # Headings in a row belong to what follows them all, as long as there is room.
        return not units[-1].is_heading or words + unit.words > _MAX_WORDS
    if units[-1].is_heading:
        return False
    sentences = sum(not (part.is_heading or part.is_row) for part in units)
    if words + unit.words > _MAX_WORDS or sentences + (not unit.is_row) > _MAX_SENTENCES:
        return True
    return unit.after_blank and (sentences >= _FULL_SENTENCES or words >= _FULL_WORDS)


def _shared(units: list[_PassageUnit], unit: _PassageUnit) -> list[_PassageUnit]:
    """Return what the next passage repeats: the last sentence, unless a heading begins or it would fill the passage.

    A table row is not repeated: it does not lead on to the next, and would be found twice.
    """
    last = units[-1]
    repeats = (
        not (unit.is_heading or last.is_row)
        and len(units) > 1
        and last.words <= min(_MAX_SHARED_WORDS, _MAX_WORDS - unit.words)
    )
    return [last] if repeats else []


def _units(text: str) -> Iterator[_PassageUnit]:
    before = 0
    for sentence in split_sentences(text):
        gap = text[before : sentence.start]
        is_heading = bool(_HEADING_MARK.search(gap))
        is_row = text[sentence.start] == "|"
        after_blank = bool(_BLANK_LINE.search(gap))
        for start, end in _pieces(text, sentence):
            yield _PassageUnit(start, end, _words(text[start:end]), is_heading, is_row, after_blank)
            after_blank = False
        before = sentence.end


def _pieces(text: str, sentence: TextSpan) -> Iterator[TextSpan]:
    """Yield a sentence in parts no longer than a passage."""
    start, end = sentence
    while end - start > _MAX_PIECE_CHARS or _words(text[start:end]) > _MAX_WORDS:
        piece = text[start : start + _MAX_PIECE_CHARS]
        while _words(piece) > _MAX_WORDS:
            piece = piece[: int(len(piece) * max(0.5, 0.95 * _MAX_WORDS / _words(piece)))]
        space = _LAST_SPACE.search(piece, len(piece) // 2)
        cut = start + (space.start() if space else len(piece))
        yield TextSpan(start, cut)
        following = _SPACES.match(text, cut, end)
        start = following.end() if following else cut
    if start < end:
        yield TextSpan(start, end)


def _words(text: str) -> float:
    if text.isascii():
        words: float = len(text.split())
    else:
        words = len(_WORD.findall(text)) + len(_CJK_CHARACTER.findall(text)) / 2
    return max(words, len(text) / _MAX_WORD_CHARS)
