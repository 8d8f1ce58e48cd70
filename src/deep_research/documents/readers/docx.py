"""Word documents: paragraphs, headings, lists and tables in reading order, with the document's own properties."""

import io
import re
from datetime import datetime

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph
from lxml import etree

from deep_research.documents.readers.archive import DAMAGE, checked_names, day_saved
from deep_research.documents.readers.port import BlockText, Reading
from deep_research.errors import SourceError

_HEADING_STYLE = re.compile(r"(?:heading|标题|標題)\s*(\d)", re.IGNORECASE)
_TITLE_STYLES = frozenset({"title", "标题", "標題"})
_LIST_STYLE = re.compile(r"list|列表|清单|清單", re.IGNORECASE)
# What python-docx's own template carries; files made with it mostly still do.
_TEMPLATE_DATE = datetime(2013, 12, 23, 23, 15)  # noqa: DTZ001 - a stamp as written in the file, not a moment


def read(raw: bytes, name: str) -> Reading:
    """Return a Word document's text with its headings as places."""
    checked_names(raw, name)
    try:
        document = docx.Document(io.BytesIO(raw))
        blocks = _blocks_of(document)
        properties = document.core_properties
        title, author = properties.title or "", properties.author or ""
        published = day_saved(properties.modified, properties.created, _TEMPLATE_DATE)
    except (*DAMAGE, OpcError, etree.LxmlError) as exc:
        raise SourceError(
            f"{name!r} is damaged: Word's own parts are missing; open it in Word and save it again."
        ) from exc
    places = blocks.places()
    return Reading(
        text=blocks.text(),
        title=title.strip() or next((place.label for place in places), ""),
        author="" if author == "python-docx" else author.strip(),
        published=published,
        places=places,
    )


def _blocks_of(document: WordDocument) -> BlockText:
    blocks = BlockText()
    # Asking a paragraph for its style searches all styles each time: ten times slower than the whole rest.
    styles = {style.style_id: style.name or "" for style in document.styles}
    for content in document.iter_inner_content():
        if isinstance(content, Table):
            _add_table(content, blocks)
        else:
            _add_paragraph(content, styles.get(content._p.style or "", ""), blocks)
    return blocks


def _add_paragraph(paragraph: Paragraph, style: str, blocks: BlockText) -> None:
    if level := _heading_level(paragraph, style):
        blocks.heading(paragraph.text, level)
    elif paragraph._p.xpath("./w:pPr/w:numPr") or _LIST_STYLE.search(style):
        blocks.item(paragraph.text)
    else:
        blocks.paragraph(paragraph.text)


def _add_table(table: Table, blocks: BlockText) -> None:
    # Asking python-docx for a row's cells repeats each for every column it states to cover, and climbs from row to row.
    above: dict[int, str] = {}
    for row in table._tbl.tr_lst:
        cells: list[tuple[int, str]] = []
        column = row.grid_before
        for cell in row.tc_lst:
            is_merged = cell.vMerge == "continue"
            cells.append((column, above.get(column, "") if is_merged else _Cell(cell, table).text))
            column += cell.grid_span
        blocks.row(text for _, text in cells)
        above = dict(cells)
    blocks.end_block()


def _heading_level(paragraph: Paragraph, style: str) -> int:
    """Return 1 to 6 for a heading, 0 for anything else."""
    if style.lower() in _TITLE_STYLES:
        return 1
    if numbered := _HEADING_STYLE.match(style):
        return max(1, int(numbered[1]))
    outline = paragraph._p.xpath("./w:pPr/w:outlineLvl/@w:val")
    return int(outline[0]) + 1 if outline and int(outline[0]) < 6 else 0
