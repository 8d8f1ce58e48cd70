"""PDF files by page: lines joined to paragraphs, tables read as rows, running heads and feet dropped."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from ctypes import byref, c_int, create_string_buffer
from itertools import chain, groupby, islice
from typing import NamedTuple

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage
from pypdfium2 import raw as pdfium

from deep_research.documents.readers.grid import explains_columns, explanation, read_header
from deep_research.documents.readers.pdf_lines import join_lines, width_of, with_whole_characters
from deep_research.documents.readers.pdf_tables import PageTable, find_page_tables
from deep_research.documents.readers.port import MAX_PAGES, BlockText, Reading, is_no_title
from deep_research.errors import SourceDamaged, SourceError, SourceProtected
from deep_research.report.sources.document import DocumentLink, Place
from deep_research.text.tables import is_label

_PROPERTIES = ("Title", "Author", "CreationDate", "ModDate")
_PDF_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?")
_LINE_END_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")
_MAX_TITLE_CHARS = 150
_MAX_LINKS, _MAX_ADDRESS_BYTES = 400, 2_000
# Looking for tables takes longer than reading: some 500 full pages are looked through.
_MAX_TABLE_CHARS = 1_500_000
# Lines at a page's edge that repeat on this share of at least so many pages are not part of the text.
_REPEATED_SHARE, _REPEATED_MIN_PAGES, _EDGE_LINES = 0.6, 3, 2
_PAGE_NUMBER = re.compile(
    r"(?:page\s*)?[-–—]?\s*\d{1,4}\s*[-–—]?(?:\s*(?:of|/)\s*\d{1,4})?|第\s*\d{1,4}\s*页.*", re.IGNORECASE
)
# The lines and tables of a page in reading order.
_Page = list[str | PageTable]


def read(raw: bytes, name: str) -> Reading:
    """Return a PDF's text with its pages as places; refuse one that is protected, damaged or only scanned."""
    pages, links, metadata, page_count = _extract(raw, name)
    if not any(pages):
        raise SourceError(
            f"{name!r} has no text layer (it looks scanned); run it through text recognition (OCR) first."
        )
    text, places = _join_pages(_without_running_lines(pages))
    first_line = next((line for page in pages for line in page if isinstance(line, str)), "")
    title = metadata["Title"].strip()
    if not title or is_no_title(title):
        title = first_line if len(first_line) <= _MAX_TITLE_CHARS else ""
    warnings = [f"only the first {MAX_PAGES} of {page_count} pages were read"] if page_count > MAX_PAGES else []
    if empty := pages.count([]):
        warnings.append(f"{empty} of {len(pages)} pages have no text layer")
    return Reading(
        text=text,
        title=title,
        author=metadata["Author"].strip(),
        published=_iso_date(metadata["CreationDate"] or metadata["ModDate"]),
        places=places,
        links=tuple(links),
        warnings=tuple(warnings),
    )


def _extract(raw: bytes, name: str) -> tuple[list[_Page], list[DocumentLink], dict[str, str], int]:
    """Return the lines and tables of each page, the links, the document's properties and its number of pages."""
    try:
        document = PdfDocument(raw)
    except PdfiumError as exc:
        if exc.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise SourceProtected(f"{name!r} is protected by a password; save a copy without one.") from exc
        raise SourceDamaged(f"{name!r} is damaged: it cannot be opened as PDF; download or export it again.") from exc
    try:
        pages: list[_Page] = []
        links: list[DocumentLink] = []
        chars = 0
        for index in range(min(len(document), MAX_PAGES)):
            with closing(document[index]) as page, closing(page.get_textpage()) as content:
                chars += content.count_chars()
                may_have_tables = chars <= _MAX_TABLE_CHARS
                pages.append(_read_page(page, content, pages[-1] if pages else [], may_hold_tables=may_have_tables))
                links += islice(_links_on(document, page, content), max(0, _MAX_LINKS - len(links)))
        return pages, links, {key: _property(document, key) for key in _PROPERTIES}, len(document)
    except PdfiumError as exc:
        raise SourceDamaged(f"{name!r} is damaged: its pages cannot be read; download or export it again.") from exc
    finally:
        document.close()


def _links_on(document: PdfDocument, page: PdfPage, content: PdfTextPage) -> Iterator[DocumentLink]:
    """Yield the links of a page that lead out of the file, each with its own line, the one above and the one below."""
    position, link, box = c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    address = create_string_buffer(_MAX_ADDRESS_BYTES)
    while pdfium.FPDFLink_Enumerate(page, byref(position), byref(link)):
        action = pdfium.FPDFLink_GetAction(link)
        size = pdfium.FPDFAction_GetURIPath(document, action, address, _MAX_ADDRESS_BYTES)
        if 0 < size <= _MAX_ADDRESS_BYTES and pdfium.FPDFLink_GetAnnotRect(link, byref(box)):
            words = content.get_text_bounded(box.left, box.bottom, box.right, box.top)
            height = box.top - box.bottom
            near = content.get_text_bounded(bottom=box.bottom - height, top=box.top + height)
            yield DocumentLink(address=address.value.decode("utf-8", "replace"), text=words, near=near)


def _property(document: PdfDocument, key: str) -> str:
    """Return what a PDF says of itself; a title that is no valid text must not cost the pages."""
    try:
        return str(document.get_metadata_value(key))
    except UnicodeDecodeError:
        return ""


def _read_page(page: PdfPage, content: PdfTextPage, before: _Page, *, may_hold_tables: bool) -> _Page:
    """Return the lines and tables of a page; a table may go on from the page before."""
    above = next((part for part in reversed(before) if isinstance(part, PageTable)), None)
    text = _text_of(content) if may_hold_tables else ""
    tables = find_page_tables(page, content, text, above) if text else []
    if not tables:
        return [*_lines_of(content.get_text_bounded())]
    table_at = {at: table for table in tables for word in table.words for at in range(word.start, word.end)}
    parts: _Page = []
    for table, run in groupby(range(len(text)), table_at.get):
        if table is None:
            parts += _lines_of(with_whole_characters("".join(text[at] for at in run)))
        elif not any(part is table for part in parts):
            parts.append(table)
    return parts


def _text_of(content: PdfTextPage) -> str:
    """Return the characters of a page, each at its own index."""
    count, text = content.count_chars(), str(content.get_text_range())
    if len(text) == count:
        return text
    return "".join(chr(pdfium.FPDFText_GetUnicode(content, index)) for index in range(count))


def _lines_of(text: str) -> list[str]:
    # For a hyphen at a line's end PDFium gives U+0002 or U+FFFE, and mostly swallows the line break.
    lines = re.split(r"[\r\n\f\v]+", _LINE_END_HYPHEN.sub("-\n", text))
    return [words for line in lines if (words := re.sub(r"\s+", " ", line).strip())]


def _without_running_lines(pages: list[_Page]) -> list[_Page]:
    """Drop lines at the top and bottom that most pages share, whatever number they carry."""
    if len(pages) < _REPEATED_MIN_PAGES:
        return [
            [part for i, part in enumerate(p) if not (p[1:] and _PAGE_NUMBER.fullmatch(_edge_line(i, p, 1)))]
            for p in pages
        ]
    shapes = [[_shape(_edge_line(i, page, _EDGE_LINES)) for i in range(len(page))] for page in pages]
    counts = Counter(chain(*map(set, shapes)))
    needed = max(_REPEATED_MIN_PAGES, _REPEATED_SHARE * sum(map(bool, pages)))
    running = {shape for shape, count in counts.items() if shape and count >= needed}
    return [
        [part for part, shape in zip(page, own, strict=True) if shape not in running]
        for page, own in zip(pages, shapes, strict=True)
    ]


def _edge_line(index: int, page: _Page, depth: int) -> str:
    """Return a line at the top or bottom of a page, "" for anything else."""
    part = page[index]
    return part if isinstance(part, str) and not depth <= index < len(page) - depth else ""


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", line).casefold()


class _Rows(NamedTuple):
    """A table as it is shown, and whether it only goes on with the one that ends the page before."""

    text: str
    goes_on: bool


def _with_rows(pages: list[_Page]) -> Iterator[list[str | _Rows]]:
    """Yield the pages with their tables as rows; a table over several pages has one header."""
    last: str | PageTable = ""
    names: list[str] = []
    for page in pages:
        shown: list[str | _Rows] = []
        for part in page:
            if isinstance(part, str):
                shown.append(part)
            else:
                may_go_on = not shown and isinstance(last, PageTable) and part.continues(last)
                rows, names = _rows_of(part, names if may_go_on else [])
                shown.append(rows)
            last = part
        yield shown


def _rows_of(table: PageTable, above: list[str]) -> tuple[_Rows, list[str]]:
    """Return the rows of a table and the names of its columns; `above` are those of a table that it may go on with."""
    head, names = read_header(table.rows)
    is_named = all(map(is_label, table.rows[0])) and not all(map(is_label, chain(*table.rows[head:])))
    goes_on = bool(above) and (names == above or not is_named)
    body = table.rows[head:] if names == above or not goes_on else table.rows
    blocks = BlockText()
    if not goes_on:
        if explains_columns(body):
            blocks.paragraph(explanation(names, body[0]))
            body = body[1:]
        blocks.row(names)
    for row in body:
        blocks.row(row)
    return _Rows(blocks.text(), goes_on), above if goes_on else names


def _join_pages(pages: list[_Page]) -> tuple[str, tuple[Place, ...]]:
    lines = (part for page in pages for part in page if isinstance(part, str))
    words = Counter(word for line in lines for word in re.findall(r"[^\W\d_][\w-]*", line.lower()))
    text = ""
    places: list[Place] = []
    for number, page in enumerate(_with_rows(pages), start=1):
        if not page:
            continue
        if text:
            text += _gap(text, page[0])
        start = len(text)
        page_width = width_of(part for part in page if isinstance(part, str))
        blocks: list[str] = []
        for is_text, group in groupby(page, lambda part: isinstance(part, str)):
            run = [part if isinstance(part, str) else part.text for part in group]
            blocks += [join_lines(run, page_width, words)] if is_text else run
        text += "\n\n".join(blocks)
        places.append(Place(kind="page", label=str(number), start=start, end=len(text)))
    return text, tuple(places)


def _gap(before: str, following: str | _Rows) -> str:
    """Return what parts two pages, the second of which begins after it: a table or a sentence may run on."""
    if isinstance(following, _Rows):
        return "\n" if following.goes_on else "\n\n"
    return " " if following[:1].islower() and before[-1:] not in ".!?。！？:：|" else "\n\n"


def _iso_date(stamp: str) -> str:
    match = _PDF_DATE.match(stamp)
    if not match or not "1900" <= match[1] <= "2199":
        return ""
    return "-".join(filter(None, match.groups()))
