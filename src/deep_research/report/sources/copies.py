"""Which documents are copies of one text: taken over, cut short, under another headline. Each text is one origin.

Reports from one template with other figures are not: where figures stand in the same place, nearly all must agree.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import combinations, islice
from zlib import crc32

from deep_research.report.sources.dating import days_of
from deep_research.report.sources.source_quality import source_quality_of
from deep_research.text.analyzer import CJK, fold_for_search
from deep_research.value import Value

# Texts are compared by stretches of letters, without spaces and punctuation, as long as six English words or twelve
# Chinese characters. Copies differ in whole passages (headline, byline, a cut end), texts from one template in a word
# of every sentence: long stretches survive the former and break at the latter. The letter alone says where one begins,
# one in eight of most scripts and one in six of those with short words, so that two texts are cut alike.
_NO_LETTER = re.compile(r"[\W_]+")
_STARTING = (*range(ord("b"), 0x2E80, 8), *range(0x2E80, 0x10000, 6))
_STARTS = "".join(letter for letter in map(chr, _STARTING) if letter.isalpha())
_STRETCH = re.compile(rf"[{_STARTS}](?=([^{CJK}]{{29}}|.{{11}}))")
# Of a long text so many stretches are kept, those with the lowest numbers, and as few suffice for an estimate.
_MAX_STRETCHES, _MIN_STRETCHES = 256, 12
# The share of the shorter text's stretches that the longer one holds. Measured on 173 English articles and 400 Chinese
# passages: at most .43 between different ones (entries of an encyclopedia on two things of one kind); .95 and more
# where one was taken over, .65 to .77 in the middle where two fifths were kept and a site added words of its own.
_SAME = 0.5
# A text says more of its own than it shares with one so much shorter, such as a notice that it quotes in full.
_MIN_LENGTH = 0.25
# One figure in so many may have been corrected in a copy; in two reports from one template most differ.
_OTHER_FIGURES = 0.2

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*|[〇零一二两三四五六七八九十百千万亿]{2,}")
_NUMERAL = re.compile(r"[\W\d_〇零一二两三四五六七八九十百千万亿]+")
# Letters before a figure that tell which figure it is.
_CONTEXT_CHARS, _CONTEXT_LOOKBACK = 12, 30
# More figures than these tell no more.
_MAX_CONTEXTS = 30


class ComparedText(Value):
    """A document's text, and what helps to tell which of several copies came first."""

    text: str
    published: str = ""
    address: str = ""


@dataclass(frozen=True)
class _Sketch:
    """What is compared of a text: its stretches as numbers in order, as far as the highest, and its figures."""

    text: str
    length: int
    stretches: tuple[int, ...]
    highest: int

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Return the stretches without their order."""
        return frozenset(self.stretches)

    @cached_property
    def figures(self) -> dict[str, frozenset[str]]:
        """Return the figures by what stands before them; few texts are near enough to others that one must know."""
        found = defaultdict(set)
        for match in _FIGURE.finditer(self.text):
            before = self.text[max(0, match.start() - _CONTEXT_LOOKBACK) : match.start()]
            found[_NUMERAL.sub("", before)[-_CONTEXT_CHARS:]].add(match.group().replace(",", ""))
        return {context: frozenset(figures) for context, figures in found.items()}


def group_copies(texts: Mapping[str, ComparedText]) -> dict[str, str]:
    """Return for each document the one that stands for its origin, which may be itself.

    That is the earliest of the copies, else one at a primary source, else the longest.
    """
    names = sorted(texts, key=lambda name: _preference(name, texts[name]))
    sketches = [_sketch(texts[name].text) for name in names]
    leaders = list(range(len(names)))
    for one, other in combinations(range(len(names)), 2):
        if leaders[one] != leaders[other] and _is_copy(sketches[one], sketches[other]):
            first, second = sorted((leaders[one], leaders[other]))
            leaders = [first if leader == second else leader for leader in leaders]
    return {name: names[leader] for name, leader in zip(names, leaders, strict=True)}


def _preference(name: str, each: ComparedText) -> tuple[date, bool, int, str, str]:
    days = days_of(each.published)
    return (
        days[1] if days else date.max,
        source_quality_of(each.address) != "primary",
        -len(each.text),
        each.address,
        name,
    )


@lru_cache(maxsize=128)
def _sketch(text: str) -> _Sketch:
    folded = fold_for_search(text).lower()
    letters = _NO_LETTER.sub("", folded)
    numbers = {crc32(stretch.encode("utf-8", "surrogatepass")) for stretch in _STRETCH.findall(letters)}
    smallest = sorted(numbers)[:_MAX_STRETCHES]
    highest = smallest[-1] if len(smallest) < len(numbers) else 1 << 32
    return _Sketch(folded, len(letters), tuple(smallest), highest)


def _is_copy(one: _Sketch, other: _Sketch) -> bool:
    """Return whether the shorter of two texts is mostly part of the longer, with the same figures."""
    less, more = (one, other) if one.length <= other.length else (other, one)
    shared = len(less.numbers & more.numbers)
    if shared < _SAME * _MIN_STRETCHES or less.length < _MIN_LENGTH * more.length:
        return False
    # Whether the longer text holds a stretch above the highest that was kept of it, nobody knows.
    compared = bisect(less.stretches, more.highest)
    return compared >= _MIN_STRETCHES and shared >= _SAME * compared and _figures_agree(less, more)


def _figures_agree(one: _Sketch, other: _Sketch) -> bool:
    contexts = list(islice((context for context in one.figures if context in other.figures), _MAX_CONTEXTS))
    differing = (context for context in contexts if not _agree(one.figures[context], other.figures[context]))
    most = int(_OTHER_FIGURES * len(contexts))
    return sum(1 for _ in islice(differing, most + 1)) <= most


def _agree(some: frozenset[str], others: frozenset[str]) -> bool:
    if some & others:
        return True
    return any(_is_rounded(one, other) or _is_rounded(other, one) for one in some for other in others)


def _is_rounded(exact: str, rounded: str) -> bool:
    """Return whether one figure is the other with fewer digits: 410 for 412, 3 for 3.1."""
    try:
        digits = len(rounded.replace(".", "").strip("0"))
        is_shorter = digits < len(exact.replace(".", "").strip("0"))
        return is_shorter and digits > 0 and float(f"{float(exact):.{digits}g}") == float(rounded)
    except ValueError:
        return False
