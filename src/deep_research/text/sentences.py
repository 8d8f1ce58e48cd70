"""Sentence boundaries of English, Chinese and German text by rules, as offsets into the text as it is.

Line breaks count: a blank line, a heading, a list item and a table row end a sentence; a break inside wrapped prose
does not. A semicolon, Chinese or not, does not end a sentence: its second half seldom says what it is about.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from deep_research.text.analyzer import CJK

LineKind = Literal["prose", "heading", "item", "row"]

_CLOSERS = "\"'”’»)\\]）】》」』〉〕］}"
_NOTE = r"(?:\[\d{1,3}(?:[,–-]\s?\d{1,3})*\])"
# A stop, what closes after it, and note numbers such as [12]; the groups say which kind of stop it is. A run of stops
# is taken whole and from its beginning, so that a long one is looked at once.
_STOP = re.compile(
    rf"(?P<wide>[。！？｡]+(?:…+)?[{_CLOSERS}]*)"
    rf"|(?P<ellipsis>(?:(?<!…)…++|(?<!\.)\.{{3,}}+)[{_CLOSERS}]*+)(?=\s)"
    rf"|(?P<mixed>(?<=[{CJK}])[.!?]++[{_CLOSERS}]*+)(?=[{CJK}])"
    rf"|(?P<narrow>(?<![.!?])(?P<mark>[.!?]++)(?P<closed>[{_CLOSERS}]*+{_NOTE}*[{_CLOSERS}]*+))(?=\s)"
)
_TITLE_MARKS = (("《", "》"), ("（", "）"), ("〈", "〉"))
_MAX_TITLE_CHARS = 80

# Never the last word of a sentence: something always follows.
_LEADING = frozenset(
    """dr mr mrs ms prof st gen sen rep gov capt lt col sgt maj rev hon pres fig figs eq eqs sec ch chap vol vols pp p
    para art cf vs v viz e.g i.e eg ie approx ca no nos nr ref refs op cit ed eds trans dept univ jan feb mar apr jun
    jul aug sep sept oct nov dec mt ft est resp incl excl tab ver bzw mio mrd ggf inkl sog""".split()
)
# May end a sentence, if the next word looks like the beginning of one.
_TRAILING = frozenset(
    """inc ltd co corp llc plc bros etc jr sr ph.d m.d b.a m.a b.sc m.sc a.m p.m am pm u.s u.k u.n u.s.a e.u d.c a.d b.c
    al""".split()
)
_STARTERS = frozenset(
    """The A An In On At It Its This That These Those He She They We I You There Here However But And Yet So If When
    While As By For From To With After Before Although Because Since Such Some Many Most Both Each All No Not Our Their
    His Her What Why How Where Who According Over Under Between During Until Also Then Thus Therefore""".split()
)
# "z. B.", "d. h.", "u. a.": German abbreviations of two words.
_OF_TWO_WORDS = re.compile(r"z\. B\.|d\. h\.|u\. a\.")
_MAX_ORDINAL_DIGITS = 2
# "am 1. März", "im 3. Quartal": an ordinal, as German writes it.
_AFTER_ORDINAL = re.compile(
    r"Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Quartal|Jahrhundert"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘（]*$")
_NEXT = re.compile(r"\s*(?:[-*•]\s+)?[\"'“‘«(\[（「『]*(\S\S*)")
_LIST_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5}|[一二三四五六七八九十]{1,3})")

_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣◦▪●○–]|\(?\d{1,3}[.)、）]"
    r"|[（(][一二三四五六七八九十\da-z]{1,3}[）)]|[一二三四五六七八九十]{1,3}、)"
    r"(?:[ \t]+|(?<=[、）•●▪]))"
    # A message of a chat, with its time.
    r"|\[?(?:\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}日?,? )?\d{1,2}:\d{2}(?::\d{2})?\]?[ \t]+\S"
)
_BULLET = re.compile(r"[ \t]*[-*+•‣◦▪●○–](?:[ \t]+|(?<=[•●▪]))")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_ROW = re.compile(r"[ \t]*\|")
_RULE = re.compile(r"[\s|:=_*+~\-–—]*$")
# Narrower lines than the first are headings or verse, wider ones are not wrapped: a break after either is meant.
_WRAP_MIN_COLUMNS, _WRAP_MAX_COLUMNS = 40, 130
_SIGN = re.compile(r"\S")
_WIDE = re.compile(f"[{CJK}，。！？；：、（）“”]")


class TextSpan(NamedTuple):
    """A stretch of a text by character offsets."""

    start: int
    end: int


def split_sentences(text: str) -> list[TextSpan]:
    """Return the sentences of a text in order; none is empty, none overlaps, none has white space at its ends.

    The marks of headings and list items stay outside; a table row is one sentence.
    """
    spans: list[TextSpan] = []
    for start, end, kind in _blocks(text):
        stops = _stops(text, start, end) if kind in ("prose", "item") else ()
        for edges in pairwise((start, *stops, end)):
            _add(spans, text, *edges)
    return spans


def line_kind(text: str, offset: int) -> LineKind:
    """Return what kind of line an offset stands in."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return _kind_of(text[start : end if end >= 0 else len(text)])


def _add(spans: list[TextSpan], text: str, start: int, end: int) -> None:
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip())
    end -= len(stretch) - len(stretch.rstrip())
    if start < end and not _RULE.match(text, start, end):
        spans.append(TextSpan(start, end))


def _kind_of(line: str) -> LineKind:
    if _HEADING.match(line):
        return "heading"
    if _ROW.match(line):
        return "row"
    return "item" if _ITEM.match(line) else "prose"


def _blocks(text: str) -> list[tuple[int, int, LineKind]]:
    """Return the stretches no sentence crosses: wrapped lines joined, marks of headings and bullets left outside."""
    blocks: list[tuple[int, int, LineKind]] = []
    start, before = 0, ""
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if line.strip():
            kind = _kind_of(line)
            may_go_on = kind == "prose" and before.strip() and blocks[-1][2] in ("prose", "item")
            if may_go_on and _is_wrapped(before, line):
                blocks[-1] = blocks[-1][0], end, blocks[-1][2]
            else:
                mark = _HEADING.match(line) or _BULLET.match(line) if kind in ("heading", "item") else None
                blocks.append((start + (mark.end() if mark else 0), end, kind))
        start, before = end, line
    return blocks


# A line of a log or a chat begins with its time.
STAMPED = re.compile(r"\s*\[?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2})\b")


def _is_wrapped(before: str, following: str) -> bool:
    """Return whether a line was cut by its width and goes on in the following one."""
    line = before.rstrip()
    if STAMPED.match(following):
        return False
    first = following.lstrip()[:1]
    if first.islower() and first.isascii() and len(line) > 1:
        return True
    columns = len(line) + len(_WIDE.findall(line))
    return _WRAP_MIN_COLUMNS <= columns <= _WRAP_MAX_COLUMNS and not line.endswith((":", "："))


def _stops(text: str, start: int, end: int) -> Iterator[int]:
    begin = _first_sign(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    for match in _STOP.finditer(text, start, end):
        kind = match.lastgroup
        stop = match.end()
        if stop >= end:
            return
        if kind == "wide":
            is_end = not _in_title(text, begin, match.start())
        else:
            is_end = kind == "mixed" or _ends_sentence(text, begin, match, end)
        if is_end:
            yield stop
            begin = _first_sign(text, stop, end)


def _first_sign(text: str, start: int, end: int) -> int:
    found = _SIGN.search(text, start, end)
    return found.start() if found else end


def _in_title(text: str, begin: int, at: int) -> bool:
    """Return whether a stop stands inside a title or parenthesis that is still open."""
    for opening, closing in _TITLE_MARKS:
        opened = text.rfind(opening, max(begin, at - _MAX_TITLE_CHARS), at)
        if opened >= 0 and text.find(closing, opened, at) < 0 and closing in text[at : at + _MAX_TITLE_CHARS]:
            # A sentence that is all in parentheses ends with them.
            return text[at + 1 : at + 2] != closing or opened > begin
    return False


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    following = _NEXT.match(text, match.end(), end)
    if following is None:
        return True
    word = following[1]
    # "iPhone", "mtDNA" and "rim1" may begin a sentence; a plain lower-case word does not.
    if word[0].islower() and word.islower() and not any(letter.isdigit() for letter in word):
        return False
    if match.lastgroup == "ellipsis" or match["mark"] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(begin, match.start() - 24), match.start())
    last = before[0] if before else ""
    if begin >= match.start() - len(last) and _LIST_NUMBER.fullmatch(last):
        return False
    if _OF_TWO_WORDS.match(text, match.start() - len(last)):
        return False
    return _word_can_end(last, word, is_closed=bool(match["closed"]))


def _word_can_end(last: str, word: str, *, is_closed: bool) -> bool:
    """Return whether a sentence can end after `last` and its full stop, with `word` next."""
    if is_closed:
        return True
    if last.isdecimal() and len(last) <= _MAX_ORDINAL_DIGITS and _AFTER_ORDINAL.match(word):
        return False
    plain = last.lower().lstrip("(")
    starts = word.rstrip(",;:'’") in _STARTERS
    if plain in _TRAILING:
        return starts
    if len(last) > 1 and last.isalpha() and last.isupper() and not word[0].isdigit():
        return True
    if plain in _LEADING:
        # "The answer is no. We left." and "in March. The": words that are abbreviations only before a number or name.
        return plain in ("no", "art", "ed", "fig", "dec", "mar", "est", "p") and starts and last[:1].islower()
    is_initial = len(plain) == 1 and plain.isalpha() and last.isupper()
    are_initials = "." in plain and all(len(part) == 1 for part in plain.split(".")) and plain[0].isalpha()
    return starts or not (is_initial or are_initials)
