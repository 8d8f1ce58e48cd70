"""PDF, read back with another program: what it says, what it links to, and what no text can break."""

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw
import pytest

from deep_research.errors import UsageError
from deep_research.export.contents import Contents
from deep_research.export.pdf import fonts_for, to_pdf
from deep_research.report.citation import Source
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.support.editions import SVG, TEXTS, contents, png

# Everything that typst, Markdown, HTML or a shell would obey.
MARKUP = r'#panic("x") #import "a.typ" $x^2$ *b* _i_ `c` <b>h</b> @lbl <lbl> \u{41} // x /* y */ = 1'


def _opened(made: Contents) -> pdfium.PdfDocument:
    return pdfium.PdfDocument(to_pdf(made))


def _text(document: pdfium.PdfDocument) -> str:
    """Return all text without white space: where lines break is not what these tests are about."""
    pages = (document[at].get_textpage().get_text_bounded() for at in range(len(document)))
    return "".join("".join(pages).replace("\u200b", "").replace("\ufffe", "").split())


def _bare(text: str) -> str:
    return "".join(text.split())


def _addresses(document: pdfium.PdfDocument) -> Iterator[str]:
    """Yield the address of each link that leads out, and "" for one that leads to a place in the document."""
    for page in document:
        at, link = ctypes.c_int(0), raw.FPDF_LINK()
        while raw.FPDFLink_Enumerate(page, at, link):
            action = raw.FPDFLink_GetAction(link)
            if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
                size = raw.FPDFAction_GetURIPath(document, action, None, 0)
                buffer = ctypes.create_string_buffer(size)
                raw.FPDFAction_GetURIPath(document, action, buffer, size)
                yield buffer.value.decode()
            else:
                yield ""


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_a_pdf_says_all_that_the_report_says(language: Language) -> None:
    made, texts, words = contents(language), TEXTS[language], words_in(language)
    document = _opened(made)
    text = _text(document)
    for said in (texts.title, texts.finding, texts.conclusion, texts.item, *texts.columns, texts.quote):
        assert _bare(said) in text
    for key in ("references", "gaps", "about"):
        assert _bare(words(f"report.{key}")) in text
    assert "[1][2]" in text
    assert f"1/{len(document)}" in text
    assert "2,469" in text  # a value of the figure
    assert [entry.get_title() for entry in document.get_toc()][1:3] == [f"{texts.chapter} 1", f"{texts.chapter} 2"]


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_every_font_is_embedded(language: Language) -> None:
    document = _opened(contents(language))
    fonts = [
        raw.FPDFTextObj_GetFont(piece)
        for page in document
        for piece in page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT])
    ]
    assert fonts
    assert all(raw.FPDFFont_GetIsEmbedded(font) for font in fonts)


def test_markers_lead_to_the_references_and_addresses_of_the_web_to_the_web() -> None:
    hostile = [
        Source(document="x1", title="A script", address="javascript:alert(1)"),
        Source(document="x2", title="A file", address="file:///etc/passwd"),
        Source(document="x3", title="An endless one", address="https://example.org/" + "a" * 9_000),
    ]
    found = list(_addresses(_opened(contents(sources=hostile))))
    assert {address for address in found if address} == {
        "https://example.org/reports/1",
        "https://example.org/reports/3",
    }
    assert found.count("") > 20


def test_the_same_report_is_the_same_bytes_and_bears_its_own_date() -> None:
    made = contents("zh-Hans")
    assert to_pdf(made) == to_pdf(made)
    facts = _opened(made).get_metadata_dict()
    assert facts["Title"] == TEXTS["zh-Hans"].title
    assert facts["CreationDate"].startswith("D:20260304")
    assert TEXTS["zh-Hans"].chapter in facts["Keywords"]


@pytest.mark.parametrize("language", ["en", "zh-Hant"])
def test_no_text_is_taken_for_markup(language: Language) -> None:
    made = contents(language, extra=f"{MARKUP} \x07\x00\u202e")
    text = _text(_opened(made))
    # In the title, chapters, sentences, points, cells, gaps, sources and passages.
    assert text.count(_bare(MARKUP)) > 20


def test_writing_from_right_to_left_and_emoji_stay() -> None:
    text = _text(_opened(contents(extra="مرحبا بالعالم שלום ☺")))
    assert "☺" in text
    assert "שלום" in text or "םולש" in text


def test_a_sign_that_no_font_has_is_shown_by_its_code_and_the_report_says_so() -> None:
    text = _text(_opened(contents(extra="x\ue000y 𐎀")))
    assert "x⟨U+E000⟩y" in text
    assert _bare(words_in("en")("export.missing_signs", codes="U+E000")) in text


def test_without_a_chinese_font_the_user_is_told_which_to_install() -> None:
    with pytest.raises(UsageError, match="fonts-noto-cjk"):
        fonts_for("zh-Hans", ["Libertinus Serif"], "青岚市")
    with pytest.raises(UsageError, match=r"deep-research\[pdf\]"):
        fonts_for("en", ["Libertinus Serif"], "The source 青岚市")
    assert fonts_for("en", ["Libertinus Serif"], "plain") == ["Libertinus Serif"]


@pytest.mark.parametrize(("language", "form"), [("zh-Hans", "SC"), ("zh-Hant", "TC")])
def test_signs_have_the_form_of_the_report_s_own_script_first(language: Language, form: str) -> None:
    known = ["Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK TC"]
    assert fonts_for(language, known, "")[1] == f"Noto Sans CJK {form}"


@pytest.mark.parametrize("bad", [b"", b"\x89PNG picture", b"<svg", png()[:60]])
def test_a_picture_that_is_none_is_said_in_words(bad: bytes) -> None:
    text = _text(_opened(contents(figures=[(bad, bad), (png(), b"<html>")])))
    assert text.count(_bare(words_in("en")("export.no_picture"))) == 1
    assert "2022:2,469" in text


def test_a_picture_whose_letters_no_font_has_gives_way_to_its_other_form() -> None:
    lettered = SVG.replace(b"</svg>", '<text x="5" y="20">\ue000</text></svg>'.encode())
    document = _opened(contents(figures=[(png(), lettered)]))
    shown = [piece for page in document for piece in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=9)]
    assert len(shown) == 1
    assert _bare(words_in("en")("export.no_picture")) not in _text(document)


def test_sixty_columns_and_endless_words_stay_on_the_page() -> None:
    document = _opened(contents(columns=60, extra=f"{'x' * 200} {'9' * 40}"))
    text = _text(document)
    assert all(f"v{row}.{column}" in text for row in range(1, 5) for column in range(1, 61))
    for page in document:
        width, _ = page.get_size()
        boxes = (piece.get_bounds() for piece in page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT]))
        assert all(left > 0 and right < width - 50 for left, _, right, _ in boxes)


def test_a_long_report_has_a_list_of_its_chapters_and_a_short_one_none() -> None:
    word = words_in("en")("export.contents")
    assert word not in _opened(contents())[0].get_textpage().get_text_bounded()
    first = _opened(contents(chapters=30))[0].get_textpage().get_text_bounded()
    assert word in first
    assert f"{TEXTS['en'].chapter} 30" in first


@pytest.mark.long
@pytest.mark.long
def test_five_hundred_pages_are_set() -> None:
    document = _opened(contents(chapters=650, paragraphs=6))
    assert len(document) >= 500
    assert f"{len(document)} / {len(document)}" in document[len(document) - 1].get_textpage().get_text_bounded()
