"""A report as Markdown: the blocks of its layout with their signs escaped."""

import os
import re
from pathlib import Path
from urllib.parse import quote

from deep_research.report.citation import Citations, Source
from deep_research.report.escaping import escape, escape_address, escape_cell, escape_heading, escape_line
from deep_research.report.layout import (
    Block,
    Cite,
    Heading,
    Items,
    Label,
    Picture,
    Prose,
    References,
    ReportLayout,
    Span,
    Spans,
    Table,
    chapter_blocks,
    laid_out,
    reference,
)
from deep_research.report.paragraph import Paragraph
from deep_research.text.messages.words import Words

_CHAPTER = re.compile(r"^## ", re.MULTILINE)
_MARKER = re.compile(r"\[(\d{1,3})\]")
_PICTURE = re.compile(r"^!\[.*\n", re.MULTILINE)
# A link of ours: brackets in anybody's words are escaped.
_FILE = re.compile(r"(?<!\\)\]\((?=figures/)")
_SOURCE = re.compile(r"^\[(\d+)\] .*?(?= {2}$|$)", re.MULTILINE)


def render(report: ReportLayout, citations: Citations, *, number_of: Cite, words: Words) -> str:
    """Return the report as Markdown; `number_of` gives the citation number of an evidence id."""
    layout = laid_out(report, citations, number_of=number_of, words=words)
    blocks = [f"# {escape_heading(report.title)}", *(_block(block, words) for block in layout)]
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


def render_alone(paragraph: Paragraph, *, number_of: Cite, words: Words) -> list[str]:
    """Return the blocks of a paragraph as if it were alone in its chapter: a label, if it has one, and its text."""
    return [_block(block, words) for block in chapter_blocks([paragraph], number_of, words)]


def render_source(source: Source, number: int, words: Words) -> str:
    """Return the line of a source in the references."""
    return _block(References((reference(number, source, words),)), words)


def _block(block: Block, words: Words) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {escape_heading(text)}"
        case Label(text):
            return f"**{escape(text)}**"
        case Prose(spans):
            return _line(spans)
        case Items(items, is_numbered):
            signs = (f"{number}." if is_numbered else "-" for number in range(1, len(items) + 1))
            return "\n".join(f"{sign} {_line(item)}" for sign, item in zip(signs, items, strict=True))
        case Table(head, rows):
            cells = [["".join(map(_cell, cell)) for cell in row] for row in rows]
            piped = ([escape_cell(label) for label in head], ["---"] * len(head), *cells)
            return "\n".join(f"| {' | '.join(row)} |" for row in piped)
        case Picture(caption, alt, title, sources):
            alt = re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", escape(alt))
            data = f"[{words('figure.data')}]({caption.file('.csv')})"
            return f"![{alt}]({caption.file('.png')})  \n**{escape(title)}** {_line(sources)} {data}"
        case References(sources):
            lines = (
                f"[{number}] {escape(title)} - {escape_address(address)}{f' ({escape(note)})' if note else ''}"
                for number, title, address, note in sources
            )
            # Two blanks at a line's end keep the lines apart without making each a paragraph.
            return "  \n".join(lines)


def _line(spans: Spans) -> str:
    line = ""
    for span in spans:
        piece = escape_line(span.text) if span.kind == "text" and not line else _piece(span)
        # Right behind a marker a bracket would make a link of both, and a tilde could end a strike-through.
        line += f"\\{piece}" if piece[:1] in ("(", "~") and line.endswith("]") else piece
    return line


def _cell(span: Span) -> str:
    return escape_cell(span.text) if span.kind == "text" else _piece(span)


def _piece(span: Span) -> str:
    match span.kind:
        case "text":
            return escape(span.text)
        case "fixed":
            return span.text
        case "strong":
            return f"**{escape(span.text)}**"
        case "emphasis":
            return f"*{span.text}*"
        case "marker":
            return f"[{span.text}]"
        case "address":
            return escape_address(span.text)
