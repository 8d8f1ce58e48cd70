import io
from datetime import UTC, datetime

import pytest
from docx import Document

from deep_research.documents.readers import place_of, read
from deep_research.errors import SourceError
from tests.unit.documents.readers.office_files import change_part, make_docx, make_zip


def report(document) -> None:
    document.add_heading("储能报告", level=0)
    document.add_paragraph("二〇二四年装机容量增长了三成。")
    document.add_heading("Costs", level=1)
    document.add_paragraph("Costs fell by 12%.")
    document.add_paragraph("first point", style="List Bullet")
    document.add_paragraph("second point", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, value in zip((c for row in table.rows for c in row.cells), ("Year", "GWh", "2024", "35"), strict=True):
        cell.text = value
    document.core_properties.title = "Storage"
    document.core_properties.author = "李安"
    document.core_properties.modified = datetime(2024, 5, 6, tzinfo=UTC)


def test_headings_lists_and_tables_keep_their_order_and_shape():
    reading = read(make_docx(report), name="a.docx")
    assert reading.text == (
        "# 储能报告\n\n二〇二四年装机容量增长了三成。\n\n# Costs\n\nCosts fell by 12%.\n\n"
        "- first point\n- second point\n\n| Year | GWh |\n| 2024 | 35 |"
    )
    assert (reading.title, reading.author, reading.published) == ("Storage", "李安", "2024-05-06")


def test_a_passage_is_placed_under_its_heading():
    reading = read(make_docx(report), name="a.docx")
    start = reading.text.index("Costs fell")
    place = place_of(reading.places, start, start + 10)
    assert place is not None
    assert (place.kind, place.label) == ("heading", "Costs")


def test_a_merged_cell_is_given_once():
    def fill(document) -> None:
        table = document.add_table(rows=1, cols=3)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        table.cell(0, 2).text = "c"

    assert read(make_docx(fill), name="a.docx").text == "| wide | c |"


def test_the_stamp_of_an_empty_template_is_no_date():
    reading = read(make_docx(lambda document: document.add_paragraph("Text.")), name="notes.docx")
    assert (reading.title, reading.author, reading.published) == ("notes", "", "")


def test_a_document_without_text_is_refused():
    with pytest.raises(SourceError, match="holds no text"):
        read(make_docx(lambda document: None), name="a.docx")


def test_a_cut_off_file_is_refused():
    with pytest.raises(SourceError, match=r"'a\.docx' is damaged"):
        read(make_docx(report)[:2000], name="a.docx")


def test_an_archive_with_missing_parts_is_refused():
    with pytest.raises(SourceError, match=r"'a\.docx' is damaged"):
        read(make_zip({"word/document.xml": "<w:document/>"}), name="a.docx")


@pytest.mark.parametrize("broken", [b"<not xml", b"<a xmlns='x'/>"])
def test_a_document_part_that_is_not_word_is_refused(broken: bytes):
    with pytest.raises(SourceError, match=r"'a\.docx' is damaged"):
        read(change_part(make_docx(report), "word/document.xml", lambda _: broken), name="a.docx")


def test_a_title_that_is_a_files_name_gives_way_to_the_first_heading() -> None:
    document = Document()
    document.core_properties.title = "Microsoft Word - 方案 final.docx"
    document.add_heading("青岚市海绵城市方案", 1)
    document.add_paragraph("工程完成投资48.6亿元。")
    file = io.BytesIO()
    document.save(file)
    assert read(file.getvalue(), name="x.docx").title == "青岚市海绵城市方案"
