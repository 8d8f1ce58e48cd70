"""Which place of the original a stretch of text stands in: a page before a heading, a heading before a line."""

import re
from collections.abc import Sequence

from deep_research.report.sources.document import Place

_CELLS = re.compile(r"(?P<sheet>.*!|)(?P<left>[A-Z]+)(?P<top>\d+)(?::(?P<right>[A-Z]+)(?P<bottom>\d+))?", re.DOTALL)
_PART_KINDS = ("page", "slide", "cells", "message")


def place_of(places: Sequence[Place], start: int, end: int, *, text: str = "") -> Place | None:
    """Return the most useful place of a passage, or None.

    A passage over two pages gets both ("4-5"), one over several rows the range of their cells. With `text`, a passage
    under no heading gets its line numbers.
    """
    parts = [p for p in places if p.kind in _PART_KINDS and p.start < max(end, start + 1) and start < p.end]
    if parts:
        first, last = parts[0], parts[-1]
        return Place(kind=first.kind, label=_joined(first, last), start=first.start, end=last.end)
    headings = [p for p in places if p.kind == "heading" and p.start <= start]
    if headings:
        return headings[-1]
    first_line = line_of(places, text, start)
    if first_line is None:
        return None
    last_line = line_of(places, text, max(start, end - 1)) or first_line
    label = str(first_line) if first_line == last_line else f"{first_line}-{last_line}"
    return Place(kind="line", label=label, start=start, end=end)


def _joined(first: Place, last: Place) -> str:
    """Return one label for a stretch of places: "4-5", "Costs!A2:D7", the numbers alone of two messages."""
    if first.label == last.label:
        return first.label
    top, bottom = _CELLS.fullmatch(first.label), _CELLS.fullmatch(last.label)
    if top and bottom and top["sheet"] == bottom["sheet"]:
        columns = [column for cells in (top, bottom) for column in cells.group("left", "right") if column]
        left, *_, right = sorted(columns, key=lambda letters: (len(letters), letters))
        return f"{top['sheet']}{left}{top['top']}:{right}{bottom['bottom'] or bottom['top']}"
    ends = (first.label, last.label)
    return "-".join(re.split(r"[, ]", label)[0] for label in ends) if first.kind == "message" else "-".join(ends)


def line_of(places: Sequence[Place], text: str, offset: int) -> int | None:
    """Return the line of the original file that an offset stands in, or None where lines mean nothing.

    A reading whose lines are the file's own says so by one place of kind "line", labelled with its first line.
    """
    anchor = next((p for p in places if p.kind == "line"), None)
    if anchor is None or not text:
        return None
    return int(anchor.label) + text.count("\n", anchor.start, offset)


def heading_places(headings: Sequence[tuple[int, str]], length: int) -> tuple[Place, ...]:
    """Return a place for each heading, from where it stands to the next one."""
    starts = [start for start, _ in headings] + [length]
    return tuple(
        Place(kind="heading", label=label, start=start, end=starts[index + 1])
        for index, (start, label) in enumerate(headings)
        if label
    )
