"""PDF files by page: lines joined to paragraphs, words cut at line ends mended, running heads and feet dropped."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise

from pypdfium2 import PdfDocument, PdfiumError
from pypdfium2 import raw as pdfium

from deep_research.errors import SourceError
from deep_research.readers.port import MAX_PAGES, Reading
from deep_research.sources.document import Place
from deep_research.text.analyzer import CJK

_UNREADABLE_TITLE = re.compile(
    r"^(?:untitled|无标题|microsoft word -.*|.*\.(?:docx?|pdf|indd|tex|pptx?))$", re.IGNORECASE
)
_PROPERTIES = ("Title", "Author", "CreationDate", "ModDate")
_PDF_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?")
_LINE_END_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")
_MAX_TITLE_CHARS = 150
# Lines at a page's edge that repeat on this share of at least so many pages are not part of the text.
_REPEATED_SHARE, _REPEATED_MIN_PAGES, _EDGE_LINES = 0.6, 3, 2
_PAGE_NUMBER = re.compile(
    r"(?:page\s*)?[-–—]?\s*\d{1,4}\s*[-–—]?(?:\s*(?:of|/)\s*\d{1,4})?|第\s*\d{1,4}\s*页.*", re.IGNORECASE
)


def read(raw: bytes, name: str) -> Reading:
    """Return a PDF's text with its pages as places; refuse one that is protected, damaged or only scanned."""
    pages, metadata, page_count = _extract(raw, name)
    if not any(pages):
        raise SourceError(
            f"{name!r} has no text layer (it looks scanned); run it through text recognition (OCR) first."
        )
    text, places = _join_pages(_without_running_lines(pages))
    first_line = next(filter(None, pages))[0]
    title = metadata["Title"].strip()
    if not title or _UNREADABLE_TITLE.match(title):
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
        warnings=tuple(warnings),
    )


def _extract(raw: bytes, name: str) -> tuple[list[list[str]], dict[str, str], int]:
    """Return the lines of each page, the document's properties and its number of pages."""
    try:
        document = PdfDocument(raw)
    except PdfiumError as exc:
        if exc.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise SourceError(f"{name!r} is protected by a password; save a copy without one.") from exc
        raise SourceError(f"{name!r} is damaged: it cannot be opened as PDF; download or export it again.") from exc
    try:
        pages = [_lines_of(document, index) for index in range(min(len(document), MAX_PAGES))]
        return pages, {key: _property(document, key) for key in _PROPERTIES}, len(document)
    except PdfiumError as exc:
        raise SourceError(f"{name!r} is damaged: its pages cannot be read; download or export it again.") from exc
    finally:
        document.close()


def _property(document: PdfDocument, key: str) -> str:
    """Return what a PDF says of itself; a title that is no valid text must not cost the pages."""
    try:
        return str(document.get_metadata_value(key))
    except UnicodeDecodeError:
        return ""


def _lines_of(document: PdfDocument, index: int) -> list[str]:
    with closing(document[index]) as page, closing(page.get_textpage()) as content:
        # For a hyphen at a line's end PDFium gives U+0002 or U+FFFE, and mostly swallows the line break.
        text = _LINE_END_HYPHEN.sub("-\n", content.get_text_bounded())
    return [words for line in re.split(r"[\r\n\f\v]+", text) if (words := re.sub(r"\s+", " ", line).strip())]


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Drop lines at the top and bottom that most pages share, whatever number they carry."""
    if len(pages) < _REPEATED_MIN_PAGES:
        return [
            [line for i, line in enumerate(p) if not (p[1:] and _is_edge(i, p, 1) and _PAGE_NUMBER.fullmatch(line))]
            for p in pages
        ]
    counts = Counter(
        key for page in pages for key in {_shape(line) for i, line in enumerate(page) if _is_edge(i, page, _EDGE_LINES)}
    )
    needed = max(_REPEATED_MIN_PAGES, _REPEATED_SHARE * sum(map(bool, pages)))
    running = {shape for shape, count in counts.items() if count >= needed}
    return [
        [line for i, line in enumerate(page) if not (_is_edge(i, page, _EDGE_LINES) and _shape(line) in running)]
        for page in pages
    ]


def _is_edge(index: int, page: list[str], depth: int) -> bool:
    return index < depth or index >= len(page) - depth


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", line).casefold()


def _join_pages(pages: list[list[str]]) -> tuple[str, tuple[Place, ...]]:
    words = Counter(word for page in pages for line in page for word in re.findall(r"[^\W\d_][\w-]*", line.lower()))
    parts: list[str] = []
    places: list[Place] = []
    length = 0
    for number, lines in enumerate(pages, start=1):
        if not lines:
            continue
        if parts:
            # A sentence may run on over the page; the page begins after the gap.
            gap = " " if _runs_on(parts[-1], lines[0]) else "\n\n"
            parts.append(gap)
            length += len(gap)
        body = join_lines(lines, words)
        places.append(Place(kind="page", label=str(number), start=length, end=length + len(body)))
        parts.append(body)
        length += len(body)
    return "".join(parts), tuple(places)


def _runs_on(before: str, following: str) -> bool:
    return following[:1].islower() and before[-1:] not in ".!?。！？:："


def _iso_date(stamp: str) -> str:
    match = _PDF_DATE.match(stamp)
    if not match or not "1900" <= match[1] <= "2199":
        return ""
    return "-".join(filter(None, match.groups()))


_WIDE = re.compile(f"[{CJK}\uff01-\uff60，。！？；：、（）“”]")
_STARTS_BLOCK = re.compile(r"(?:[•‣◦▪●○■□➢✓*]|[-–]\s|\(?\d{1,3}[.)]\s|[（(]?[一二三四五六七八九十]{1,3}[、）)])")
_CUT_WORD = re.compile(r"([^\W\d_]+)[-\u00ad\u2010]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_FULL_SHARE = 0.75
_SENTENCE_END = '.!?。！？…:：;；”"'


def display_width(line: str) -> int:
    """Return the columns a line takes; a CJK character takes two."""
    return len(line) + len(_WIDE.findall(line))


def is_full_line(line: str, page_width: int) -> bool:
    """Return whether a line reaches so far that its break may be only the page's width."""
    return display_width(line) >= _FULL_SHARE * page_width


def join_lines(lines: Sequence[str], words: Mapping[str, int]) -> str:
    """Return the paragraphs of a page, a blank line between them; `words` are the words of the whole document."""
    widths = sorted(display_width(line) for line in lines)
    page_width = widths[int(0.9 * len(widths))] if widths else 0
    parts = [lines[0]] if lines else []
    for before, line in pairwise(lines):
        if not _goes_on(before, line, page_width):
            parts += ("\n\n", line)
        elif mended := _mend(parts[-1], line, words):
            parts[-1] = mended
        else:
            parts += ("" if _needs_no_space(before, line) else " ", line)
    return "".join(parts)


def _needs_no_space(before: str, line: str) -> bool:
    """Return whether a line break stood for nothing: between wide characters, or next to one in a Chinese text."""
    edges = bool(_WIDE.match(before[-1:])) + bool(_WIDE.match(line[:1]))
    is_wide_text = all(3 * len(_WIDE.findall(each)) >= len(each) for each in (before, line))
    return edges == 2 or (edges == 1 and is_wide_text)


def _goes_on(before: str, line: str, page_width: int) -> bool:
    if _STARTS_BLOCK.match(line):
        return False
    if line[:1].islower():
        return True
    if not is_full_line(before, page_width):
        return False
    if before[-1:] in _SENTENCE_END and line[-1:] not in _SENTENCE_END and not is_full_line(line, page_width):
        # A short line without a stop after a finished sentence is a heading.
        return False
    # On a page of short lines only (a table, a list of names) reaching the width says nothing.
    return page_width >= 40 or before[-1:] in ",，、-"


def _mend(before: str, line: str, words: Mapping[str, int]) -> str:
    """Return two lines joined over a word cut in half, or "" where no word is cut.

    The hyphen stays if the document writes the word with it elsewhere, and goes in any other case.
    """
    cut, rest = _CUT_WORD.search(before), _FIRST_WORD.match(line)
    if cut is None or rest is None or not rest[0][0].islower():
        return ""
    whole, hyphened = (cut[1] + rest[0]).lower(), f"{cut[1]}-{rest[0]}".lower()
    keeps_hyphen = words.get(hyphened, 0) > words.get(whole, 0)
    return before[:-1] + ("-" if keeps_hyphen else "") + line
