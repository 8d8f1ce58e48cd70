"""A file of each format with the same prose in it, written by the format's own library where there is one."""

import csv
import html
import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

from tests.unit.documents.readers.pdf_files import make_pdf

Paragraphs = list[str]
_LINE_CHARS, _PAGE_LINES = 90, 48


def make_file(format_name: str, title: str, paragraphs: Paragraphs) -> tuple[str, bytes] | None:
    """Return the ending and the bytes of a file, or None for a format that nothing here writes."""
    maker = MAKERS.get(format_name)
    return None if maker is None else (maker[0], maker[1](title, paragraphs))


def _text(title: str, paragraphs: Paragraphs) -> bytes:
    return "\n\n".join([title, *paragraphs]).encode()


def _markdown(title: str, paragraphs: Paragraphs) -> bytes:
    return "\n\n".join([f"# {title}", *paragraphs]).encode()


def _html(title: str, paragraphs: Paragraphs) -> bytes:
    body = "".join(f"<p>{html.escape(paragraph)}</p>\n" for paragraph in paragraphs)
    return f"<!doctype html><title>{title}</title><body><article><h1>{title}</h1>{body}</article></body>".encode()


def _pdf(title: str, paragraphs: Paragraphs) -> bytes:
    text = " ".join([title, *paragraphs])
    lines = [text[at : at + _LINE_CHARS] for at in range(0, len(text), _LINE_CHARS)]
    return make_pdf([lines[at : at + _PAGE_LINES] for at in range(0, len(lines), _PAGE_LINES)])


def _docx(title: str, paragraphs: Paragraphs) -> bytes:
    import docx

    document = docx.Document()
    document.add_heading(title)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return _saved(document.save)


def _pptx(title: str, paragraphs: Paragraphs) -> bytes:
    import pptx

    slides = pptx.Presentation()
    for paragraph in paragraphs:
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, paragraph
    return _saved(slides.save)


def _rows(title: str, paragraphs: Paragraphs) -> list[list[str | int]]:
    words = " ".join(paragraphs).split()
    head: list[str | int] = [title, "Note", "Count"]
    return [head, *([words[at], " ".join(words[at + 1 : at + 7]), at] for at in range(0, len(words) - 6, 7))]


def _xlsx(title: str, paragraphs: Paragraphs) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in _rows(title, paragraphs):
        book.active.append(row)
    return _saved(book.save)


def _csv(title: str, paragraphs: Paragraphs) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(_rows(title, paragraphs))
    return out.getvalue().encode()


def _jsonl(title: str, paragraphs: Paragraphs) -> bytes:
    lines = (
        {"from": "a@example.test", "date": "2025-03-01", "subject": title, "body": paragraph}
        for paragraph in paragraphs
    )
    return "\n".join(map(json.dumps, lines)).encode()


def _eml(title: str, paragraphs: Paragraphs) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"], message["Date"] = "a@example.test", title, "Sat, 01 Mar 2025 10:00:00 +0000"
    message.set_content("\n\n".join(paragraphs))
    return message.as_bytes()


def _mbox(title: str, paragraphs: Paragraphs) -> bytes:
    first = b"From a@example.test Sat Mar  1 10:00:00 2025\n"
    return b"".join(first + _eml(title, [paragraph]) + b"\n" for paragraph in paragraphs)


def _epub(title: str, paragraphs: Paragraphs) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip")
        container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        book.writestr("META-INF/container.xml", f'{container}<rootfile full-path="b.opf"/></rootfiles></container>')
        book.writestr(
            "b.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f'<dc:title>{title}</dc:title></metadata><manifest><item id="a" href="a.xhtml" '
            f'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        body = "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs)
        book.writestr(
            "a.xhtml", f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{title}</h1>{body}</body></html>'
        )
    return out.getvalue()


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


MAKERS: dict[str, tuple[str, Callable[[str, Paragraphs], bytes]]] = {
    "text": (".txt", _text),
    "markdown": (".md", _markdown),
    "html": (".html", _html),
    "pdf": (".pdf", _pdf),
    "docx": (".docx", _docx),
    "pptx": (".pptx", _pptx),
    "xlsx": (".xlsx", _xlsx),
    "csv": (".csv", _csv),
    "jsonl": (".jsonl", _jsonl),
    "eml": (".eml", _eml),
    "mbox": (".mbox", _mbox),
    "epub": (".epub", _epub),
}
