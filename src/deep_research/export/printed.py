"""What a report on paper has beside its layout: the cited passages, the data of its figures, tables that fit a page."""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from deep_research.export.contents import Contents
from deep_research.report.edition import Edition
from deep_research.report.escaping import one_line
from deep_research.report.layout import Block, Heading, Label, Prose, Span, Spans, Table, laid_out, markers
from deep_research.text.messages.words import Words, words_in

# As many columns fit on an upright page, whatever they hold; more do where they are short.
_MAX_COLUMNS = 8
# A longer passage is cut: who checks it knows where to go on reading.
_MAX_QUOTE_CHARS = 600
# What a line of a table holds, and what parts two columns of it.
_LINE_CHARS, _GUTTER_CHARS = 90, 3
# The least and the most that a column would like to have of a line.
_MIN_CHARS, _MAX_SHARE = 9, 60
# A report of more letters has a table of contents.
_LONG_REPORT_CHARS = 12_000
_MAX_RUNNING_TITLE = 90
# Language, region, what Noto calls the forms of the signs, and the font that Word has for them.
WRITING = {
    "zh-Hans": ("zh", "CN", "SC", "Microsoft YaHei"),
    "zh-Hant": ("zh", "TW", "TC", "Microsoft JhengHei"),
    "ja": ("ja", "JP", "JP", "Yu Gothic"),
    "ko": ("ko", "KR", "KR", "Malgun Gothic"),
}
# Chinese is broken between any two signs.
_WORD = re.compile(r"[^\s\u2e80-\uffff]+")
_NUMBER = re.compile(r"[-+−–±~≈<>≤≥]?\s?[$€£¥]?\s?\d[\d.,\s]*\s?[%‰]?|[-–—]?")
_SHORT_CELL = 20


class Quotation(NamedTuple):
    """A passage as it is printed; a row of a table has the names of its columns in `header`."""

    id: str
    quote: str
    place: str
    header: str


class SourcePassages(NamedTuple):
    """The passages that are cited of one source."""

    number: int
    title: str
    passages: tuple[Quotation, ...]


class Passages(NamedTuple):
    """The cited passages, source by source."""

    sources: tuple[SourcePassages, ...]


PrintedBlock: TypeAlias = Block | Passages


class Printed(NamedTuple):
    """A report as it stands on pages; `has_contents` where it is so long that a list of its chapters helps."""

    subtitle: str
    running_title: str
    has_contents: bool
    blocks: list[PrintedBlock]


def printed(contents: Contents) -> Printed:
    """Return what a report says on pages: no table is too wide, and all can be checked on paper."""
    edition, words = contents.edition, words_in(contents.edition.language)
    blocks: list[PrintedBlock] = []
    layout = laid_out(edition.report, edition.citations, number_of=edition.number_of, words=words)
    for block in (*layout, *_data(edition, words)):
        blocks += _narrow(block, words) if isinstance(block, Table) else [block]
    sources = tuple(_passages(edition))
    if sources:
        note = Span(words("export.passages_note"), "emphasis")
        blocks += [Heading(words("export.passages")), Prose((note,)), Passages(sources)]
    cited, total = len(edition.citations.cited), len(edition.citations.sources)
    return Printed(
        words("export.subtitle", day=f"{edition.created_at:%Y-%m-%d}", cited=cited, total=total),
        _cut(one_line(edition.report.title), _MAX_RUNNING_TITLE),
        sum(_width(sentence.text) for sentence in edition.report.sentences) > _LONG_REPORT_CHARS,
        blocks,
    )


def is_number_column(table: Table, at: int) -> bool:
    """Return whether a column stands to the right: most are numbers, and others as short as "not listed".

    The first names what a row is about.
    """
    texts = [text_of(row[at]) for row in table.rows]
    numbers = sum(1 for text in texts if _NUMBER.fullmatch(text))
    return at > 0 and 2 * numbers > len(texts) and all(len(text) <= _SHORT_CELL for text in texts)


def shares_of(table: Table) -> list[float]:
    """Return how much of a page's width each column gets; no word of a header is broken while there is room for it."""
    needed: list[float] = [min(max(most, _MIN_CHARS), _MAX_SHARE) + _GUTTER_CHARS for most in _needed(table)]
    least = [max(map(len, _WORD.findall(label)), default=0) + 2 * _GUTTER_CHARS for label in table.head]
    wanted = [max(width - own, 0) for width, own in zip(needed, least, strict=True)]
    spare = _LINE_CHARS - sum(least)
    if sum(needed) > _LINE_CHARS and spare > 0:
        needed = [own + more * spare / sum(wanted) for own, more in zip(least, wanted, strict=True)]
    return [width / max(sum(needed), _LINE_CHARS) for width in needed]


def _needed(table: Table) -> list[int]:
    """Return how many letters wide each column would like to be."""
    return [max(map(_width, (label, *(text_of(row[at]) for row in table.rows)))) for at, label in enumerate(table.head)]


def text_of(spans: Spans) -> str:
    """Return what pieces of text say, with their markers."""
    return "".join(f"[{span.text}]" if span.kind == "marker" else span.text for span in spans)


def _width(text: str) -> int:
    """Return how many letters wide a text is: a Chinese sign is as wide as two."""
    return len(text) + sum(sign > "\u2e7f" for sign in text)


def _data(edition: Edition, words: Words) -> Iterator[Block]:
    if edition.captions:
        yield Heading(words("export.figure_data"))
    for caption in edition.captions:
        figure = caption.figure
        yield Label(one_line(caption.text))
        value = f"{words('export.value')} ({one_line(figure.unit)})" if figure.unit else words("export.value")
        names = figure.named_columns
        yield Table(
            (*(words(f"export.{name}") for name in names), value, words("report.source")),
            tuple(
                (
                    *((Span(one_line(getattr(row, name))),) for name in names),
                    (Span(f"{row.value:,.15g}"),),
                    markers([row.evidence], edition.number_of),
                )
                for row in figure.rows
            ),
        )


def _passages(edition: Edition) -> Iterator[SourcePassages]:
    for number, source in enumerate(edition.citations.cited, start=1):
        own = tuple(
            Quotation(each.id, _quoted(each.quote), one_line(each.place), _quoted(each.header))
            for each in edition.passages
            if each.document == source.document
        )
        if own:
            yield SourcePassages(number, one_line(source.title), own)


def _quoted(text: str) -> str:
    line = one_line(text)
    is_row = line.startswith("|") and line.endswith("|")
    return _cut(line.strip("| ") if is_row else line, _MAX_QUOTE_CHARS)


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most].rstrip()} …"


def _narrow(table: Table, words: Words) -> Iterator[Block]:
    """Yield a table, or its columns in parts that fit; each has the first column, which names the row, and the last."""
    if len(table.head) <= _MAX_COLUMNS:
        yield table
        return
    first, *others, last = (min(width, _LINE_CHARS // _MAX_COLUMNS) + _GUTTER_CHARS for width in _needed(table))
    parts: list[list[int]] = []
    used = 0
    for at, width in enumerate(others, start=1):
        if not parts or used + width > _LINE_CHARS:
            parts.append([])
            used = first + last
        parts[-1].append(at)
        used += width
    for number, part in enumerate(parts, start=1):
        chosen = (0, *part, len(table.head) - 1)
        rows = tuple(tuple(row[at] for at in chosen) for row in table.rows)
        yield Label(words("export.part", part=number, parts=len(parts)))
        yield table._replace(head=tuple(table.head[at] for at in chosen), rows=rows)
