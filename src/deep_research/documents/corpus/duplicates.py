"""Near-duplicates: do two texts say the same but for spelling and a few words, and which pairs are worth comparing.

Two texts are duplicates only if no figure and no negation differs and no word stands in the place of another: two
reports from one template, or a claim and its opposite, are different documents however much they share.

Pairs are found by bands, without comparing all with all: one-permutation min-hashing of word triples. The figures are
part of every band, so that reports from one template with other numbers never meet.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b

from deep_research.text.analyzer import CJK, fold_for_search

_Line = tuple[str, ...]

MIN_SHARED = 0.9
# Blocks with more words are not compared word by word; texts that differ in so many are no duplicates.
_MAX_BLOCK_WORDS = 400
_MATCHED_LINES = 200
_MIN_SPELLING_RATIO = 0.8
# Letters are compared one with all others: what is longer than some words is no respelling.
_MAX_RESPELLED_CHARS = 200
_WORD = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{CJK}]|[^\W\d_{CJK}]+(?:['’-][^\W\d_{CJK}]+)*")
# A single line break that no blank line, table row or list item follows.
_WRAP = re.compile(r"(?<![ \t])[ \t]*+\n(?![ \t]*[\n|#-])")
_LINE_END = re.compile(r"[.!?](?=\s)|[。！？；\n]")
_CJK_WORD = re.compile(f"[{CJK}]")
_FIXED = re.compile(
    r"\d|[〇零一二两三四五六七八九十百千万亿不没無无未非否勿莫]|(?:no|not|none|never|nor|neither|without|cannot|hardly|half|twice)$|.*n't$"
)
_INTERCHANGEABLE = frozenset("的地得")
# Of documents that share .9 of their triples 99 % share a band, of those that share half 3 %.
_BANDS, _ROWS = 8, 8
_BINS = _BANDS * _ROWS
# Shorter texts are distinguished by every word.
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
            bin_number, value = value % _BINS, value // _BINS
            if not 0 <= least[bin_number] <= value:
                least[bin_number] = value
    if count < _MIN_TERMS:
        return []
    figures = " ".join(sorted({*_FIGURE.findall(without_page_lines(text))}))
    bands = (f"{at} {least[at : at + _ROWS]} {figures}" for at in range(0, _BINS, _ROWS))
    # Numbers as SQLite stores them: eight bytes with a sign.
    digests = (blake2b(band.encode("utf-8", "surrogatepass"), digest_size=8).digest() for band in bands)
    return [int.from_bytes(digest, signed=True) for digest in digests]


def same_but_for_spelling(one: str, other: str) -> bool:
    """Return whether two texts differ in nothing but spelling and a few words more or less."""
    lines, other_lines = _lines(one), _lines(other)
    words = sum(map(len, lines)) + sum(map(len, other_lines))
    changed = 0
    for ours, theirs in _line_differences(lines, other_lines):
        left = [word for line in ours for word in line]
        right = [word for line in theirs for word in line]
        if len(left) + len(right) > 2 * _MAX_BLOCK_WORDS:
            return False
        for tag, start, end, other_start, other_end in SequenceMatcher(None, left, right).get_opcodes():
            gone, come = left[start:end], right[other_start:other_end]
            if tag != "equal":
                if not _is_harmless(gone, come):
                    return False
                changed += len(gone) + len(come)
        if changed > (1 - MIN_SHARED) * words:
            return False
    return True


def _lines(text: str) -> list[_Line]:
    """Return the words of each sentence or line; how a file wraps its lines must not count."""
    unwrapped = _WRAP.sub(" ", without_page_lines(text))
    return [tuple(words) for line in _LINE_END.split(unwrapped) if (words := _WORD.findall(line))]


def _line_differences(
    one: Sequence[_Line], other: Sequence[_Line]
) -> Iterator[tuple[Sequence[_Line], Sequence[_Line]]]:
    """Yield where two texts differ, matched a stretch at a time: all at once would take quadratic time."""
    at = other_at = 0
    while at < len(one) or other_at < len(other):
        left, right = one[at : at + _MATCHED_LINES], other[other_at : other_at + _MATCHED_LINES]
        *blocks, end = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        is_last = at + len(left) == len(one) and other_at + len(right) == len(other)
        # What stands near the end of a stretch may belong to what follows it, and is matched again with that.
        certain = [block for block in blocks if max(block.a, block.b) <= _MATCHED_LINES // 2] or blocks[:1]
        done = other_done = 0
        for block in (*blocks, end) if is_last else certain or (end,):
            if block.a > done or block.b > other_done:
                yield left[done : block.a], right[other_done : block.b]
            done, other_done = block.a + block.size, block.b + block.size
        at, other_at = at + done, other_at + other_done


def _is_harmless(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Return whether one run of words may stand for another: nothing fixed differs, and words are only respelled."""
    if any(_FIXED.match(word) for word in (*gone, *come)):
        return False
    if not gone or not come or {*gone, *come} <= _INTERCHANGEABLE:
        return True
    left, right = "".join(gone), "".join(come)
    is_long = max(len(left), len(right)) > _MAX_RESPELLED_CHARS
    if is_long or _CJK_WORD.search(left + right) or left[0] != right[0]:
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= _MIN_SPELLING_RATIO
