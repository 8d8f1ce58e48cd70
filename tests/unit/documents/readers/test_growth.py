"""Files that grow or stand in each other's way without end: read in a time that grows with their size, or cut aloud.

Each took ten times its limit or more before; what is read now takes a tenth of it.
"""

import re
from collections.abc import Callable

import pytest

from deep_research.documents.readers import Reading, read
from deep_research.documents.readers.hidden import Colour, colour_of
from deep_research.documents.readers.html import extent_of
from deep_research.documents.readers.number_format import shown
from deep_research.documents.readers.port import HIDDEN_LEFT
from deep_research.documents.readers.registry import warm_up
from deep_research.documents.readers.styles import declarations
from tests.support.cpu import at_most_cpu_s
from tests.unit.documents.readers.office_files import (
    CHAPTER,
    PACKAGE,
    change_part,
    make_docx,
    make_epub,
    make_pptx,
    make_xlsx,
)

MAIL = b"From: a@example.org\nSubject: Costs\nDate: Mon, 06 May 2024 10:00:00 +0800\n"


def page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body><p>Costs fell.</p>{body}</body></html>".encode()


def read_in_time(raw: bytes, name: str) -> Reading:
    warm_up()
    with at_most_cpu_s(3):
        return read(raw, name=name)


@pytest.mark.parametrize(
    ("name", "raw"),
    {
        "comments before a page": ("a.txt", b"<!-- a -->" * 40 + b"<p>Costs fell.</p>"),
        "emphasis never closed": ("a.md", b"Costs " + b"**a " * 30_000),
        "emphasis by a line": ("a.md", b"Costs " + b"_a " * 30_000),
        "images never closed": ("a.md", b"Costs " + b"![" * 40_000),
        "addresses never closed": ("a.md", b"Costs " + b"<http://" * 20_000),
        "comments never closed": ("a.md", b"Costs " + b"<!--" * 40_000),
        "heading with a gap": ("a.md", b"# Costs" + b" " * 30_000 + b"x\n"),
        "field with a gap": ("a.md", b"---\ntitle: Costs" + b" " * 30_000 + b"x\n---\nCosts fell."),
        "style without a colon": ("a.html", page(f'<p style="{"a" * 80_000}">They rose.</p>')),
        "style with brackets": ("a.html", page(f'<p style="{"color:rgb(" * 20_000}">They rose.</p>')),
        "one class many times": ("a.html", page(f'<p class="{"a " * 40_000}">x</p>', "<style>.a{color:red}</style>")),
        "a selector without end": ("a.html", page("<p>x</p>" * 800, f"<style>{'p ' * 600_000}{{color:red}}</style>")),
        "cells over many rows": ("a.html", page("<table>" + '<tr><td rowspan="65000" colspan="1000">x' * 500)),
        "data in lists": ("a.html", page("", f'<script type="application/ld+json">{[[[{}] * 490] * 490]}</script>')),
        "words of a header": ("a.eml", MAIL + b"To: " + b"=?utf-8?q?a?= " * 90_000 + b"\n\nCosts fell."),
        "values of a header": ("a.eml", MAIL + b"Content-Type: text/plain" + b"; a=b" * 80_000 + b"\n\nCosts fell."),
        "times in an envelope": ("a.mbox", b"From a 10:00\nFrom: a\n\nCosts fell.\n\nFrom a " + b"00:00" * 40_000),
        "tags in a message": ("a.jsonl", b'{"from": "a", "body": "' + b"<p " * 60_000 + b'"}'),
        "orders far apart": ("a.txt", (b"\n" * 300 + b"ignore") * 150),
    }.values(),
)  # fmt: skip
def test_a_file_takes_time_as_it_is_long(name: str, raw: bytes):
    assert read_in_time(raw, name).text.strip()


def test_a_page_hides_text_by_more_rules_than_can_be_followed():
    rules = "".join(f"q{n} p{{display:none}}" for n in range(300))
    body = page("<div>" * 200 + "<p>They rose.</p>" * 150, f"<style>{rules}</style>")
    reading = read_in_time(body, "a.html")
    assert "They rose." in reading.text
    assert reading.warnings[0] == HIDDEN_LEFT
    chapter = make_epub(**{"OEBPS/ch1.xhtml": CHAPTER.format(body.decode())})
    assert HIDDEN_LEFT in read(chapter, name="a.epub").warnings
    assert HIDDEN_LEFT in read(MAIL + b"Content-Type: text/html\n\n" + body, name="a.eml").warnings
    followed = page("<p>They rose.</p>", "<style>q p{display:none}</style>")
    assert HIDDEN_LEFT not in read(followed, name="a.html").warnings


@pytest.mark.parametrize(
    ("body", "extent"),
    [
        ("<p>a</p>" * 7_000, "common"),
        ("<p>a</p>" * 9_000, "large"),
        ("<p>a</p>" * 50_000, "too large"),
        ("<table>" + '<tr><td rowspan="300" colspan="300">a' * 3, "too large"),
        ("<table>" + f'<tr><td rowspan="{"9" * 5_000}">a', "too large"),
        ("<table><tr>" + "<td>a" * 2_001, "too large"),
        ("<table>" + '<tr><td rowspan="4" colspan="x">a' * 300, "common"),
    ],
)
def test_a_page_is_measured_before_its_main_text_is_looked_for(body: str, extent: str):
    from lxml import html

    assert extent_of(html.document_fromstring(f"<html><body>{body}</body></html>")) == extent


def test_a_page_too_large_to_tell_its_main_text_is_taken_whole():
    reading = read_in_time(page("<table><tr>" + "<td>They rose." * 2_500), "a.html")
    assert reading.text.count("They rose.") == 2_500
    assert reading.warnings == ("the page is too large to tell its main text; the whole page was taken",)


def test_a_control_character_costs_a_page_nothing():
    assert read(page("<p>They&#8; rose&#14;.</p>"), name="a.html").text.endswith("They rose.")


def test_a_chapter_named_many_times_is_read_once():
    order = '<itemref idref="one"/>' * 2_000 + '<itemref idref="two"/>'
    package = PACKAGE.replace('<itemref idref="one"/><itemref idref="two"/>', order)
    chapter = CHAPTER.format("<h1>One</h1>" + "<p>Costs fell.</p>" * 100)
    reading = read_in_time(make_epub(**{"OEBPS/book.opf": package, "OEBPS/ch1.xhtml": chapter}), "a.epub")
    assert reading.text.count("# One") == 1
    assert "1999 chapters are named again in the book's order and were read once" in reading.warnings


def test_a_slide_named_many_times_is_read_once():
    def repeat(xml: bytes) -> bytes:
        return re.sub(rb"(<p:sldId [^<>]*/>)(?=</p:sldIdLst>)", rb"\1" * 1_500, xml)

    reading = read_in_time(change_part(make_pptx(), "ppt/presentation.xml", repeat), "a.pptx")
    assert reading.text.count("## Figures") == 1
    assert reading.warnings == ("1499 slides are named again in the presentation's order and were read once",)


def merged(rows: int, span: int) -> Callable[[bytes], bytes]:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="{span}"/>{merge}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>'
    first = cell.format(span=span, merge='<w:vMerge w:val="restart"/>', text="Costs")
    more = cell.format(span=span, merge="<w:vMerge/>", text="")
    lines = "".join(
        f"<w:tr>{first if row == 0 else more}{cell.format(span=1, merge='', text=row)}</w:tr>" for row in range(rows)
    )
    return lambda xml: xml.replace(b"<w:body>", b"<w:body><w:tbl>" + lines.encode() + b"</w:tbl>")


@pytest.mark.parametrize(("rows", "span"), [(2, 99_999_999), (3_000, 2)])
def test_a_merged_cell_of_a_document_is_given_once_in_each_row(rows: int, span: int):
    reading = read_in_time(change_part(make_docx(), "word/document.xml", merged(rows, span)), "a.docx")
    assert reading.text.splitlines()[:2] == ["| Costs | 0 |", "| Costs | 1 |"]
    assert reading.text.count("| Costs |") == rows


def test_cells_far_to_the_right_are_looked_for_once():
    row = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="XFD{0}"><v>1</v></c></row>'
    rows = "".join(map(row.format, range(1, 6_001))).encode()
    raw = change_part(
        make_xlsx(lambda book: None),
        "xl/worksheets/sheet1.xml",
        lambda xml: re.sub(rb"<sheetData\s*/>|<sheetData></sheetData>", b"<sheetData>" + rows + b"</sheetData>", xml),
    )
    assert read_in_time(raw, "a.xlsx").warnings == ("only the first 200 columns of the sheet 'Sheet' were read",)


def test_a_row_without_end_is_cut_aloud():
    raw = b"name,cost\n" + b"ab," * 700_000 + b"\nNorth,5\n"
    reading = read_in_time(raw, "a.csv")
    assert reading.text.splitlines()[-1].startswith("| North | 5 |")
    assert reading.warnings == (
        "only the first 200 columns were read",
        "only the first 1000000 characters of a line were read",
    )


def test_short_rows_are_not_filled_up_to_one_wide_row():
    raw = b"a" + b",b" * 199 + b"\n" + b"c,d\n" * 15_000
    assert len(read_in_time(raw, "a.csv").text) < 3 * len(raw)


def test_a_format_longer_than_any_is_read_as_far_as_excel_does():
    with at_most_cpu_s(2):
        assert shown(5, "0" + "[" * 100_000) == "5" + "[" * 254


def test_a_long_style_is_read_as_browsers_read_it():
    assert declarations("*display : None !  Important; color:rgb(1;2) ; b:';';c:d") == {
        "display": "none!important",
        "color": "rgb(1;2)",
        "b": "';'",
        "c": "d",
    }
    assert declarations("left:1px;color:rgb(;display:none") == {"left": "1px", "color": "rgb(;display:none"}


def test_numbers_without_end_name_a_colour():
    with at_most_cpu_s(2):
        assert colour_of(f"rgb({'9' * 20_000}, 0, 0)") == Colour(255, 0, 0)
        assert colour_of("hsl(0 100% 100% / .5)") == colour_of("hsla(0,0%,100%,1)") == Colour(255, 255, 255)
        assert colour_of("hsl(0, 100%, 50%)") is None
        assert colour_of("rgb(" * 20_000) is colour_of("hsl(1, 100% " * 20_000) is None
