"""Plain text and Markdown, encodings, and files that are not what their names say."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.documents.readers import known_suffixes, line_of, place_of, read
from deep_research.errors import SourceError
from deep_research.report.sources.document import Place
from tests.unit.documents.readers.pdf_files import make_pdf

SIMPLIFIED = "电池储能在这一年的增长是最快的，我们认为成本还会下降。"
TRADITIONAL = "電池儲能在這一年的增長是最快的，我們認為成本還會下降。"
JAPANESE = "電池の貯蔵量はこの一年で最も速く増えました。"
KOREAN = "배터리 저장 용량은 올해 가장 빠르게 증가하고 있는 것으로 나타났다."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "utf-8"),
        (SIMPLIFIED, "utf-8-sig"),
        (SIMPLIFIED, "utf-16"),
        (SIMPLIFIED, "gb18030"),
        (SIMPLIFIED, "gbk"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        ("Le café coûte 3 € à Orléans, “déjà vu”.", "cp1252"),
        ("Die Größe der Straße in München beträgt 5 m.", "latin-1"),
        ("The price rose – by 5 %.", "utf-16-le"),
        ("The price rose by 5 %.", "utf-16-be"),
        ("Plain English.", "ascii"),
    ],
)
def test_encodings_are_detected(text: str, encoding: str):
    assert read(text.encode(encoding), name="a.txt").text == text


def test_languages_are_told_apart():
    texts = {"zh-Hans": SIMPLIFIED, "zh-Hant": TRADITIONAL, "ja": JAPANESE, "ko": KOREAN, "en": "What is it about?"}
    assert {code: read(text.encode(), name="a.txt").language for code, text in texts.items()} == {c: c for c in texts}


def test_one_damaged_byte_costs_one_character_and_a_warning():
    raw = (SIMPLIFIED * 20).encode()
    reading = read(raw[:300] + b"\xff" + raw[300:], name="a.txt")
    assert SIMPLIFIED in reading.text
    assert reading.warnings == ("some characters could not be read as utf-8",)


def test_line_ends_are_made_plain_and_lines_are_counted():
    reading = read(b"Notes\r\n\r\nFirst line.\rSecond line.\n", name="notes.txt")
    assert reading.text == "Notes\n\nFirst line.\nSecond line.\n"
    start = reading.text.index("Second")
    assert line_of(reading.places, reading.text, start) == 4
    place = place_of(reading.places, start - 3, start + 3, text=reading.text)
    assert place is not None
    assert (place.kind, place.label) == ("line", "3-4")


def test_a_short_first_line_is_the_title_and_a_sentence_is_not():
    assert read(b"Grid Storage\n\nText.", name="a.txt").title == "Grid Storage"
    assert read(b"This is a sentence.\nText.", name="my-notes.txt").title == "my-notes"


MARKDOWN = """---
title: "Grid *storage*"
author: Ann Lee
date: 2024-05-06
---
# Grid **storage**

See [the agency](https://example.org/a_(b) "Agency") and ![figure](x.png) it *fell* by __12 %__, `code` stays.
<!-- hidden
note -->
Setext title
------------

- first_item_name and _this_
* second

| Year | GWh |
|------|-----|
| 2024 | 35  |

```python
x = a * b * c  # not *emphasis*
```

## 成本
價格下降了。

[ref]: https://example.org
2 * 3 * 4 and \\*literal\\*
"""


def test_markdown_loses_marks_and_keeps_lines():
    reading = read(MARKDOWN.encode(), name="a.md")
    lines = reading.text.split("\n")
    assert lines[0] == "# Grid storage"
    assert lines[2] == "See the agency and  it fell by 12 %, code stays."
    assert "hidden" not in reading.text
    assert "## Setext title" in lines
    assert "- first_item_name and this" in lines
    assert "| 2024 | 35  |" in lines
    assert "x = a * b * c  # not *emphasis*" in lines
    assert "2 * 3 * 4 and *literal*" in lines
    for needle in ("Setext title", "| 2024", "價格", "2 * 3"):
        start = reading.text.index(needle)
        line = line_of(reading.places, reading.text, start)
        assert line is not None
        assert needle in MARKDOWN.split("\n")[line - 1]


def test_markdown_headings_and_front_matter_are_kept():
    reading = read(MARKDOWN.encode(), name="a.md")
    headings = [place.label for place in reading.places if place.kind == "heading"]
    assert headings == ["Grid storage", "Setext title", "成本"]
    assert (reading.title, reading.author, reading.published) == ("Grid *storage*", "Ann Lee", "2024-05-06")
    start = reading.text.index("價格")
    place = place_of(reading.places, start, start + 3, text=reading.text)
    assert place is not None
    assert place.label == "成本"


def test_text_before_the_first_heading_is_placed_by_its_line():
    reading = read(b"Intro text.\n\n# Title\n\nBody.", name="a.md")
    place = place_of(reading.places, 0, 5, text=reading.text)
    assert place is not None
    assert (place.kind, place.label) == ("line", "1")


def test_a_passage_of_no_place_has_none():
    assert place_of((), 0, 5) is None
    assert place_of((Place(kind="page", label="1", start=0, end=3),), 5, 9) is None


def test_content_decides_against_the_name():
    assert read(make_pdf([["Hello there."]]), name="a.txt").text == "Hello there."
    reading = read(b"<!DOCTYPE html><html><body><p>Hello there.</p></body></html>", name="a.pdf")
    assert reading.text == "Hello there."
    assert reading.warnings == ("named like pdf, but it holds html and was read as that",)
    assert read(b"Just some words.", name="a.docx").extractor.startswith("text/")


def test_the_media_type_helps_where_the_name_says_nothing():
    assert (
        read(b"# Title\n\n*a* b", name="download", media_type="text/markdown; charset=utf-8").text == "# Title\n\na b"
    )


@pytest.mark.parametrize("raw", [b"", b" \n\t ", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(raw: bytes):
    with pytest.raises(SourceError, match=r"'a\.txt' is empty"):
        read(raw, name="a.txt")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "is a PNG image, which cannot be read; convert it to one of .txt"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 50, "is an old Office file"),
        (bytes(range(256)) * 40, "is not text"),
        (b"PK\x03\x04 not a real archive", "is damaged"),
    ],
)
def test_what_is_not_text_is_refused_by_name(raw: bytes, said: str):
    with pytest.raises(SourceError, match=r"'a\.txt'") as caught:
        read(raw, name="a.txt")
    assert said in str(caught.value)


def test_a_name_with_a_line_break_stays_on_one_line_in_messages():
    with pytest.raises(SourceError) as caught:
        read(b"", name="a\nb.txt")
    assert "\n" not in str(caught.value)


def test_a_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.registry.MAX_FILE_BYTES", 1_000_000)
    with pytest.raises(SourceError, match=r"larger than 1 MB"):
        read(b"word " * 300_000, name="a.txt")


def test_known_suffixes_name_the_formats():
    office = {".docx", ".pptx", ".xlsx", ".csv", ".tsv", ".eml", ".mbox", ".jsonl", ".json", ".epub"}
    assert office | {".md", ".txt", ".html", ".pdf"} <= set(known_suffixes())


def test_reading_english_text_loads_no_vendor_package():
    code = (
        "import sys; from deep_research.documents.readers import read; read(b'Hello there. This is it.', name='a.txt');"
        "vendors = {'opencc', 'lxml', 'docx', 'openpyxl', 'pptx', 'pypdfium2', 'trafilatura', 'snowballstemmer'};"
        "print(sorted(vendors & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(st.binary(max_size=300), st.sampled_from([f"a{suffix}" for suffix in known_suffixes()]))
def test_no_bytes_raise_anything_but_a_source_error(raw: bytes, name: str):
    try:
        reading = read(raw, name=name)
    except SourceError:
        return
    assert reading.text.strip()
    assert all(0 <= place.start <= place.end <= len(reading.text) for place in reading.places)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Microsoft Word - costs_v3.docx", "Costs of heat"),
        ("scan001.pdf", "Costs of heat"),
        ("预算表.xlsx", "Costs of heat"),
        ("Untitled", "Costs of heat"),
        ("Heat in 2025", "Heat in 2025"),
        ("How node.js pays", "How node.js pays"),
    ],
)
def test_a_title_that_is_a_files_name_is_none_where_the_text_has_one(title: str, shown: str) -> None:
    body = "Heat cost 5 million euros in 2025, which is less than in the year before."
    page = f"<html><head><title>{title}</title></head><body><h1>Costs of heat</h1><p>{body}</p></body></html>"
    marked = f"---\ntitle: {title}\n---\n\n# Costs of heat\n\n{body}\n"
    if shown != title:
        assert read(page.encode(), name="p.html").title == shown
    assert read(marked.encode(), name="p.md").title == shown
    bare = f"---\ntitle: {title}\n---\n\n{body}\n"
    assert read(bare.encode(), name="p.md").title == title, "the text has no heading"
