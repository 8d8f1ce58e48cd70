"""A few numbers by which documents that are nearly the same can be found without comparing all with all.

One-permutation min-hashing of word triples, in bands; the figures are part of every band, so that reports from one
template with other numbers never meet.
"""

import re
import zlib
from hashlib import blake2b

from deep_research.text.analyzer import fold_for_search

# Of documents that share .9 of their triples 99 % share a band, of those that share half 3 %.
_BANDS, _ROWS = 8, 8
_BINS = _BANDS * _ROWS
# Shorter texts are told apart by every word.
_MIN_TERMS, _MIN_TERM_CHARS = 40, 6
_PAGE_LINE = re.compile(r"(?m)^[ \t]*+(?:(?:page|第)[ \t]*+)?\d{1,4}[ \t]*+(?:(?:of|/)[ \t]*+\d{1,4}|页)?[ \t]*+$")
_FIGURE = re.compile(r"\d+(?:[.,:/-]\d+)*|[〇零一二两三四五六七八九十百千万亿]{2,}")


def without_page_lines(text: str) -> str:
    """Return a text folded for comparison and without lines that hold only the number of a page."""
    return _PAGE_LINE.sub("", fold_for_search(text).lower())


def bands_of(text: str, passages: list[str]) -> list[int]:
    """Return the bands of a text, given also as the terms of its passages; none for a short one."""
    least = [-1] * _BINS
    count = 0
    for passage in passages:
        terms = passage.split("  ")
        count += len(terms)
        for at, term in enumerate(terms):
            # A third of English terms are as long; those that begin with other terms say little more.
            if len(term) < _MIN_TERM_CHARS and term.isascii():
                continue
            value = zlib.crc32(" ".join(terms[at : at + 3]).encode("utf-8", "surrogatepass"))
            place, value = value % _BINS, value // _BINS
            if not 0 <= least[place] <= value:
                least[place] = value
    if count < _MIN_TERMS:
        return []
    figures = " ".join(sorted({*_FIGURE.findall(without_page_lines(text))}))
    return [_number(f"{at} {least[at : at + _ROWS]} {figures}") for at in range(0, _BINS, _ROWS)]


def _number(text: str) -> int:
    """Return a number as SQLite stores it, eight bytes with a sign."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
