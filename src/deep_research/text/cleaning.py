"""Text from anywhere without what is obeyed instead of shown, or not shown at all: controls, escape sequences, unseen
characters. It judges neither words nor markup.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

Match = re.Match[str]
_Replacement = Callable[[Match], str]

# Characters without a glyph hide words from a reader, and those that turn the reading direction show them in another
# order. Halves of surrogate pairs and noncharacters are no text: no file and no database takes them.
_UNSEEN = (
    "\\x00-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\\ud800-\\udfff\ufdd0-\ufdef\ufffe\uffff\U0001d173-\U0001d17a\U0001fffe\U0001ffff"
)
# Every range above the Basic Plane is tried for every character, so that one stands for all of these; what is in it and
# is seen stays (`_shown`).
_FAR = "\U0002fffe-\U0010ffff"
_UNSEEN_FAR = re.compile(
    "[\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0x20000, 0x110000, 0x10000))
    + "]"
)
_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
# A terminal obeys what begins with ESC to its end: colours and cursor moves (ESC [ …); titles, links and data (ESC ] …
# and the like, up to BEL or ESC \); character sets and single commands. Of one without an end only the beginning goes.
# ESC [ in one character (9B) counts with a number after it; else it is a letter that was decoded wrongly.
_ESCAPED = (
    r"(?<=\x1b)(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)|[ -/]*[0-~])"
    r"|(?<=\x9b)[0-9;?]+[A-Za-z]"
)
# Joiners shape letters of Indic and Persian writing and join emoji; a selector picks a character's glyph.
_SHAPING = "\u200c\u200d\ufe00-\ufe0f"
_SUSPECT = re.compile(f"[{_UNSEEN}{_FAR}{_LINE_ENDS}{_SHAPING}]")
# Blanks that a mark or a tag left before a stop; those before ".pth", ".NET" and ".5" are meant.
BLANKS_BEFORE_STOP = re.compile(r"\s+(?=[,;)\]，。；：！？）、]|[.:!?](?![a-z\d_]|[A-Z]{2}))")
# One set of characters at its beginning makes the search of a pattern fast.
_UNWANTED = re.compile(f"[{_UNSEEN}{_FAR}{_LINE_ENDS}](?:{_ESCAPED}|(?<=\r)\n)?")
_SHAPED = re.compile(f"[{_SHAPING}]+")
_IN_USE = re.compile("(?P<selector>[\ufe00-\ufe0f]?)(?:(?P<joiner>[\u200c\u200d])(?P=joiner)*)?")
# ASCII and Han know no joiners.
_UNJOINED = re.compile("[\u0000-\u007f\u4e00-\u9fff]?")


def clean_text(text: str) -> str:
    """Return text as a reader would see it: every line end a newline, tabs kept, everything else unseen gone."""
    return clean_with_offsets(text.replace("\r\n", "\n").replace("\r", "\n"), ())[0]


def clean_with_offsets(text: str, offsets: Iterable[int]) -> tuple[str, list[int]]:
    """Return the cleaned text, and where these offsets into the text stand in it."""
    moved = list(offsets)
    for pattern, replacement in _steps_for(text):
        text, moved = _replace(text, moved, pattern, replacement)
    return text, moved


def _steps_for(text: str) -> Sequence[tuple[re.Pattern[str], _Replacement]]:
    """Return what may find something in a text; a page is cleaned in thousands of pieces, of which most are clean."""
    if not (text.isascii() and text.isprintable()) and _SUSPECT.search(text):
        return _STEPS
    return _STEPS[-1:] if " ." in text or "\\" in text else ()


def _replace(
    text: str, offsets: list[int], pattern: re.Pattern[str], replacement: _Replacement
) -> tuple[str, list[int]]:
    parts: list[str] = []
    starts: list[int] = []
    # For each replaced stretch: where it ended, where its replacement ends.
    ends: list[tuple[int, int]] = []
    done = length = 0
    for found in pattern.finditer(text):
        put = replacement(found)
        length += found.start() - done + len(put)
        parts += (text[done : found.start()], put)
        done = found.end()
        starts.append(found.start())
        ends.append((done, length))
    parts.append(text[done:])

    def move(offset: int) -> int:
        index = bisect_left(starts, offset) - 1
        if index < 0:
            return offset
        old_end, new_end = ends[index]
        return new_end + max(0, offset - old_end)

    return "".join(parts), [move(offset) for offset in offsets]


def _shown(found: Match) -> str:
    first = found.string[found.start()]
    if first in _LINE_ENDS:
        return "\n"
    return first if first >= "\U0002fffe" and _UNSEEN_FAR.match(first) is None else ""


def _shaping_in_use(found: Match) -> str:
    """Return what of a run of joiners and selectors shapes its neighbours; a row of them is data that nobody sees."""
    run = _IN_USE.fullmatch(found[0])
    if run is None:
        return ""
    neighbours = found.string[max(0, found.start() - 1) : found.start()], found.string[found.end() : found.end() + 1]
    is_joined = not any(map(_UNJOINED.fullmatch, neighbours))
    return run["selector"] + (run["joiner"] or "" if is_joined else "")


# "99 .8%" of a broken line, and signs as LaTeX spells them.
_BROKEN = re.compile(r"(?<=\d) (?=\.\d+\s?%)|(?<!\\)\\{1,3}(?:(?:approx|sim|times|pm|leq?|geq?)(?![a-z])\s?|%)")
_SIGNS = {"approx": "≈", "sim": "~", "times": "×", "pm": "±", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "%": "%"}


def _mended(match: Match) -> str:
    return _SIGNS.get(match[0].strip(" \\\n"), "")


_STEPS = ((_UNWANTED, _shown), (_SHAPED, _shaping_in_use), (_BROKEN, _mended))
