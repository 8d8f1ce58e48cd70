"""Word documents, read back: real headings, lists, tables and links, and what no text can break."""

import io
import re
import zipfile

import docx
import pytest
from docx.document import Document
from docx.oxml.ns import qn

from deep_research.export.contents import Contents
from deep_research.export.docx import to_docx
from deep_research.export.printed import shares_of
from deep_research.report.citation import Source
from deep_research.report.layout import Span, Table
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.support.editions import CREATED, TEXTS, contents, png

MARKUP = r"<w:p/> &amp; {MERGEFIELD x} # *b* $x$ \n </w:t>"


def _opened(made: Contents) -> Document:
    return docx.Document(io.BytesIO(to_docx(made)))


def _text(document: Document) -> str:
    return "\n".join(node.text or "" for node in document.element.body.iter(qn("w:t")))


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_headings_lists_and_tables_are_real_ones(language: Language) -> None:
    document, texts, words = _opened(contents(language)), TEXTS[language], words_in(language)
    by_style: dict[str, list[str]] = {}
    for paragraph in document.paragraphs:
        by_style.setdefault(paragraph.style.name if paragraph.style else "", []).append(paragraph.text)
    assert by_style["Title"] == [texts.title]
    assert by_style["Heading 1"][1:3] == [f"{texts.chapter} 1", f"{texts.chapter} 2"]
    assert words("report.references") in by_style["Heading 1"]
    assert len(by_style["List Number"]) == 6
    assert by_style["List Number"][0].startswith(texts.point)
    assert len(by_style["List Bullet"]) >= 6
    table = document.tables[0]
    assert [cell.text for cell in table.rows[0].cells][:3] == list(texts.columns)
    assert table.rows[0]._tr.trPr is not None
    assert table.rows[0]._tr.trPr.find(qn("w:tblHeader")) is not None
    assert [cell.text for cell in table.rows[1].cells][1:3] == ["11.5", "12"]
    text = _text(document)
    for said in (texts.finding, texts.conclusion, texts.quote, words("report.gaps")):
        assert said in text


def test_each_numbered_list_begins_with_one() -> None:
    body = _opened(contents()).element.body
    numbers = [node.get(qn("w:val")) for node in body.iter(qn("w:numId"))]
    assert len(numbers) == 6
    assert len(set(numbers)) == 2


def test_markers_lead_to_references_and_only_addresses_of_the_web_are_links() -> None:
    script = Source(document="x1", title="A script", address="javascript:alert(1)")
    document = _opened(contents(sources=[script]))
    body = document.element.body
    marks = {node.get(qn("w:name")) for node in body.iter(qn("w:bookmarkStart"))}
    anchors = {node.get(qn("w:anchor")) for node in body.iter(qn("w:hyperlink"))} - {None}
    assert {"source-1", "source-2", "source-3", "source-4"} <= anchors <= marks
    external = [relation.target_ref for relation in document.part.rels.values() if relation.is_external]
    assert external == ["https://example.org/reports/1", "https://example.org/reports/3"]
    assert "javascript:alert(1)" in _text(document)


def test_figures_have_alternative_texts_and_captions() -> None:
    document = _opened(contents("zh-Hans"))
    [picture] = document.element.body.iter(qn("wp:docPr"))
    assert "2,469" in picture.get("descr")
    captions = [each.text for each in document.paragraphs if each.style and each.style.name == "Caption"]
    assert len(captions) == 1
    assert TEXTS["zh-Hans"].chapter in captions[0]


@pytest.mark.parametrize("bad", [b"", b"\x89PNG picture", b"<svg", png()[:20]])
def test_a_picture_that_is_none_is_said_in_words(bad: bytes) -> None:
    document = _opened(contents(figures=[(bad, bad)]))
    assert not list(document.element.body.iter(qn("wp:docPr")))
    assert words_in("en")("export.no_picture") in _text(document)


def test_pages_are_numbered_and_chinese_has_fonts_of_its_own() -> None:
    document = _opened(contents("zh-Hant"))
    footer = document.sections[0].footer._element
    assert [node.text for node in footer.iter(qn("w:instrText"))] == ["PAGE", "NUMPAGES"]
    fonts = document.styles["Heading 1"].element.rPr.rFonts
    assert fonts.get(qn("w:eastAsia")) == "Microsoft JhengHei"
    assert not [key for key in fonts.attrib if key.endswith("Theme")]


def test_letters_from_right_to_left_are_marked_as_such() -> None:
    document = _opened(contents(extra="said مرحبا بالعالم then"))
    runs = [
        "".join(node.text or "" for node in run.iter(qn("w:t")))
        for run in document.element.body.iter(qn("w:r"))
        if run.rPr is not None and run.rPr.find(qn("w:rtl")) is not None
    ]
    assert set(runs) == {"مرحبا بالعالم"}


def test_no_text_is_taken_for_markup_and_controls_are_gone() -> None:
    text = _text(_opened(contents(extra=f"{MARKUP}\x00\x0b\x1b[31m\ufffe 😀")))
    assert text.count(MARKUP) > 20
    assert "😀" in text
    assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f]", text)


def test_the_same_report_is_the_same_bytes_and_bears_its_own_date() -> None:
    made = contents(extra="a")
    data = to_docx(made)
    assert data == to_docx(made)
    properties = docx.Document(io.BytesIO(data)).core_properties
    assert properties.created == properties.modified == CREATED
    assert properties.title == f"{TEXTS['en'].title} a"
    assert {member.date_time for member in zipfile.ZipFile(io.BytesIO(data)).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_sixty_columns_are_parted_and_none_is_lost() -> None:
    document = _opened(contents(columns=60))
    text = _text(document).splitlines()
    assert all(f"v{row}.{column}" in text for row in range(1, 5) for column in range(1, 61))
    assert max(len(table.columns) for table in document.tables) < 20


def test_a_long_report_has_a_list_of_its_chapters() -> None:
    document = _opened(contents(chapters=30))
    anchors = {node.get(qn("w:anchor")) for node in document.element.body.iter(qn("w:hyperlink"))}
    marks = {node.get(qn("w:name")) for node in document.element.body.iter(qn("w:bookmarkStart"))}
    chapters = {anchor for anchor in anchors if anchor and anchor.startswith("chapter-")}
    assert len(chapters) > 30
    assert chapters <= marks


@pytest.mark.long
def test_five_hundred_pages_are_written() -> None:
    assert len(_opened(contents(chapters=600, paragraphs=6)).tables) > 600


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_no_header_breaks_within_a_word(language: Language) -> None:
    words = words_in(language)
    head = tuple(words(f"report.{key}") for key in ("figure", "statement", "origins", "others", "dated", "source"))
    long = "The Harbour Heat retrofit of Halden Bay cost 163.8 million euros in total by 31 December 2025."
    cells = (
        "€163.8 million",
        long,
        "3, also [7][8]",
        "€146.2 million [1]",
        "2026-02-12 (all: 2026-02-12 – 2026-05-22)",
        "[1]",
    )
    table = Table(head, (tuple((Span(cell),) for cell in cells),) * 3)
    shares = shares_of(table)
    assert sum(shares) <= 1.0001
    for label, share in zip(head, shares, strict=True):
        longest = max((len(word) for word in re.findall(r"[^\s\u2e80-\uffff]+", label)), default=0)
        # A bold letter of 9 points is 5 points wide, a line 459; margins take 8.
        assert share * 459 - 8 >= 5 * longest, label
