"""Text from anywhere without what is obeyed instead of shown, or not shown at all: controls, escape sequences, unseen
characters. It judges neither words nor markup.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

_Replacement = Callable[[re.Match[str]], str]

# A terminal obeys these to their end: colours and cursor moves (ESC [ …); titles, links and data (ESC ] … and the like,
# up to BEL or ESC \); character sets and single commands. Of one without an end only its first characters go.
_ESCAPES: Final = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
    # ESC [ in one character; without a number after it, it is more often a letter that was decoded wrongly.
    r"|\x9b[0-9;?]+[A-Za-z]"
)
# Characters without a glyph hide words from a reader, and those that turn the reading direction show them in another
# order. Halves of surrogate pairs and noncharacters are no text: no file and no database takes them.
_UNSEEN: Final = (
    "\\x00-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\\ud800-\\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
)
_LINE_ENDS: Final = "\\r\\x0b\\x0c\\x85\u2028\u2029"
# Joiners shape letters of Indic and Persian writing and join emoji; a selector picks a character's glyph.
_SHAPING: Final = "\u200c\u200d\ufe00-\ufe0f"
_SUSPECT: Final = re.compile(f"[{_UNSEEN}{_LINE_ENDS}{_SHAPING}]")
_UNWANTED: Final = re.compile(f"(?P<line>\r\n|[{_LINE_ENDS}])|{_ESCAPES}|[{_UNSEEN}]+")
_SHAPED: Final = re.compile(f"[{_SHAPING}]+")
_IN_USE: Final = re.compile("(?P<selector>[\ufe00-\ufe0f]?)(?:(?P<joiner>[\u200c\u200d])(?P=joiner)*)?")
# ASCII and Han know no joiners.
_UNJOINED: Final = re.compile("[\u0000-\u007f\u4e00-\u9fff]?")


def clean_text(text: str) -> str:
    """Return text as a reader would see it: every line end a newline, tabs kept, everything else unseen gone."""
    if not _is_suspect(text):
        return text
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text


def clean_with_offsets(text: str, offsets: Iterable[int]) -> tuple[str, list[int]]:
    """Return the cleaned text, and where these offsets into the text stand in it."""
    moved = list(offsets)
    if not _is_suspect(text):
        return text, moved
    for pattern, replacement in _STEPS:
        text, moved = _replace(text, moved, pattern, replacement)
    return text, moved


def _is_suspect(text: str) -> bool:
    is_plain = text.isascii() and text.isprintable()
    return not is_plain and _SUSPECT.search(text) is not None


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


def _line_or_nothing(found: re.Match[str]) -> str:
    return "\n" if found["line"] else ""


def _shaping_in_use(found: re.Match[str]) -> str:
    """Return what of a run of joiners and selectors shapes its neighbours; a row of them is data that nobody sees."""
    run = _IN_USE.fullmatch(found.group())
    if run is None:
        return ""
    neighbours = found.string[max(0, found.start() - 1) : found.start()], found.string[found.end() : found.end() + 1]
    is_joined = not any(map(_UNJOINED.fullmatch, neighbours))
    return run["selector"] + (run["joiner"] or "" if is_joined else "")


_STEPS: Final = ((_UNWANTED, _line_or_nothing), (_SHAPED, _shaping_in_use))
