"""A finished report: read, exported, asked on, brought up to date; and what an update found to have changed.

The stored text of a source is shown with its headings, tables and places, and with one passage set off. Offsets count
in the stored text, so that a passage is found however the text is shown.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from deep_research.errors import NotFound, UnknownRun
from deep_research.export.article import Parts, in_parts
from deep_research.export.changes import changes_in_html, summary_of
from deep_research.export.contents import Contents
from deep_research.export.formats import FORMATS, missing_extra
from deep_research.export.markup import element, joined
from deep_research.export.quotation import cells_of
from deep_research.pipeline.journal import spent_so_far
from deep_research.report.sources.document import Place
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.views import render, words_for
from deep_research.service.accounts.identity import Identity
from deep_research.service.runs.sources import SourceText, read_source
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunChoice, RunRow
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import Words
from deep_research.wiring.models import unpriced_in

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_RULE = re.compile(r"[ \t]*\|[-:| \t]*--[-:| \t]*$")
router = APIRouter(include_in_schema=False)
_MAX_EARLIER = 20
_MAX_LATER = 50
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})$")


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


class Export(NamedTuple):
    """A format that the report can be had in; `missing` is the extra that it needs and that is not installed."""

    name: str
    address: str
    missing: str


class Chain(NamedTuple):
    """Runs that belong together: those that a run goes back to, the oldest first, and those that go back to it."""

    earlier: list[RunRow]
    later: list[RunRow]
    is_cut: bool


async def draw_report(service: ResearchService, row: RunRow) -> Parts:
    """Return the report of a run that is done in HTML; the same for everybody."""
    return await in_thread(in_parts, await service.contents_of(row), partial(source_address, row.id))


async def report_view(request: Request, service: ResearchService, who: Identity, row: RunRow) -> Response:
    """Show the report of a run that is done."""
    contents = await service.contents_of(row)
    report: Parts = await request.app.state.drawn_reports(row)
    words = words_for(request)
    changes = None
    if row.request.update:
        with suppress(NotFound):
            changes = await service.changes(row.id, who)
    calls = await service.store.list_calls(row.id)
    return render(
        request,
        "report.html",
        row=row,
        report=report,
        report_language=contents.edition.language,
        title=contents.edition.report.title,
        is_verified=contents.is_verified,
        is_answered=contents.edition.report.is_answered,
        is_doubtful=contents.edition.report.is_doubtful,
        added=_added(row, contents, report.entries),
        contents_list=element("contents_list", report.entries, words),
        exports=exports_of(row.id),
        chain=await chain_of(row, service, who),
        changes=summary_of(changes, words, "summary") if changes else "",
        has_changed=changes is not None and changes.has_changed,
        spent=spent_so_far(calls),
        unpriced=unpriced_in(row, calls, service.settings),
    )


@router.get("/runs/{run}/changes")
async def show_changes(run: str, request: Request, service: Service, who: Who) -> Response:
    """Show what an update found: what still holds, changed, is gone or is new."""
    row = await service.get(run, who)
    changes = await service.changes(run, who)
    shown = await in_thread(changes_in_html, changes, words_for(request))
    return render(request, "changes.html", row=row, changes=changes, shown=shown)


@router.get("/runs/{run}/sources/{document}")
async def show_source(run: str, document: str, request: Request, service: Service, who: Who, at: str = "") -> Response:
    """Show the stored text of a source, with a passage set off."""
    row = await service.get(run, who)
    source = await read_source(row, document, service.store)
    start, end = _range(at, len(source.text))
    return render(
        request,
        "report_source.html",
        row=row,
        title=row.title or row.request.question,
        source=source,
        text=await in_thread(in_html, source, start, end, words_for(request)),
        is_marked=end > start,
    )


def source_address(run: str, document: str, start: int, end: int) -> str:
    """Return where the stored text of a source is read, at a passage of it."""
    return f"/runs/{run}/sources/{document}" + (f"?at={start}-{end}#at" if end > start else "")


def exports_of(run: str) -> list[Export]:
    """Return every format, with what one lacks that cannot be made here."""
    # Without its figures, links in Markdown would lead nowhere.
    names = {name: "md?figures=true" if name == "md" else name for name in FORMATS}
    return [Export(name, f"/api/runs/{run}/report.{file}", missing_extra(name)) for name, file in names.items()]


async def chain_of(row: RunRow, service: ResearchService, who: Identity) -> Chain:
    """Return the runs that a run belongs to; of an earlier one that was deleted, only that it is cut off."""
    earlier: list[RunRow] = []
    before, is_cut = row.origin, False
    while before and len(earlier) < _MAX_EARLIER:
        try:
            earlier.insert(0, await service.get(before, who))
        except UnknownRun:
            is_cut = True
            break
        before = earlier[0].origin
    later = await service.list(who, limit=_MAX_LATER, choice=RunChoice(origin=row.id))
    return Chain(earlier, later[::-1], is_cut)


def _added(row: RunRow, contents: Contents, entries: list[tuple[str, str]]) -> str:
    """Return the id of the section that a follow-up has added to a report, "" where it has added none."""
    if not row.request.add or not contents.edition.report.chapters:
        return ""
    title = contents.edition.report.chapters[-1].title
    return next((id_ for id_, shown in reversed(entries) if shown == title), "")


def _range(at: str, characters: int) -> tuple[int, int]:
    """Return the passage that an address names; nothing where it names none of this text."""
    named = _RANGE.match(at)
    if named is None or int(named[1]) >= characters:
        return 0, 0
    return int(named[1]), min(int(named[2]), characters)
