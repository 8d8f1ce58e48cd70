"""A report as a Word document: real headings, lists, tables and links, and fonts for Chinese and right-to-left text.

python-docx brings the package and its styles; what stands in the body comes from the template `document.xml`.
"""

import io
import re
import zipfile
from collections.abc import Mapping
from itertools import count
from typing import Any, NamedTuple

import docx
from docx.document import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.image.exceptions import InvalidImageStreamError, UnexpectedEndOfFileError, UnrecognizedImageError
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import qn
from docx.shared import Cm, Emu, Pt, RGBColor

from deep_research.export.contents import Contents
from deep_research.export.markup import rendered
from deep_research.export.printed import WRITING, is_number_column, printed, shares_of
from deep_research.export.zipped import zipped
from deep_research.report.edition import Edition
from deep_research.report.escaping import one_line
from deep_research.report.layout import Heading, Picture, Table
from deep_research.text.messages.words import words_in

_LATIN = "Calibri"
_RIGHT_TO_LEFT = re.compile(
    r"([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\s\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])?)"
)
_GREY = "595959"
# Stands where a picture goes.
_PICTURE = qn("w:picture")
_TEXT_WIDTH = Cm(16.2)
_PICTURE_WIDTH = Cm(15.8)
_BAD_PICTURE = (InvalidImageStreamError, UnexpectedEndOfFileError, UnrecognizedImageError)
# An element of the document; python-docx gives them no common type.
Element = Any


def to_docx(contents: Contents) -> bytes:
    """Return the report as a Word document; the same report gives the same bytes."""
    edition, words = contents.edition, words_in(contents.edition.language)
    document, pages = docx.Document(), printed(contents)
    _set_up(document, edition, pages.running_title)
    package = _Package(document, contents.pictures)
    headings = enumerate((block for block in pages.blocks if isinstance(block, Heading)), start=1)
    body = rendered(
        "document.xml",
        edition=edition,
        words=words,
        subtitle=pages.subtitle,
        has_contents=pages.has_contents,
        chapters=[(number, heading.text) for number, heading in headings if heading.level == 2],
        blocks=[(type(block).__name__, block) for block in pages.blocks],
        styles={style.name: style.style_id for style in document.styles},
        package=package,
    )
    # What follows the last block holds the size of the page.
    end: Element = document.element.body[-1]
    for element in list(parse_xml(body)):
        end.addprevious(package.pictures.pop(0) if element.tag == _PICTURE else element)
    file = io.BytesIO()
    document.save(file)
    with zipfile.ZipFile(file) as package_file:
        return zipped((name, package_file.read(name)) for name in package_file.namelist())


class _TableFormat(NamedTuple):
    """How wide a table and its columns are, and which of them end at one line."""

    width: int
    widths: list[int]
    right: list[bool]


class _Package:
    """What the template asks of the package: ids of what it makes on the way, and forms of texts and tables."""

    def __init__(self, document: Document, pictures: Mapping[str, bytes]) -> None:
        self._document, self._files = document, pictures
        self.pictures: list[Element] = []
        self.chapter, self.bookmark = count(1).__next__, count(1).__next__

    def link(self, address: str) -> str:
        """Return the id of a link out of the document."""
        return self._document.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)

    def numbering(self, style: str) -> str:
        """Return the id of a numbering of a list's own: else Word goes on counting from list to list."""
        numbering: Element = self._document.part.numbering_part.element
        styled: Element = self._document.styles[style].element
        shared = numbering.num_having_numId(styled.pPr.numPr.numId.val)
        own = numbering.add_num(shared.abstractNumId.val)
        own.add_lvlOverride(ilvl=0).add_startOverride(1)
        return str(own.numId)

    def picture(self, picture: Picture) -> bool:
        """Make a paragraph of a picture; return whether its file is one."""
        paragraph = self._document.add_paragraph()
        data = io.BytesIO(self._files.get(picture.caption.figure.png, b""))
        try:
            inline: Element = paragraph.add_run().add_picture(data, width=_PICTURE_WIDTH)._inline
        except _BAD_PICTURE:
            self._document.element.body.remove(paragraph._p)
            return False
        inline.docPr.set("descr", picture.alt)
        for side in ("distT", "distB", "distL", "distR"):
            inline.set(side, "0")
        paragraph.paragraph_format.keep_with_next = True
        self.pictures.append(paragraph._p)
        return True

    @staticmethod
    def form_of(table: Table) -> _TableFormat:
        """Return how a table fills the page, in twentieths of a point."""
        widths = [int(_TEXT_WIDTH * share) for share in shares_of(table)]
        right = [is_number_column(table, at) for at in range(len(widths))]
        return _TableFormat(Emu(sum(widths)).twips, [Emu(width).twips for width in widths], right)

    @staticmethod
    def directed(text: str) -> list[tuple[str, bool]]:
        """Return a text in parts, each with whether it is written from right to left."""
        # Every second one is what the text was split at.
        return [(part, bool(at % 2)) for at, part in enumerate(_RIGHT_TO_LEFT.split(text)) if part]


def _set_up(document: Document, edition: Edition, running_title: str) -> None:
    """Set the page, the styles, the running title, the page numbers and the document's properties."""
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.4)
    section.top_margin, section.bottom_margin = Cm(2.7), Cm(2.4)
    section.different_first_page_header_footer = True
    # Signs of Chinese may stand in a report of any language.
    *tag, _, east_asian = WRITING.get(edition.language, WRITING["zh-Hans"])
    region = "-".join(tag)
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
    language = {"val": own, "eastAsia": region, "bidi": "ar-SA"}
    normal.element.rPr.append(OxmlElement("w:lang", {qn(f"w:{key}"): value for key, value in language.items()}))
    section.header.paragraphs[0].add_run(running_title)
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
        paragraph._p.extend(parse_xml(rendered("footer.xml")))
    properties = document.core_properties
    made = edition.created_at.replace(tzinfo=None, microsecond=0)
    # The format takes no longer texts.
    properties.title, properties.subject = one_line(edition.report.title)[:255], one_line(edition.question)[:255]
    properties.author = properties.last_modified_by = "Deep Research"
    properties.comments, properties.language = one_line(edition.report.run_line)[:255], edition.language
    properties.keywords = "; ".join(one_line(chapter.title) for chapter in edition.report.chapters)[:255]
    properties.created = properties.modified = made
    properties.revision = 1
