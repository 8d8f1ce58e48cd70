"""The stored text of a source as a page shows it: its headings, tables and places, with one passage set off.

Offsets count in the stored text, so that a passage is found however the text is shown.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from deep_research.export.markup import Html, joined, tag
from deep_research.export.page import scrolling
from deep_research.export.quotation import cells_of
from deep_research.messages.words import Words
from deep_research.service.sources import SourceText
from deep_research.sources.document import Place

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_RULE = re.compile(r"[ \t]*\|[-:| \t]*--[-:| \t]*$")


class ShownText(NamedTuple):
    """A source's text in HTML, and its places: the ids to link to, with their names."""

    body: Html
    places: list[tuple[str, str]]


class _Line(NamedTuple):
    """A line of the text and where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def in_html(source: SourceText, start: int, end: int, words: Words) -> ShownText:
    """Return a source's text with the stretch from `start` to `end` marked; the mark has the id `at`."""
    writer = _Writer(source, start, end, words)
    return ShownText(joined(writer.blocks()), writer.places)


class _Writer:
    """Writes one text; a place other than a heading is named before the first line that belongs to it."""

    def __init__(self, source: SourceText, start: int, end: int, words: Words) -> None:
        self.start, self.end, self.words = start, end, words
        self.is_marked = False
        self.lines = _lines(source.text)
        self.waiting = sorted(_named_places(source), key=lambda place: place.start)
        self.places: list[tuple[str, str]] = []

    def blocks(self) -> Iterator[str]:
        """Yield headings, tables and paragraphs in their order, and the places between them."""
        group: list[_Line] = []
        for line in self.lines:
            is_reached = bool(self.waiting) and self.waiting[0].start < max(line.end, line.start + 1)
            if group and (is_reached or _kind(line) != _kind(group[0]) or _kind(line) == "heading"):
                yield self._block(group)
                group = []
            if is_reached:
                yield from self._reached(max(line.end, line.start + 1))
            if _kind(line) != "blank":
                group.append(line)
        if group:
            yield self._block(group)

    def _reached(self, end: int) -> Iterator[Html]:
        while self.waiting and self.waiting[0].start < end:
            place = self.waiting.pop(0)
            id_ = f"place-{len(self.places) + 1}"
            if place.kind == "heading":
                self.places.append((id_, place.label))
                yield tag("p", id=id_, class_="unseen-place")
            else:
                self.places.append((id_, self.words(f"place.{place.kind}", label=place.label)))
                yield tag("p", self.places[-1][1], id=id_, class_="place-name", dir="auto")

    def _block(self, lines: list[_Line]) -> Html:
        kind = _kind(lines[0])
        if kind == "heading":
            mark = _HEADING.match(lines[0].text)
            level = min(len(mark[1]) + 1, 6) if mark else 2
            return tag(f"h{level}", *self._marked(lines[0], skip=mark.end() if mark else 0), dir="auto")
        if kind == "row":
            return self._table(lines)
        parts: list[str] = []
        for number, line in enumerate(lines):
            parts += ["\n", *self._marked(line)] if number else self._marked(line)
        return tag("p", *parts, dir="auto")

    def _table(self, lines: list[_Line]) -> Html:
        rows = [line for line in lines if not _RULE.match(line.text)]
        has_head = len(lines) > 1 and bool(_RULE.match(lines[1].text))
        shown = []
        for number, line in enumerate(rows):
            cell = "th" if has_head and number == 0 else "td"
            is_passage = line.start < self.end and line.end > self.start
            texts = cells_of(line.text)
            inside = (self._whole(text, number=at) if is_passage else text for at, text in enumerate(texts))
            shown.append(tag("tr", *(tag(cell, text, dir="auto") for text in inside)))
        return scrolling(tag("table", *shown), "")

    def _whole(self, text: str, *, number: int) -> Html:
        id_ = None if self.is_marked or number else "at"
        self.is_marked = self.is_marked or number == 0
        return tag("mark", text, id=id_)

    def _marked(self, line: _Line, skip: int = 0) -> list[str]:
        """Return a line with what belongs to the passage marked."""
        first, last = line.start + skip, line.end
        start, end = max(first, self.start), min(last, self.end)
        if start >= end:
            return [line.text[skip:]]
        id_, self.is_marked = None if self.is_marked else "at", True
        cut = (start - line.start, end - line.start)
        return [line.text[skip : cut[0]], tag("mark", line.text[cut[0] : cut[1]], id=id_), line.text[cut[1] :]]


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    for line in text.split("\n"):
        yield _Line(line, at)
        at += len(line) + 1


def _kind(line: _Line) -> str:
    if not line.text.strip():
        return "blank"
    if _HEADING.match(line.text):
        return "heading"
    return "row" if cells_of(line.text) or _RULE.match(line.text) else "prose"


def _named_places(source: SourceText) -> list[Place]:
    """Return the places worth listing: not single lines, and each name once in a row."""
    shown: list[Place] = []
    for place in source.places:
        if place.kind != "line" and (not shown or shown[-1].label != place.label):
            shown.append(place)
    return shown
