"""Foldings that make two spellings of the same text equal: typography for quotes, script and accents for search."""

import re
import unicodedata
from array import array
from functools import cache, lru_cache
from typing import NamedTuple

_QUOTES = {**dict.fromkeys("‘’‚‛′ʼ＇`´", "'"), **dict.fromkeys("“”„‟″＂«»「」『』﹁﹂", '"')}
_DASHES = dict.fromkeys("‐‑‒–—―−﹘﹣－", "-")
_BULLETS = dict.fromkeys("•‣◦▪●·∙", "·")
_TYPOGRAPHY = _QUOTES | _DASHES | _BULLETS
# Characters without a glyph of their own: soft hyphen, joiners, direction marks, byte order mark.
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u061c\u202a\u202b\u202c\u202d\u202e")
_COMBINED = r"[^\W\d_][\u0300-\u036f\u3099\u309a]+"
_WIDE_SPACE = re.compile(r"\s{2,}|[^\S ]")
_REMEMBERED_CHARS = 2_000
_HAN_BLOCKS = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000))
# OpenCC decides these by phrase; one letter for both spellings is what matching needs.
_MERGED = {"著": "着", "乾": "干", "藉": "借", "徵": "征", "於": "于", "瞭": "了", "夥": "伙"}


@cache
def simplified_table() -> dict[int, str]:
    """Return the map from traditional to simplified characters, one character to one character.

    It is taken from OpenCC once in a process; a text without Han characters never asks for it.
    """
    import opencc

    letters = [chr(code) for block in _HAN_BLOCKS for code in block]
    # A line break between letters keeps OpenCC from seeing phrases, so that the same letter always folds alike.
    folded = opencc.OpenCC("t2s").convert("\n".join(letters)).split("\n")
    pairs = (*zip(letters, folded, strict=True), *_MERGED.items())
    return {ord(letter): simple for letter, simple in pairs if letter != simple and len(simple) == 1}


def to_simplified(text: str) -> str:
    """Return the text in simplified characters, every character at its old offset."""
    return text if text.isascii() else text.translate(simplified_table())


def fold_character(character: str) -> str:
    """Return the typographic folding of one character: NFKC, plain quotes and dashes, nothing for invisible ones."""
    if character in _TYPOGRAPHY:
        return _TYPOGRAPHY[character]
    if character in _INVISIBLE:
        return ""
    normal = unicodedata.normalize("NFKC", character)
    if normal.isspace():
        return " "
    return "".join(_TYPOGRAPHY.get(part, part) for part in normal)


class Folded(NamedTuple):
    """A folded text that still knows where each of its characters stood."""

    text: str
    starts: "array[int]"
    ends: "array[int]"

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that a non-empty span of the folded text came from."""
        return self.starts[start], self.ends[end - 1]


def fold_typography(text: str) -> Folded:
    """Fold quotes, dashes, widths, ligatures and white space; letters keep their case and script."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _fold(text)


def _fold(text: str) -> Folded:
    if text.isascii() and not _WIDE_SPACE.search(text):
        return Folded(text, array("I", range(len(text))), array("I", range(1, len(text) + 1)))
    table, uneven = _tables_for(frozenset(text))
    pieces: list[str] = []
    starts, ends = array("I"), array("I")

    def keep(start: int, end: int) -> None:
        pieces.append(text[start:end].translate(table))
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))

    done = 0
    for match in uneven.finditer(text):
        keep(done, match.start())
        stretch = match[0]
        folded = " " if stretch.isspace() else "".join(map(fold_character, unicodedata.normalize("NFKC", stretch)))
        pieces.append(folded)
        starts.extend([match.start()] * len(folded))
        ends.extend([match.end()] * len(folded))
        done = match.end()
    keep(done, len(text))
    return Folded("".join(pieces), starts, ends)


# Sentences and passages are compared again and again; whole documents are not.
_remembered = lru_cache(maxsize=1_024)(_fold)


def _tables_for(letters: frozenset[str]) -> tuple[dict[int, str], re.Pattern[str]]:
    """Return the one-to-one foldings of these letters, and the pattern of what folds to more or less than it was."""
    foreign = [letter for letter in letters if not letter.isascii()]
    table = {ord(letter): fold_character(letter) for letter in foreign} | dict.fromkeys(map(ord, "\t\n\r\f\v"), " ")
    patterns = [r"\s{2,}"]
    if any(unicodedata.combining(letter) for letter in foreign):
        patterns.append(_COMBINED)
    uneven = [letter for letter in foreign if len(table[ord(letter)]) != 1]
    if uneven:
        patterns.append("[" + "".join(map(re.escape, uneven)) + "]")
    return table, re.compile("|".join(patterns))
