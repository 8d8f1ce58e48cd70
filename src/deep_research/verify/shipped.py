"""A report and the files beside it as they were shipped, read again to be checked.

The report is taken apart: its blocks, which of them must be cited, its markers and its references. Of
`paragraphs.jsonl`, `evidence.jsonl` and `citations.json` only what checking needs is read, and nothing is taken for
granted: a line that cannot be read is named, not skipped.
"""

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research.report.citation import Source
from deep_research.report.edition import Edition
from deep_research.report.escaping import unescape, without_escaped
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import Caption, ChartType, Figure
from deep_research.report.paragraph import ListMark, Paragraph, ParagraphKind, Sentence, Strings, Verdict
from deep_research.request import Language
from deep_research.text.markdown import Block as MarkdownBlock
from deep_research.text.markdown import blocks_of
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import words_in
from deep_research.text.tables import find_tables
from deep_research.value import json_of

BlockKind = Literal["heading", "prose", "item", "table", "caption", "label", "rule"]
ReferencePart = Literal["cited", "earlier", "additional"]

_MARKER = re.compile(r"(?<![\\!A-Za-z0-9_])\[(\d{1,4})\]|(?<=[A-Za-z0-9_])\[(\d{1,4})\](?![A-Za-z0-9_])")
_MARKERS_AT_END = re.compile(r"(?<!\\)(?:\[\d{1,4}\])+[\s.。!！?？)）\"”」]*$")
# What brackets mean inside an address or code is not ours to read; markers right after an address are.
_OPAQUE = re.compile(
    r"(?m:^\[\d+\]:.*$)|\[[^\[\]\n]*\]\([^\s)]+\)|`[^`\n]+`|(?:https?|file)://[^\s<>\"，。；、）」]*?(?=[.,;:!?)]?(?:\[\d{1,4}\])*(?:[\s，。；、）」]|$))"
)
_REFERENCE = re.compile(r"\[(\d{1,6})\] (\S.*?) - (\S.*)")
_CAPTION = re.compile(r"!\[|[*_]{0,3}(?:Figure|Fig\.|Table|图|圖|表)\s?\d+[*_]{0,3}\s?[:.：。]")
_LABEL = re.compile(r"\*\*(?:\\.|[^*\\.。!?！？]){1,60}\*\*[:：]?$")
# What a paragraph is by its first line.
_NAMED: tuple[tuple[re.Pattern[str], BlockKind], ...] = ((_CAPTION, "caption"), (_LABEL, "label"))


class ReferenceLine(NamedTuple):
    """A line of the references: of those that the report cites, or only the one before a follow-up, or neither."""

    number: int
    part: ReferencePart
    text: str = ""


class ReportBlock(NamedTuple):
    """A paragraph, list item, table, heading or other block; `is_exempt` if it stands where no claim is made."""

    kind: BlockKind
    text: str
    is_exempt: bool


class ShippedReport(NamedTuple):
    """A report file, read: the body's blocks, the references in order, and lines among them that are none.

    `is_unlisted` if it says itself that its references were left out.
    """

    language: Language
    blocks: tuple[ReportBlock, ...]
    references: tuple[ReferenceLine, ...]
    malformed: Strings
    is_unlisted: bool = False

    @property
    def is_numbered(self) -> bool:
        """Say whether all references have numbers from 1 on, in order, those that are cited nowhere last.

        Of those that an earlier report cites, the ones that are cited here again stand in a list of their own.
        """
        cited, earlier, others = (
            [one.number for one in self.references if one.part == part] for part in get_args(ReferencePart)
        )
        in_order = cited == sorted(cited) and earlier == sorted(earlier)
        return in_order and [*sorted(cited + earlier), *others] == list(range(1, len(self.references) + 1))


def read_report(text: str) -> ShippedReport:
    """Take a report apart; headings are recognised in every language we write."""
    exempt = headings_of("gaps", "about", "knowledge", "notice")
    part_kinds = dict.fromkeys(headings_of("references", "pictures"), "references") | dict.fromkeys(exempt, "exempt")
    parts: dict[str, ReferencePart] = {
        title: key for key in get_args(ReferencePart) for title in headings_of(f"{key}_sources")
    }
    unlisted = headings_of("unlisted")
    blocks = []
    listed = []
    malformed = []
    part_kind = "body"
    part: ReferencePart = "cited"
    is_unlisted = after_assumptions = False
    for found in blocks_of(text):
        kind, block = _kind(found), found.marked
        if kind == "heading":
            level, title = len(found.mark), found.text
            if part_kind == "references" and level > 2:
                part = parts.get(title, part)
                continue
            if level <= 2:
                part_kind = part_kinds.get(title, "body") if level == 2 else "body"
                part = "cited"
        if part_kind == "references":
            for line in block.split("\n") if kind == "prose" else ():
                if match := _REFERENCE.fullmatch(line):
                    listed.append(ReferenceLine(int(match[1]), part, line))
                elif line.startswith("["):
                    malformed.append(line)
            continue
        names_assumptions = kind == "label" and block.strip("*:： ") in exempt
        after_assumptions = (after_assumptions and kind == "item") or names_assumptions
        blocks.append(ReportBlock(kind, block, part_kind == "exempt" or after_assumptions))
        is_unlisted |= part_kind == "exempt" and unescape(found.text) in unlisted
    return ShippedReport(_language(text), tuple(blocks), tuple(listed), tuple(malformed), is_unlisted)


def markers(text: str) -> list[int]:
    """Return the citation numbers of a block in order."""
    found = _MARKER.findall(_OPAQUE.sub(" ", without_escaped(text)))
    return [int(spaced or joined) for spaced, joined in found]


def ends_in_marker(text: str) -> bool:
    """Return whether a block's last words carry a citation."""
    return bool(_MARKERS_AT_END.search(text))


def rows_of(block: ReportBlock) -> list[str]:
    """Return the lines of a table below its header; code has none."""
    tables = find_tables(block.text) if block.text.startswith("|") else ()
    return [block.text[row.start : row.end] for table in tables for row in table.rows]


def letters_of(block: str) -> str:
    """Return the letters that a block shows, without markers and white space."""
    return "".join(unescape(_MARKER.sub("", block)).split())


def headings_of(*keys: str) -> set[str]:
    """Return what parts of our own reports are called, in every language."""
    return {words_in(language)(f"report.{key}") for key in keys for language in LANGUAGES}


def _language(text: str) -> Language:
    lines = {line.strip("# ") for line in lines_of(text) if line.startswith("## ")}
    fixed = ("report.references", "report.about")
    return next((language for language in LANGUAGES if lines.intersection(map(words_in(language), fixed))), "en")


def _kind(block: MarkdownBlock) -> BlockKind:
    """Return what a block of Markdown is in a report; fenced code counts as a table."""
    if block.kind == "code":
        return "table"
    if block.kind == "prose":
        for pattern, kind in _NAMED:
            if pattern.match(block.text):
                return kind
    return block.kind


def lines_of(text: str) -> list[str]:
    """Return the lines of Markdown."""
    # Not `splitlines`: a form feed or a line separator inside a sentence ends no line of Markdown.
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


class _Shipped(BaseModel):
    """A record of a file; fields that checking does not need are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ShippedVerdict(Verdict):
    """A verdict of `paragraphs.jsonl`."""

    model_config = _Shipped.model_config


class ShippedSentence(Sentence):
    """A sentence of `paragraphs.jsonl`."""

    model_config = _Shipped.model_config

    verdict: ShippedVerdict | None = None


class ShippedFigure(Figure):
    """A figure of `paragraphs.jsonl`; its files are named as seen from there."""

    model_config = _Shipped.model_config

    number: int
    files: Strings
    title: str = ""
    chart_type: ChartType = "line"
    png: str = ""


class ShippedParagraph(_Shipped):
    """A line of `paragraphs.jsonl`; earlier versions wrote no `lead`, and no `edition.json` beside it."""

    id: str
    section: str
    kind: ParagraphKind
    lead: str | None = None
    mark: ListMark = ""
    text: str
    cite_ids: Strings
    sentences: tuple[ShippedSentence, ...] = ()
    figure: ShippedFigure | None = None

    @property
    def original(self) -> Paragraph:
        """Return the paragraph that was written here."""
        sentences = self.sentences or (Sentence(text=self.text, evidence=self.cite_ids),)
        made = Paragraph(
            section=self.section, kind=self.kind, lead=self.lead or "", mark=self.mark, sentences=sentences
        )
        if not self.figure:
            return made
        return Caption(**dict(made), number=self.figure.number, figure=self.figure)


class ShippedEvidence(Evidence):
    """A line of `evidence.jsonl`."""

    model_config = _Shipped.model_config

    start: int = -1
    end: int = -1
    quote: str = ""
    finding: str = ""
    section: str = ""
    place: str | None = None


class ShippedSource(Source):
    """A source of `citations.json`."""

    model_config = _Shipped.model_config

    title: str = ""
    address: str = ""


class Listing(_Shipped):
    """What stands beside a report; `broken` names the lines that cannot be read."""

    paragraphs: tuple[ShippedParagraph, ...] = ()
    evidence: dict[str, ShippedEvidence] = {}
    sources: dict[int, ShippedSource] = {}
    edition: Edition | None = None
    is_missing: bool = False
    broken: Strings = ()

    def number_of(self, evidence: str) -> int | None:
        """Return the citation number under which an evidence id stands in the report."""
        piece = self.evidence.get(evidence)
        return self._numbers.get(piece.document) if piece else None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {source.document: number for number, source in self.sources.items()}


def read_listing(paragraphs_path: Path) -> Listing:
    """Read `paragraphs.jsonl` and the files beside it."""
    broken: list[str] = []
    paragraphs = _read_lines(paragraphs_path, ShippedParagraph, broken)
    evidence = _read_lines(paragraphs_path.with_name("evidence.jsonl"), ShippedEvidence, broken)
    edition = _read(paragraphs_path.with_name("edition.json"), _edition_of, None, broken)
    if not edition and any(each.lead is not None for each in paragraphs):
        broken.append("edition.json")
    return Listing(
        paragraphs=tuple(paragraphs),
        evidence={piece.id: piece for piece in evidence},
        sources=_read(paragraphs_path.with_name("citations.json"), _sources_of, {}, broken),
        edition=edition,
        is_missing=not paragraphs_path.is_file(),
        broken=tuple(dict.fromkeys(broken)),
    )


_Record = TypeVar("_Record", bound=BaseModel)
_Content = TypeVar("_Content")


def _read_lines(path: Path, record: type[_Record], broken: list[str]) -> list[_Record]:
    found = []
    # Not `splitlines`: JSON leaves line separators of other kinds inside strings as they are.
    for number, line in enumerate(_read(path, str, "", broken).split("\n"), start=1):
        if line.strip():
            try:
                found.append(record.model_validate_json(line))
            except ValidationError:
                broken.append(f"{path.name}:{number}")
    return found


def _sources_of(text: str) -> dict[int, ShippedSource]:
    listed: Any = json_of(text)
    return {int(number): ShippedSource.model_validate(source) for number, source in listed.items()}


def _edition_of(text: str) -> Edition:
    edition = Edition.from_json(json_of(text))
    for id_ in (id_ for each in edition.report.paragraphs for id_ in each.cite_ids):
        edition.number_of(id_)
    return edition


def _read(path: Path, parse: Callable[[str], _Content], empty: _Content, broken: list[str]) -> _Content:
    """Return what a file holds, or what an empty one would; one that is there and cannot be read is named."""
    try:
        text = path.read_text(encoding="utf-8")
        return parse(text) if text else empty
    except FileNotFoundError:
        return empty
    except (OSError, ValueError, LookupError, AttributeError):
        broken.append(path.name)
        return empty
