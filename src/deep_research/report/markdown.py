"""A report as Markdown. Assembles what it is given; finds, judges and numbers nothing."""

import os
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

from deep_research.messages.words import Words
from deep_research.report.citation import Citations, Source
from deep_research.report.escaping import escape, escape_address, escape_cell, escape_heading, escape_line
from deep_research.report.figure import Caption
from deep_research.report.paragraph import TABLE_ROWS, Backing, Paragraph, Sentence, is_quoted
from deep_research.text.tables import is_label
from deep_research.value import Value

# Of the sources that are not cited, the nearest are listed.
_MAX_UNCITED = 10
# A longer calculation is shown in verification.md alone.
_MAX_BASIS_CHARS = 60
# Digits that nobody grouped and that are no year.
_LONG_NUMBER = re.compile(r"(?<![\d.,])\d{5,}(?![\d,])")
_CELLS = re.compile(r"(.+!)([A-Z]+)(\d+):([A-Z]+)(\d+)$")
# Before the markers of what the report says itself: what it concludes, computes, or finds in no source.
_CONCLUDED = "∴"
# More than one sum or difference.
_WORTH_SHOWING = re.compile(r"[*/×÷].*=|[-+−].*[-+−].*=")
_LONG_TITLE = 80
# More places than this say no more than the document itself.
_MAX_PLACES = 4
_WIDE_END = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef][”’…]*$")
_STOP = re.compile(r"[.!?。！？…:：;；][\"'”’»)\]）】》」』]*(?:\[\d{1,3}\])*$")
_CHAPTER = re.compile(r"^## ", re.MULTILINE)
_MARKER = re.compile(r"\[(\d{1,3})\]")
_PICTURE = re.compile(r"^!\[.*\n", re.MULTILINE)
# A link of ours: brackets in anybody's words are escaped.
_FILE = re.compile(r"(?<!\\)\]\((?=figures/)")
# So many values of a figure are told to those who cannot see it.
_MAX_ALT_VALUES = 12
_SOURCE = re.compile(r"^\[(\d+)\] .*?(?= {2}$|$)", re.MULTILINE)
Cite = Callable[[str], int]


class Chapter(Value):
    """A heading and its paragraphs."""

    title: str
    paragraphs: tuple[Caption | Paragraph, ...]


class Report(Value):
    """A whole report before it is rendered; `about` is what the run did and could not do, a line each.

    `notice` is what a reader must know before all else. `knowledge` is what a model says by itself where no source was
    found; nothing of it is cited or checked. Without references, the report says where they are.
    """

    title: str
    notice: tuple[str, ...] = ()
    abstract: tuple[Caption | Paragraph, ...] = ()
    abstract_title: str = ""
    chapters: tuple[Chapter, ...] = ()
    disagreements: tuple[Paragraph, ...] = ()
    knowledge: str = ""
    gaps: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    run_line: str
    has_references: bool = True

    @property
    def paragraphs(self) -> list[Paragraph]:
        """Return all paragraphs in the order in which they are read."""
        body = (paragraph for chapter in self.chapters for paragraph in chapter.paragraphs)
        return [*self.abstract, *body, *self.disagreements]

    @property
    def captions(self) -> list[Caption]:
        """Return the figures in the order in which they are read."""
        return [paragraph for paragraph in self.paragraphs if isinstance(paragraph, Caption)]


def render(report: Report, citations: Citations, *, number_of: Cite, words: Words) -> str:
    """Return the report as Markdown; `number_of` gives the citation number of an evidence id."""
    blocks = [f"# {escape_heading(report.title)}"]
    if report.notice:
        blocks += [f"**{words('report.notice')}**", *_bullets(report.notice)]
    if report.abstract:
        title = report.abstract_title or words("report.abstract")
        report = report.model_copy(
            update={"chapters": (Chapter(title=title, paragraphs=report.abstract), *report.chapters)}
        )
    for chapter in report.chapters:
        blocks += [f"## {escape_heading(chapter.title)}", *_chapter(chapter, number_of, words)]
    knowledge = []
    if report.knowledge:
        knowledge = [f"*{words('report.knowledge_note')}*", escape_line(report.knowledge)]
    closing = {
        "knowledge": knowledge,
        "disagreements": [_paragraph(table, number_of, words) for table in report.disagreements],
        "gaps": _bullets(report.gaps),
        "references": _references(citations, words) if report.has_references else [],
        "about": _bullets([*report.about, *([] if report.has_references else [words("report.unlisted")])]),
    }
    for key, own in closing.items():
        blocks += [f"## {words(f'report.{key}')}", *own] if own else []
    return "\n\n".join([*blocks, "---", escape_line(report.run_line)]) + "\n"


def opening_of(report: str) -> str:
    """Return the first chapter of a rendered report, the sources that it cites, and what stands before it."""
    head, first, *others = _CHAPTER.split(report)
    sources = {match[1]: match[0] for chapter in others for match in _SOURCE.finditer(chapter)}
    cited = (sources[number] for number in dict.fromkeys(_MARKER.findall(first)) if number in sources)
    notes = head.partition("\n")[2].strip()
    shown = _PICTURE.sub("", first).strip()
    return "\n\n".join(filter(None, (f"## {shown}", "\n".join(cited), notes)))


def seen_from(folder: Path, report: str, *, run_folder: Path) -> str:
    """Return a report as it stands in another folder than its run's: its pictures are looked for where they are."""
    try:
        way = Path(os.path.relpath(run_folder, folder)).as_posix()
    except ValueError:  # another drive
        way = run_folder.as_posix()
    return _FILE.sub(lambda link: f"{link[0]}{quote(way)}/", report)


def _chapter(chapter: Chapter, number_of: Cite, words: Words) -> list[str]:
    blocks: list[str] = []
    lead, mark, number = "", "", 0
    for paragraph in chapter.paragraphs:
        text = _paragraph(paragraph, number_of, words)
        number = number + 1 if paragraph.mark == mark else 1
        mark = paragraph.mark
        if mark:
            # Items of a list stand below each other, each with its point in bold.
            sign = f"{number}." if paragraph.mark == "number" else "-"
            point = f"**{escape(paragraph.lead)}{words('report.stop')}** " if paragraph.lead else ""
            item = f"{sign} {point}{text}"
            if number > 1:
                blocks[-1] = f"{blocks[-1]}\n{item}"
            else:
                blocks.append(item)
            continue
        if paragraph.lead.endswith((":", "：")):
            # Who says it stands in the line itself: what comes next may be another's.
            text = f"{escape_line(paragraph.lead)}{'' if _WIDE_END.search(paragraph.lead) else ' '}{text}"
        elif paragraph.lead and paragraph.lead != lead:
            blocks.append(f"**{escape(paragraph.lead)}**")
        lead = paragraph.lead
        blocks.append(text)
    return blocks


def _paragraph(paragraph: Paragraph, number_of: Cite, words: Words) -> str:
    if paragraph.kind == "table":
        return _table(paragraph.sentences, number_of, words)
    if isinstance(paragraph, Caption):
        return _figure(paragraph, number_of, words)
    if paragraph.kind == "caption":
        return f"**{' '.join(escape(sentence.text) for sentence in paragraph.sentences)}**"
    text = joint = ""
    pending: tuple[str, ...] = ()
    for at, (sentence, after) in enumerate(zip_longest(paragraph.sentences, paragraph.sentences[1:])):
        # Chinese punctuation brings its own space.
        space = "" if _WIDE_END.search(sentence.text) else " "
        # What is concluded in one go names its sources once, at its end.
        pending = (*pending, *sentence.evidence)
        is_going_on = after is not None and sentence.kind == after.kind == "conclusion"
        markers = "" if is_going_on else _sources_of(sentence, pending, number_of, words)
        pending = pending if is_going_on else ()
        gap = space if markers else ""
        # Before the markers: a paragraph ends in one.
        is_partly = sentence.verdict and sentence.verdict.kind == "partly"
        doubt = f"{gap}{words('report.partly')}" if is_partly else ""
        piece = f"{joint}{escape(sentence.text) if at else escape_line(sentence.text)}{doubt}{gap}{markers}"
        # Right behind a marker a bracket would make a link of both, and a tilde could end a strike-through.
        text += f"\\{piece}" if piece[:1] in ("(", "~") and text.endswith("]") else piece
        # A sentence without a stop of its own is given one.
        joint = space if _STOP.search(sentence.text) else words("report.value_separator")
    return text


def _figure(caption: Caption, number_of: Cite, words: Words) -> str:
    """Return a picture with its values in words for those who do not see it, and below it title, sources and data."""
    figure, separator = caption.figure, words("report.value_separator")
    values = [
        f"{' '.join(filter(None, (row.series, row.label)))}{words('report.colon')}{row.value:,.15g}"
        for row in figure.rows[:_MAX_ALT_VALUES]
    ]
    more = ["…"] if len(figure.rows) > _MAX_ALT_VALUES else []
    told = words(f"figure.{figure.chart_type}", title=figure.title, values=separator.join([*values, *more]))
    alt = re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", escape(told))
    title = escape(" ".join(sentence.text for sentence in caption.sentences))
    sources = words("figure.sources", marks=_markers(caption.cite_ids, number_of))
    data = f"[{words('figure.data')}]({caption.file('.csv')})"
    return f"![{alt}]({caption.file('.png')})  \n**{title}** {sources} {data}"


def _sources_of(sentence: Sentence, evidence: Sequence[str], number_of: Cite, words: Words) -> str:
    """Return the markers of a sentence; those of what the report says itself are told from those of a source's words.

    A calculation is shown where a reader would not do it in the head.
    """
    markers = _markers(evidence, number_of)
    is_shown = sentence.kind == "calculation" and _WORTH_SHOWING.search(sentence.basis)
    if markers and is_shown and not sentence.cells and len(sentence.basis) <= _MAX_BASIS_CHARS:
        return words("report.computed", basis=escape(_equation(sentence.basis)), marks=markers)
    return f"{_CONCLUDED}{markers}" if markers and sentence.kind not in ("finding", "link") else markers


def _equation(basis: str) -> str:
    """Return a calculation as it is printed: 20132 * 82 / 100 as 20,132 × 82 ÷ 100."""
    grouped = _LONG_NUMBER.sub(lambda number: f"{int(number[0]):,}", basis)
    return " ".join(grouped.replace("*", " × ").replace("/", " ÷ ").split())


def _markers(evidence: Sequence[str], number_of: Cite) -> str:
    return "".join(f"[{number}]" for number in sorted(set(map(number_of, evidence))))


def _table(rows: Sequence[Sentence], number_of: Cite, words: Words) -> str:
    """Return rows as a pipe table, each with its marker; rows of one kind keep their own columns, one row is a line."""
    labels = [label for label, _ in max(rows, key=lambda row: len(row.cells)).cells]
    known = set(labels)
    if all(row.backing for row in rows):
        head, lines = _backed(rows, number_of, words)
    elif all(row.lead for row in rows):
        head = [words("report.figure"), words("report.statement")]
        lines = [[escape_cell(row.lead), escape_cell(row.text)] for row in rows]
    elif not any(row.cells for row in rows):
        head, lines = [words("report.statement")], [[escape_cell(row.text)] for row in rows]
    elif len(rows) == 1:
        return f"{escape_line(_labelled(rows[0].cells, words))} {_markers(rows[0].evidence, number_of)}"
    elif (
        (len(rows) >= TABLE_ROWS or not all(is_quoted(row) for row in rows))
        and len(known) == len(labels)
        and all(known.issuperset(dict(row.cells)) for row in rows)
    ):
        head = [escape_cell(label) for label in labels]
        lines = [[escape_cell(dict(row.cells).get(label, "")) for label in labels] for row in rows]
    else:
        head = [words("report.record"), words("report.values")]
        lines = [_record(row, words) for row in rows]
    lines = [[*line, _sources_of(row, row.evidence, number_of, words)] for line, row in zip(lines, rows, strict=True)]
    return _piped([*head, words("report.source")], lines)


def _backed(rows: Sequence[Sentence], number_of: Cite, words: Words) -> tuple[list[str], list[list[str]]]:
    """Return columns that say how well each figure is backed; the one of other figures only where there are any."""
    backings, separator = [row.backing or Backing() for row in rows], words("report.value_separator")
    columns = {
        "figure": [escape_cell(row.lead) for row in rows],
        "statement": [escape_cell(row.text) for row in rows],
        "origins": [_origins(backing, number_of, words) for backing in backings],
        "others": [
            separator.join(f"{escape_cell(figure)} [{number_of(id_)}]" for figure, id_ in backing.against) or "–"
            for backing in backings
        ],
        "dated": [_days(backing, words) for backing in backings],
    }
    if not any(backing.against for backing in backings):
        del columns["others"]
    return [words(f"report.{key}") for key in columns], [list(line) for line in zip(*columns.values(), strict=True)]


def _origins(backing: Backing, number_of: Cite, words: Words) -> str:
    marks = _markers(backing.also, number_of)
    return words("report.also", count=backing.origins, marks=marks) if marks else str(backing.origins)


def _days(backing: Backing, words: Words) -> str:
    """Return the day of the statement's source, and first and last of all that give the figure."""
    if backing.oldest == backing.newest:
        return escape_cell(backing.newest) or "–"
    days = words("report.days", own=backing.published or "–", oldest=backing.oldest, newest=backing.newest)
    return escape_cell(days)


def _record(row: Sentence, words: Words) -> list[str]:
    """Return what a row is about, its leading cells that name things, and what it says: the rest with labels."""
    named = 1 + next((at for at, (_, value) in enumerate(row.cells[1:-1]) if not is_label(value)), 0)
    about = " · ".join(value for _, value in row.cells[:named])
    return [escape_cell(about), escape_cell(_labelled(row.cells[named:], words))]


def _labelled(cells: Sequence[tuple[str, str]], words: Words) -> str:
    """Return cells one after the other, each behind the name of its column."""
    colon, separator = words("report.colon"), words("report.value_separator")
    return separator.join(f"{label}{colon}{value}" if label else value for label, value in cells)


def _piped(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def _references(citations: Citations, words: Words) -> list[str]:
    blocks: list[str] = []
    numbered = list(enumerate(citations.sources, start=1))
    cited, additional = numbered[: len(citations.cited)], numbered[len(citations.cited) :]
    parts = {
        "cited_sources": [one for one in cited if one[1].document not in citations.unused],
        "earlier_sources": [one for one in cited if one[1].document in citations.unused],
        "additional_sources": additional[:_MAX_UNCITED],
    }
    for key, sources in parts.items():
        if sources:
            blocks += [f"### {words(f'report.{key}')}", _listed(sources, words)]
    if len(citations.additional) > _MAX_UNCITED:
        blocks.append(words("report.more_sources", count=len(citations.additional) - _MAX_UNCITED))
    share, total = citations.share_cited, len(citations.sources)
    counts = (words("report.cited_share", share=share), words("report.total_sources", count=total))
    return [*blocks, f"{words('report.statistics')}{words('report.colon').rstrip()}", *_bullets(counts)]


def _short_title(source: Source) -> str:
    """Return a title; of a file of many messages only its first subject, as the places name those that are cited."""
    first, *others = source.title.split("; ")
    return f"{first} …" if len(others) > 1 and len(source.title) > _LONG_TITLE else source.title


def _by_sheet(places: Sequence[str]) -> list[str]:
    """Return places, rows of one sheet as one of them: Teams!A4:E4, A5:E5 and A8:E8 as Teams!A4:E5, A8:E8."""
    found: dict[str, list[tuple[str, int, str, int]]] = {}
    for place in places:
        match = _CELLS.match(place)
        rows = found.setdefault(match[1] if match else place, [])
        if match:
            left, top, right, bottom = match[2], int(match[3]), match[4], int(match[5])
            if rows and (rows[-1][0], rows[-1][2], rows[-1][3] + 1) == (left, right, top):
                top = rows.pop()[1]
            rows.append((left, top, right, bottom))
    return [sheet + ", ".join(f"{a}{top}:{b}{bottom}" for a, top, b, bottom in rows) for sheet, rows in found.items()]


def _listed(sources: Sequence[tuple[int, Source]], words: Words) -> str:
    lines = []
    for number, source in sources:
        # A page of the web is dated, and its first heading is its title again.
        is_page = source.address.startswith(("http://", "https://"))
        delivered = [source.delivered] if source.delivered else []
        listed = _by_sheet([place for place in source.places if not (is_page and source.title in place)])
        dated = [source.published[:10]] if is_page and source.published else []
        named = [*delivered, *dated, *listed[:_MAX_PLACES], *(["…"] if len(listed) > _MAX_PLACES else [])]
        places = f" ({escape(words('report.value_separator').join(named))})" if named else ""
        lines.append(f"[{number}] {escape(_short_title(source))} - {escape_address(source.address)}{places}")
    # Two blanks at a line's end keep the lines apart without making each a paragraph.
    return "  \n".join(lines)


def _bullets(items: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {escape_line(item)}" for item in items)] if items else []
