"""In whatever format: nothing that a terminal obeys or nobody sees is in a reading, and its places are right."""

import json
import re
import unicodedata

import pytest

from deep_research.documents.readers import Reading, line_of, read
from tests.unit.documents.readers.office_files import CHAPTER, make_docx, make_epub, make_pptx, make_xlsx
from tests.unit.documents.readers.pdf_files import make_pdf

# A colour, a window's title, a backspace, C1, an override and an isolate, a zero-width space, a tag letter.
UNSEEN = "\x1b[31m\x1b]0;owned\x07\x08\x9b2J\x84\u202e\u2066\u200b\U000e0041"
# What XML and Word can carry of it.
IN_XML = "\x84\u202e\u2066\u200b\U000e0041"
# References to C1 mean letters of another encoding.
ENTITIES = "".join(f"&#{ord(character)};" for character in UNSEEN.replace("\x9b2J\x84", ""))
# A file with many control characters for its length is taken for binary.
MORE = "\n\n" + "Nothing else is said here. " * 60
HTML = (
    "<html lang='en{0}'><head><title>Grid{0} storage</title><meta name='author' content='Ann{0} Lee'>"
    "<link rel='canonical' href='https://example.org/a{0}b'></head>"
    "<body><h2>Nor{0}th</h2><p>Costs{0} fell.</p><h2>South</h2><pre>They{0} rose.</pre></body></html>"
)
MAIL = (
    "From: =?utf-8?q?Ann=1B=5B31m=08_Lee?= <ann@example.org>\nSubject: =?utf-8?q?Nor=E2=80=AEth?=\n"
    "Content-Type: text/html; charset=utf-8\n\n<html><body><p>Costs{0} fell.</p><p>They rose.</p></body></html>"
)


def in_docx(document) -> None:
    document.core_properties.title = f"Grid{IN_XML} storage"
    document.core_properties.author = f"Ann{IN_XML} Lee"
    for heading, text in ((f"Nor{IN_XML}th", f"Costs{IN_XML} fell."), ("South", "They rose.")):
        document.add_heading(heading, 2)
        document.add_paragraph(text)


def in_slides(presentation) -> None:
    for heading, text in ((f"Nor{IN_XML}th", f"Costs{IN_XML} fell."), ("South", "They rose.")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text_frame.text = text


def in_sheets(book) -> None:
    for title, text in ((f"Nor{IN_XML}th", f"Costs{IN_XML} fell."), ("South", "They rose.")):
        book.create_sheet(title).append([text])


MARKDOWN = "---\nauthor: Ann{0} Lee\n---\n## Nor{0}th\n\nCosts{0} fell.\n\n## South\n\nThey rose."
CHAT = {"from": f"Ann{UNSEEN} Lee", "subject": f"Nor{UNSEEN}th", "body": f"Costs{UNSEEN} fell.\nThey rose."}
BOOK = f"<h2>Nor{ENTITIES}th</h2><p>Costs{ENTITIES} fell.</p><h2>South</h2><p>They rose.</p>"
TITLE = f"\ufeffGrid{IN_XML}\x08 storage".encode("utf-16-be").hex()
INFO = f"/Title <{TITLE}> /Author (Ann\x08 Lee)"
FILES = {
    "a.txt": f"Grid{UNSEEN} storage\n\nCosts{UNSEEN} fell.\nThey rose.{MORE}".encode(),
    "a.md": (MARKDOWN.format(UNSEEN) + MORE).encode(),
    "a.html": HTML.format(ENTITIES).encode(),
    "raw.html": (HTML.format(UNSEEN) + f"<p>{MORE}</p>").encode(),
    "a.csv": f"Site{UNSEEN},Cost\nCosts{UNSEEN} fell.,1\nThey rose.,{MORE.strip()}".encode(),
    "a.jsonl": json.dumps(CHAT).encode(),
    "a.eml": MAIL.format(ENTITIES).encode(),
    "a.pdf": make_pdf([[f"Costs{UNSEEN} fell."], ["They rose."]], info=INFO),
    "a.docx": make_docx(in_docx),
    "a.pptx": make_pptx(in_slides),
    "a.xlsx": make_xlsx(in_sheets),
    "a.epub": make_epub(**{"OEBPS/ch1.xhtml": CHAPTER.format(BOOK)}),
}


def told(reading: Reading) -> list[str]:
    facts = [reading.title, reading.author, reading.published, reading.canonical, reading.language]
    return [reading.text, *facts, *reading.warnings, *(place.label for place in reading.places)]


@pytest.mark.parametrize("name", FILES)
def test_nothing_unseen_is_in_a_reading_and_places_stay_right(name: str):
    reading = read(FILES[name], name=name)
    kinds = {unicodedata.category(character) for text in told(reading) for character in re.sub("[\n\t]", "", text)}
    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn"})
    assert "Costs fell." in reading.text
    for leftover in ("31m", "owned", "2J"):
        assert leftover not in "".join(told(reading))
    for place in reading.places:
        if place.kind == "heading":
            assert reading.text[place.start : place.end].lstrip("# ").startswith(place.label)
        elif place.kind in ("page", "slide", "cells"):
            assert not reading.text[place.start : place.end].startswith((" ", "\n"))
    labels = [place.label for place in reading.places if place.kind == "heading"]
    assert "North" in labels or name in ("a.txt", "a.pdf", "a.csv")


def test_pages_and_lines_are_where_they_were():
    pdf = read(FILES["a.pdf"], name="a.pdf")
    assert [pdf.text[place.start : place.end] for place in pdf.places] == ["Costs fell.", "They rose."]
    assert (pdf.title, pdf.author) == ("Grid storage", "Ann Lee")
    for name, line in (("a.txt", 4), ("a.md", 10)):
        reading = read(FILES[name], name=name)
        assert line_of(reading.places, reading.text, reading.text.index("They rose.")) == line


@pytest.mark.parametrize("name", ["a.html", "a.eml", "a.epub"])
def test_a_backspace_in_a_page_costs_nothing_but_itself(name: str):
    page = "<html><body><h1>成&#8;本</h1><p>Costs&#8; fell<b>&#8;.</b>&#1; 价格&#8;下降了。</p></body></html>"
    raw = {
        "a.html": page.encode(),
        "a.eml": MAIL.replace("<html><body>", page).encode(),
        "a.epub": make_epub(**{"OEBPS/ch1.xhtml": page}),
    }[name]
    assert "Costs fell. 价格下降了。" in read(raw, name=name).text
