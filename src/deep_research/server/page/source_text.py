"""The stored text of a source as a page shows it: its headings, tables and places, with one passage set off.

Offsets count in the stored text, so that a passage is found however the text is shown.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from deep_research.export.markup import element, joined
from deep_research.export.quotation import cells_of
from deep_research.report.sources.document import Place
from deep_research.service.runs.sources import SourceText
from deep_research.text.messages.words import Words

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_RULE = re.compile(r"[ \t]*\|[-:| \t]*--[-:| \t]*$")


class ShownText(NamedTuple):
    """A source's text in HTML, and its places: the ids to link to, with their names."""

    body: Markup
    places: list[tuple[str, str]]


class _TextLine(NamedTuple):
    """A line of the text and where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def in_html(source: SourceText, start: int, end: int, words: Words) -> ShownText:
    """Return a source's text with the stretch from `start` to `end` marked; the mark has the id `at`."""
    writer = _SourceTextWriter(source, start, end, words)
    return ShownText(joined(writer.blocks()), writer.places)


class _SourceTextWriter:
    """Writes one text; a place other than a heading is named before the first line that belongs to it."""

    def __init__(self, source: SourceText, start: int, end: int, words: Words) -> None:
        self.start, self.end, self.words = start, end, words
        self.is_marked = False
        self.lines = _lines(source.text)
        self.named = sorted(_shown_places(source), key=lambda place: place.start)
        self.places: list[tuple[str, str]] = []

    def blocks(self) -> Iterator[Markup]:
        """Yield headings, tables and paragraphs in their order, and the places between them."""
        for (reached, kind, _), lines in groupby(self.lines, self._block_of):
            for place in self.named[len(self.places) : reached]:
                yield self._place(place)
            if kind != "blank":
                yield self._block(kind, list(lines))

    def _block_of(self, line: _TextLine) -> tuple[int, str, int]:
        """Return what lines of one block share: the places before them, their kind, and of a heading that it is one."""
        kind = _kind(line)
        reached = bisect_left(self.named, max(line.end, line.start + 1), key=lambda place: place.start)
        return reached, kind, line.start if kind == "heading" else 0

    def _place(self, place: Place) -> Markup:
        id_, is_heading = f"place-{len(self.places) + 1}", place.kind == "heading"
        name = place.label if is_heading else self.words(f"place.{place.kind}", label=place.label)
        self.places.append((id_, name))
        return element("place", id_, "" if is_heading else name)

    def _block(self, kind: str, lines: list[_TextLine]) -> Markup:
        if kind == "heading":
            mark = _HEADING.match(lines[0].text)
            level = min(len(mark[1]) + 1, 6) if mark else 2
            return element("heading", level, self._marked(lines[0], skip=mark.end() if mark else 0))
        if kind == "row":
            return self._table(lines)
        return element("prose", Markup("\n").join(map(self._marked, lines)))

    def _table(self, lines: list[_TextLine]) -> Markup:
        has_head = len(lines) > 1 and bool(_RULE.match(lines[1].text))
        rows: list[list[str]] = []
        for line in lines:
            cells = [] if _RULE.match(line.text) else cells_of(line.text)
            is_passage = line.start < self.end and line.end > self.start
            rows += [[self._mark(text) for text in cells] if is_passage else cells] if cells else []
        return element("rows", rows, has_head)

    def _mark(self, text: str) -> Markup:
        """Return what is set off; the first of it has an id."""
        id_, self.is_marked = "" if self.is_marked else "at", True
        return element("mark", text, id_)

    def _marked(self, line: _TextLine, skip: int = 0) -> Markup:
        """Return a line with what belongs to the passage marked."""
        first, last = line.start + skip, line.end
        start, end = max(first, self.start), min(last, self.end)
        if start >= end:
            return joined([line.text[skip:]])
        start, end = start - line.start, end - line.start
        return joined([line.text[skip:start], self._mark(line.text[start:end]), line.text[end:]])


def _lines(text: str) -> Iterator[_TextLine]:
    at = 0
    for line in text.split("\n"):
        yield _TextLine(line, at)
        at += len(line) + 1


def _kind(line: _TextLine) -> str:
    if not line.text.strip():
        return "blank"
    if _HEADING.match(line.text):
        return "heading"
    return "row" if cells_of(line.text) or _RULE.match(line.text) else "prose"


def _shown_places(source: SourceText) -> list[Place]:
    """Return the places worth listing: not single lines, and each name once in a row."""
    shown: list[Place] = []
    for place in source.places:
        if place.kind != "line" and (not shown or shown[-1].label != place.label):
            shown.append(place)
    return shown
