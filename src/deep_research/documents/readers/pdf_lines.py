"""Lines of a PDF page → paragraphs: lines that only the page's width broke are joined, cut words mended."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from deep_research.text.analyzer import CJK

_WIDE = re.compile(f"[{CJK}\uff01-\uff60，。！？；：、（）“”]")
_STARTS_BLOCK = re.compile(r"(?:[•‣◦▪●○■□➢✓*]|[-–]\s|\(?\d{1,3}[.)]\s|[（(]?[一二三四五六七八九十]{1,3}[、）)])")
_CUT_WORD = re.compile(r"([^\W\d_]+)[-\u00ad\u2010]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_FULL_SHARE = 0.75
_SENTENCE_END = '.!?。！？…:：;；”"'


def with_whole_characters(text: str) -> str:
    """Return a text with the halves in which PDFium gives rare characters put together."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def display_width(line: str) -> int:
    """Return the columns a line takes; a CJK character takes two."""
    return len(line) + len(_WIDE.findall(line))


def _is_full_line(line: str, page_width: int) -> bool:
    """Return whether a line reaches so far that its break may be only the page's width."""
    return display_width(line) >= _FULL_SHARE * page_width


def width_of(lines: Iterable[str]) -> int:
    """Return the width that nearly all lines of a page keep."""
    widths = sorted(map(display_width, lines))
    return widths[int(0.9 * len(widths))] if widths else 0


def join_lines(lines: Sequence[str], page_width: int, words: Mapping[str, int]) -> str:
    """Return the paragraphs of lines, a blank line between them; `words` are the words of the whole document."""
    parts = [lines[0]] if lines else []
    for before, line in pairwise(lines):
        if not _goes_on(before, line, page_width):
            parts += ("\n\n", line)
        elif mended := _mend(parts[-1], line, words):
            parts[-1] = mended
        else:
            parts += ("" if needs_no_space(before, line) else " ", line)
    return "".join(parts)


def needs_no_space(before: str, line: str) -> bool:
    """Return whether a line break stood for nothing: between wide characters, or next to one in a Chinese text."""
    edges = bool(_WIDE.match(before[-1:])) + bool(_WIDE.match(line[:1]))
    is_wide_text = all(3 * len(_WIDE.findall(each)) >= len(each) for each in (before, line))
    return edges == 2 or (edges == 1 and is_wide_text)


def _goes_on(before: str, line: str, page_width: int) -> bool:
    if _STARTS_BLOCK.match(line):
        return False
    if line[:1].islower():
        return True
    if not _is_full_line(before, page_width):
        return False
    if before[-1:] in _SENTENCE_END and line[-1:] not in _SENTENCE_END and not _is_full_line(line, page_width):
        # A short line without a stop after a finished sentence is a heading.
        return False
    # On a page of short lines only (a table, a list of names) reaching the width says nothing.
    return page_width >= 40 or before[-1:] in ",，、-"


def _mend(before: str, line: str, words: Mapping[str, int]) -> str:
    """Return two lines joined over a word cut in half, or "" where no word is cut.

    The hyphen stays if the document writes the word with it elsewhere, and goes in any other case.
    """
    cut, rest = _CUT_WORD.search(before), _FIRST_WORD.match(line)
    if cut is None or rest is None or not rest[0][0].islower():
        return ""
    whole, hyphened = (cut[1] + rest[0]).lower(), f"{cut[1]}-{rest[0]}".lower()
    keeps_hyphen = words.get(hyphened, 0) > words.get(whole, 0)
    return before[:-1] + ("-" if keeps_hyphen else "") + line
