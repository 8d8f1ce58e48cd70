"""A report as a Word document: real headings, lists, tables and links, and fonts for Chinese and right-to-left text.

python-docx brings the package and its styles; what stands in the body is made here, element by element.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import docx
from docx.document import Document
from docx.image.exceptions import InvalidImageStreamError, UnexpectedEndOfFileError, UnrecognizedImageError
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Emu, Pt, RGBColor

from deep_research.export.contents import Contents
from deep_research.export.printed import (
    Passages,
    PrintedBlock,
    has_contents,
    is_number_column,
    is_web,
    printed,
    running_title,
    shares_of,
    subtitle,
)
from deep_research.messages.words import Words, words_in
from deep_research.report.escaping import one_line
from deep_research.report.layout import Heading, Items, Label, Picture, Prose, Reference, References, Span, Spans, Table

_LATIN = "Calibri"
# The font of East Asian signs, and the language that they are in.
_EAST_ASIAN = {
    "zh-Hant": ("Microsoft JhengHei", "zh-TW"),
    "ja": ("Yu Gothic", "ja-JP"),
    "ko": ("Malgun Gothic", "ko-KR"),
}
_CHINESE = ("Microsoft YaHei", "zh-CN")
_RIGHT_TO_LEFT = re.compile(
    r"([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\s\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])?)"
)
_LINK_COLOUR, _GREY = "0B5394", "595959"
_TEXT_WIDTH = Cm(16.2)
_PICTURE_WIDTH = Cm(15.8)
# The earliest moment that a zip file can name.
_ZIP_START = (1980, 1, 1, 0, 0, 0)
_BAD_PICTURE = (InvalidImageStreamError, UnexpectedEndOfFileError, UnrecognizedImageError)
# An element of the document; python-docx gives them no common type.
Element = Any


def to_docx(contents: Contents, target: Path | None) -> bytes:  # noqa: ARG001 every format is told its file
    """Return the report as a Word document; the same report gives the same bytes."""
    edition, words = contents.edition, words_in(contents.edition.language)
    document = docx.Document()
    _set_up(document, contents)
    writer = _Writer(document, contents.pictures, words)
    blocks = printed(contents)
    writer.add("Title", _run(one_line(edition.report.title)))
    writer.add("Subtitle", _run(subtitle(edition, words)))
    if has_contents(edition):
        writer.add_contents(blocks)
    for block in blocks:
        writer.add_block(block)
    writer.add("Normal", _run(one_line(edition.report.run_line), f"color:{_GREY}"), above=18)
    file = io.BytesIO()
    document.save(file)
    return _with_fixed_times(file.getvalue())


class _Writer:
    """Adds blocks to the body of a document."""

    def __init__(self, document: Document, pictures: Mapping[str, bytes], words: Words) -> None:
        self._document, self._pictures, self._words = document, pictures, words
        # What follows the last block holds the size of the page.
        self._end: Element = document.element.body[-1]
        self._headings = self._bookmarks = 0
        self._styles = {style.name: str(style.style_id) for style in document.styles}

    def add(
        self,
        style: str,
        *runs: Element,
        above: int | None = None,
        keep: bool = False,
        numbering: str | None = None,
        hanging: bool = False,
    ) -> None:
        """Add a paragraph."""
        properties = [_element("pStyle", val=self._styles[style])]
        if keep:
            properties.append(_element("keepNext"))
        if numbering is not None:
            properties.append(_element("numPr", _element("ilvl", val="0"), _element("numId", val=numbering)))
        if hanging:
            properties.append(_element("tabs", _element("tab", val="left", pos="567")))
        if above is not None:
            properties.append(_element("spacing", before=str(above * 20)))
        if hanging:
            properties.append(_element("ind", left="567", hanging="567"))
        self._end.addprevious(_element("p", _element("pPr", *properties), *runs))

    def add_block(self, block: PrintedBlock) -> None:
        """Add a block of the report."""
        match block:
            case Heading():
                self._headings += 1
                name = f"chapter-{self._headings}"
                self.add(f"Heading {block.level - 1}", *self._marked(name, *_runs(block.text)))
            case Label():
                self.add("Normal", *_runs(block.text, "b"), above=8, keep=True)
            case Prose():
                self.add("Normal", *self._spans(block.spans))
            case Items():
                self._add_items(block)
            case Table():
                self._add_table(block)
            case Picture():
                self._add_picture(block)
            case References():
                for source in block.sources:
                    self._add_reference(source)
            case Passages():
                self._add_passages(block)

    def add_contents(self, blocks: Sequence[PrintedBlock]) -> None:
        """Add a list of the chapters that leads to them; Word can make it anew with page numbers."""
        headings = enumerate((block for block in blocks if isinstance(block, Heading)), start=1)
        entries = [
            [_anchored(f"chapter-{at}", *_runs(heading.text, f"color:{_LINK_COLOUR}"))]
            for at, heading in headings
            if heading.level == 2
        ]
        self.add("Normal", *_runs(self._words("export.contents"), "b"), above=12, keep=True)
        if entries:
            entries[0][:0] = _field_start(r'TOC \o "1-1" \h \z')
            entries[-1].append(_field_mark("end"))
        for runs in entries:
            self.add("List", *runs)

    def _marked(self, name: str, *runs: Element) -> list[Element]:
        self._bookmarks += 1
        start = _element("bookmarkStart", id=str(self._bookmarks), name=name)
        return [start, *runs, _element("bookmarkEnd", id=str(self._bookmarks))]

    def _spans(self, spans: Spans, form: str = "") -> list[Element]:
        return [element for span in spans for element in self._span(span, form)]

    def _span(self, span: Span, form: str) -> Iterator[Element]:
        match span.kind:
            case "marker":
                yield _anchored(f"source-{span.text}", _run(f"[{span.text}]", f"{form} color:{_LINK_COLOUR}"))
            case "strong":
                yield from _runs(span.text, "b")
            case "emphasis":
                yield from _runs(span.text, "i")
            case "address":
                yield from self._address(span.text)
            case _:
                yield from _runs(span.text, form)

    def _add_items(self, block: Items) -> None:
        style = "List Number" if block.is_numbered else "List Bullet"
        number = self._new_numbering(style) if block.is_numbered else None
        for item in block.items:
            self.add(style, *self._spans(item), numbering=number)

    def _new_numbering(self, style: str) -> str:
        """Return the id of a numbering of a list's own: else Word goes on counting from list to list."""
        numbering: Element = self._document.part.numbering_part.element
        styled: Element = self._document.styles[style].element
        shared = numbering.num_having_numId(styled.pPr.numPr.numId.val)
        own = numbering.add_num(shared.abstractNumId.val)
        own.add_lvlOverride(ilvl=0).add_startOverride(1)
        return str(own.numId)

    def _add_table(self, table: Table) -> None:
        widths = [int(_TEXT_WIDTH * share) for share in shares_of(table)]
        right = [is_number_column(table, at) for at in range(len(table.head))]
        size = "16" if len(table.head) > 6 else "18"

        def cell(runs: Sequence[Element], at: int) -> Element:
            alignment = [_element("jc", val="right")] if right[at] else []
            spacing = _element("spacing", before="40", after="40", line="240", lineRule="auto")
            paragraph = _element("p", _element("pPr", spacing, *alignment), *runs)
            width = _element("tcW", w=str(Emu(widths[at]).twips), type="dxa")
            return _element("tc", _element("tcPr", width), paragraph)

        def line(cells: Sequence[Sequence[Element]], *, is_head: bool) -> Element:
            own = [_element("cantSplit"), *([_element("tblHeader")] if is_head else [])]
            made = [cell(runs, at) for at, runs in enumerate(cells)]
            return _element("tr", _element("trPr", *own), *made)

        borders = [
            _element(side, val="single", sz=weight, space="0", color=colour)
            for side, weight, colour in (("top", "8", "000000"), ("bottom", "6", "B7B7B7"), ("insideH", "4", "B7B7B7"))
        ]
        margins = [_element(side, w="80", type="dxa") for side in ("left", "right")]
        properties = [
            _element("tblW", w=str(Emu(sum(widths)).twips), type="dxa"),
            _element("tblBorders", *borders),
            _element("tblLayout", type="fixed"),
            _element("tblCellMar", *margins),
        ]
        grid = _element("tblGrid", *(_element("gridCol", w=str(Emu(width).twips)) for width in widths))
        form = f"sz:{size}"
        rows = [line([_runs(label, f"b {form}") for label in table.head], is_head=True)]
        rows += [line([self._spans(each, form) for each in row], is_head=False) for row in table.rows]
        self._end.addprevious(_element("tbl", _element("tblPr", *properties), grid, *rows))
        # Two tables that touch would be one.
        spacing = _element("spacing", before="0", after="0", line="160", lineRule="exact")
        self._end.addprevious(_element("p", _element("pPr", spacing)))

    def _add_picture(self, picture: Picture) -> None:
        data = self._pictures.get(picture.caption.figure.png, b"")
        run = self._document.add_paragraph().add_run()
        paragraph: Element = run._r.getparent()
        try:
            inline: Element = run.add_picture(io.BytesIO(data), width=_PICTURE_WIDTH)._inline
        except _BAD_PICTURE:
            paragraph.getparent().remove(paragraph)
            self.add("Normal", *_runs(f"{self._words('export.no_picture')} {picture.alt}", "i"), keep=True)
        else:
            inline.docPr.set("descr", picture.alt)
            for side in ("distT", "distB", "distL", "distR"):
                inline.set(side, "0")
            paragraph.get_or_add_pPr().append(_element("keepNext"))
            self._end.addprevious(paragraph)
        self.add("Caption", *_runs(f"{picture.title} ", "b"), *self._spans(picture.sources))

    def _add_reference(self, source: Reference) -> None:
        self.add(
            "Normal",
            *self._marked(f"source-{source.number}", _run(f"[{source.number}]")),
            _element("r", _element("tab")),
            *_runs(source.title),
            _element("r", _element("br")),
            *self._address(source.address),
            *(_runs(f" ({source.note})", f"color:{_GREY}") if source.note else ()),
            hanging=True,
        )

    def _address(self, address: str) -> list[Element]:
        if not is_web(address):
            return _runs(address, f"color:{_GREY}")
        link = _element("hyperlink", *_runs(address, f"color:{_LINK_COLOUR}"))
        link.set(qn("r:id"), self._document.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
        return [link]

    def _add_passages(self, block: Passages) -> None:
        for source in block.sources:
            mark = _anchored(f"source-{source.number}", _run(f"[{source.number}]", f"b color:{_LINK_COLOUR}"))
            self.add("Normal", mark, *_runs(f" {source.title}", "b"), above=8, keep=True)
            for passage in source.passages:
                header = _runs(f"{passage.header}\n", f"sz:18 color:{_GREY}") if passage.header else []
                place = _runs(f" ({passage.place})", f"sz:17 color:{_GREY}") if passage.place else []
                self.add("Quote", *header, *_runs(passage.quote, "sz:19"), *place)


def _element(name: str, /, *children: Element, **attributes: str) -> Element:
    element: Element = OxmlElement(f"w:{name}")
    for key, value in attributes.items():
        element.set(qn(f"w:{key}"), value)
    element.extend(children)
    return element


def _text_element(name: str, text: str) -> Element:
    element = _element(name)
    element.text = text
    element.set(qn("xml:space"), "preserve")
    return element


def _runs(text: str, form: str = "") -> list[Element]:
    """Return runs of a text; what is written from right to left is in runs of its own."""
    parts = _RIGHT_TO_LEFT.split(text)
    # Every second one is what the text was split at.
    return [_run(part, f"{form} rtl" if at % 2 else form) for at, part in enumerate(parts) if part]


def _run(text: str, form: str = "") -> Element:
    """Return a run; its form is named by words: b, i, rtl, color:0B5394, sz:18 (in half points)."""
    properties = []
    forms = dict(word.partition(":")[::2] for word in form.split())
    # The order is that of the schema; bCs, iCs and szCs are for letters that are written from right to left.
    for name in ("b", "i", "color", "sz", "rtl"):
        if name in forms:
            attributes = {"val": forms[name]} if forms[name] else {}
            properties.append(_element(name, **attributes))
            if name in ("b", "i", "sz"):
                properties.append(_element(f"{name}Cs", **attributes))
    parts: list[Element] = []
    for number, line in enumerate(text.split("\n")):
        if number:
            parts.append(_element("br"))
        parts.append(_text_element("t", line))
    return _element("r", *([_element("rPr", *properties)] if properties else []), *parts)


def _anchored(name: str, *runs: Element) -> Element:
    return _element("hyperlink", *runs, anchor=name, history="1")


def _field_mark(kind: str) -> Element:
    return _element("r", _element("fldChar", fldCharType=kind))


def _field_start(instruction: str) -> list[Element]:
    said = _element("r", _text_element("instrText", instruction))
    return [_field_mark("begin"), said, _field_mark("separate")]


def _set_up(document: Document, contents: Contents) -> None:
    """Set the page, the styles, the running title, the page numbers and the document's properties."""
    edition = contents.edition
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.4)
    section.top_margin, section.bottom_margin = Cm(2.7), Cm(2.4)
    section.different_first_page_header_footer = True
    east_asian, region = _EAST_ASIAN.get(edition.language, _CHINESE)
    for name, size, above, below in (
        ("Normal", 10.5, 0, 7),
        ("Title", 22, 0, 4),
        ("Subtitle", 9.5, 0, 14),
        ("Heading 1", 15, 18, 6),
        ("Heading 2", 12, 12, 4),
        ("List Bullet", 10.5, 0, 4),
        ("List Number", 10.5, 0, 4),
        ("List", 10.5, 0, 2),
        ("Caption", 9.5, 2, 12),
        ("Quote", 9.5, 0, 6),
        ("Header", 8.5, 0, 0),
        ("Footer", 8.5, 0, 0),
    ):
        style: Any = document.styles[name]
        style.font.size = Pt(size)
        style.font.color.rgb = RGBColor.from_string(_GREY if name in ("Subtitle", "Header", "Footer") else "1A1A1A")
        style.font.italic = False
        style.font.bold = name in ("Title", "Heading 1", "Heading 2")
        style.paragraph_format.space_before, style.paragraph_format.space_after = Pt(above), Pt(below)
        fonts: Element = style.element.get_or_add_rPr().get_or_add_rFonts()
        fonts.attrib.clear()
        for key in ("ascii", "hAnsi", "cs"):
            fonts.set(qn(f"w:{key}"), _LATIN)
        fonts.set(qn("w:eastAsia"), east_asian)
    quoted: Any = document.styles["Quote"]
    quoted.paragraph_format.left_indent = Cm(0.6)
    normal: Any = document.styles["Normal"]
    normal.paragraph_format.line_spacing = 1.15
    own = region if edition.language.startswith("zh") else {"en": "en-GB"}.get(edition.language, edition.language)
    normal.element.rPr.append(_element("lang", val=own, eastAsia=region, bidi="ar-SA"))
    _set_properties(document, contents)
    header: Element = section.header.paragraphs[0]._p
    header.append(_run(running_title(edition)))
    for footer in (section.footer, section.first_page_footer):
        paragraph: Element = footer.paragraphs[0]._p
        paragraph.get_or_add_pPr().append(_element("jc", val="center"))
        for instruction, after in (("PAGE", " / "), ("NUMPAGES", "")):
            for part in (*_field_start(instruction), _run("1"), _field_mark("end"), _run(after)):
                paragraph.append(part)


def _set_properties(document: Document, contents: Contents) -> None:
    edition = contents.edition
    properties = document.core_properties
    made = edition.created_at.replace(tzinfo=None, microsecond=0)
    # The format takes no longer texts.
    properties.title, properties.subject = one_line(edition.report.title)[:255], one_line(edition.question)[:255]
    properties.author = properties.last_modified_by = "Deep Research"
    properties.comments, properties.language = one_line(edition.report.run_line)[:255], edition.language
    properties.keywords = "; ".join(one_line(chapter.title) for chapter in edition.report.chapters)[:255]
    properties.created = properties.modified = made
    properties.revision = 1


def _with_fixed_times(package: bytes) -> bytes:
    """Return a zip file with the same members, which tell no time."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, _ZIP_START), old.read(name), zipfile.ZIP_DEFLATED)
    return file.getvalue()
