"""A passage as a page quotes it: in the text around it, what a verdict names set off, without the marks of Markdown."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from markupsafe import Markup

from deep_research.export.markup import element
from deep_research.report.edition import CitedPassage

# Pieces of a text, each with what it is: text, a heading, or the end of a cell.
_Pieces: TypeAlias = list[tuple[str, str]]

# Start and end in the document's text of what a verdict names, and the id of the sentence that it is of.
Named: TypeAlias = Sequence[tuple[int, int, str]]
_CELL_END = re.compile(r"(?<!\\)\|")
_ROWS_ABOVE = re.compile(r"(?:^[ \t]*\|.*\|[ \t]*\n)+\Z", re.MULTILINE)
_ROWS_BELOW = re.compile(r"(?:\n[ \t]*\|.*\|[ \t]*(?=\n|\Z))+(?:\n[ \t]*\|.*\Z)?")
_BLANK_LINES = re.compile(r"\s*\n\s*")
# A part of a word where a text was cut; Chinese has no blanks to cut at.
_CUT_START = re.compile(r"^[^\s\u2e80-\uffff]{1,30}\s")
_CUT_END = re.compile(r"\s[^\s\u2e80-\uffff]{1,30}$")
# Bytes, as a character of Chinese says as much as three letters, and is as many bytes.
_AROUND_BYTES = 600
# Markdown in a stored text: marks of headings, pipes between cells, the line below a table's header.
_MARKDOWN = re.compile(
    r"^(?P<heading>#{1,6}[ \t]+)(?=\S)"
    r"|^(?P<rule>[ \t]*\|[-:| \t]*--[-:| \t]*(?:\n|\Z))"
    r"|^(?:[ \t]*\|.*|.*\|[ \t]*)$",
    re.MULTILINE,
)
# Stand for these marks, one for each character, so that all offsets stay: nothing, the start of a heading, a pipe.
_NOTHING, _HEADING, _PIPE = "\ue000\ue001\ue002"
_SHOWN_MARKDOWN = re.compile(f"{_HEADING}([^\n]*)|[ \\t]*({_PIPE})[ \\t]*")


def quotation(passage: CitedPassage, named: Named) -> Markup:
    """Return a passage in the text around it; what a verdict names of it is set off once more."""
    if passage.header and cells_of(passage.quote):
        return _quoted_row(passage, named)
    passage = _with_marks_named(passage)
    parts = list(_named_parts(passage, named))
    return element("quotation", _without_marks(_opening(passage)), parts, _without_marks(_closing(passage)))


def _quoted_row(passage: CitedPassage, named: Named) -> Markup:
    """Return a row of a table below its header, among the rows that stand around it."""
    above, below = _ROWS_ABOVE.search(passage.before), _ROWS_BELOW.match(passage.after)
    names = cells_of(passage.header)
    rows = []
    for lines in (above, below):
        cells = [cells_of(line) for line in lines[0].splitlines()] if lines else []
        rows.append([own for own in cells if own not in ([], names)])
    before = passage.replace(before=passage.before[: above.start()]) if above else passage
    after = passage.replace(after=passage.after[below.end() :]) if below else passage
    return element(
        "quoted_row",
        before=_without_marks(_opening(_with_marks_named(before))),
        names=names,
        above=rows[0],
        cells=cells_of(passage.quote),
        below=rows[1],
        after=_without_marks(_closing(_with_marks_named(after))),
        anchors=" ".join(dict.fromkeys(anchor for _, _, anchor in named)),
        place=passage.place,
    )


def _named_parts(passage: CitedPassage, named: Named) -> Iterator[tuple[str, _Pieces]]:
    """Yield a passage in parts, each with the ids of the sentences that name it."""
    own = [
        (max(start, passage.start), min(end, passage.end), anchor)
        for start, end, anchor in named
        if start < passage.end and end > passage.start
    ]
    cuts = sorted({passage.start, passage.end, *(at for start, end, _ in own for at in (start, end))})
    for start, end in pairwise(cuts):
        text = _tidy(passage.quote[start - passage.start : end - passage.start])
        anchors = [anchor for first, last, anchor in own if first <= start and end <= last]
        yield " ".join(anchors), _without_marks(text)


def cells_of(row: str) -> list[str]:
    """Return the cells of a line `| a | b |`; nothing where it is no such line."""
    line = row.strip()
    if not (line.startswith("|") and line.endswith("|")) or not line.strip("|-: "):
        return []
    return [cell.strip().replace(r"\|", "|") for cell in _CELL_END.split(line)[1:-1]]


def _tidy(text: str) -> str:
    return _BLANK_LINES.sub("\n", text.replace(_NOTHING, ""))


def _with_marks_named(passage: CitedPassage) -> CitedPassage:
    """Return a passage with signs of ours in place of the marks of Markdown; every other character stays in place."""

    def named(mark: re.Match[str]) -> str:
        if mark["heading"]:
            return _HEADING + _NOTHING * (len(mark[0]) - 1)
        if mark["rule"]:
            return _NOTHING * len(mark[0])
        line = _CELL_END.sub(_PIPE, mark[0])
        edge = f"{_PIPE} \t"
        inside = line.lstrip(edge)
        return inside.rstrip(edge).ljust(len(inside), _NOTHING).rjust(len(line), _NOTHING)

    # A text may hold such characters itself; they have no shape anywhere.
    whole = re.sub(f"[{_NOTHING}{_HEADING}{_PIPE}]", "\ufffd", f"{passage.before}{passage.quote}{passage.after}")
    whole = _MARKDOWN.sub(named, whole)
    start = len(passage.before)
    end = start + len(passage.quote)
    return passage.replace(before=whole[:start], quote=whole[start:end], after=whole[end:])


def _without_marks(text: str) -> _Pieces:
    """Return a text with its headings and the ends of its cells marked, from the signs that stand for them."""
    pieces: _Pieces = []
    at = 0
    for mark in _SHOWN_MARKDOWN.finditer(text):
        pieces += [("text", text[at : mark.start()]), ("cell_end", "") if mark[2] else ("heading", mark[1])]
        at = mark.end()
    return [*pieces, ("text", text[at:])] if text else []


def _opening(passage: CitedPassage) -> str:
    """Return what stands before a passage; where it was cut, it begins with a whole word."""
    around = passage.before.encode()[-_AROUND_BYTES:].decode(errors="ignore")
    text = _tidy(around).lstrip()
    is_cut = len(around) < len(passage.before) or passage.start > len(passage.before)
    return f"… {_CUT_START.sub('', text).lstrip()}" if text and is_cut else text


def _closing(passage: CitedPassage) -> str:
    around = passage.after.encode()[:_AROUND_BYTES].decode(errors="ignore")
    text = _tidy(around).rstrip()
    is_whole = len(around) == len(passage.after) and text[-1:] in ".!?。！？"
    return text if not text or is_whole else f"{_CUT_END.sub('', text).rstrip()} …"
