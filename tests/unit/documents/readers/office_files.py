"""Small Office files, books and mails for the tests, with every kind of content that the readers know."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

import docx
import openpyxl
import pptx
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

# python-pptx states no types here.
CATEGORY_DATA: Any = CategoryChartData
POINT_DATA: Any = XyChartData
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>储能简史</dc:title><dc:creator>李安</dc:creator><dc:date>2024-05-06T00:00:00Z</dc:date></metadata><manifest>"
    '<item id="two" href="ch%202.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="one" href="ch1.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="css" href="a.css" media-type="text/css"/></manifest>'
    '<spine><itemref idref="one"/><itemref idref="two"/><itemref idref="css"/></spine></package>'
)
CHAPTER = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'


def make_docx(fill: Callable | None = None) -> bytes:
    document = docx.Document()
    if fill is None:
        document.add_paragraph("Costs fell by 12%.")
    else:
        fill(document)
    return _saved(document)


def make_pptx(fill: Callable | None = None) -> bytes:
    presentation = pptx.Presentation()
    (fill or fill_slides)(presentation)
    return _saved(presentation)


def fill_slides(presentation: Any) -> None:
    """Fill a presentation with a title slide, and a slide of each kind of content."""
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = "Storage 2024"
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "成本"
    frame = slide.placeholders[1].text_frame
    frame.text = "Costs fell by 12%."
    inner = frame.add_paragraph()
    inner.text, inner.level = "Mostly in China.", 1
    slide.notes_slide.notes_text_frame.text = "Say that prices may rise."
    figures = presentation.slides.add_slide(presentation.slide_layouts[5])
    figures.shapes.title.text = "Figures"
    table = figures.shapes.add_table(2, 2, 0, Inches(2), Inches(4), Inches(1)).table
    for cell, value in zip(table.iter_cells(), ("Year", "GWh", "2024", "35"), strict=True):
        cell.text = value
    chart = CATEGORY_DATA(number_format="0%")
    chart.categories = ["North", "South"]
    chart.add_series("Share", (0.25, 0.125))
    chart.add_series("Goal", (0.3, None))
    figures.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, Inches(4), Inches(4), Inches(2), chart)
    points = POINT_DATA()
    series = points.add_series("Price")
    series.add_data_point(1, 2.5)
    figures.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, Inches(7), Inches(4), Inches(2), points)
    presentation.core_properties.title = "PowerPoint Presentation"
    presentation.core_properties.author = "李安"
    presentation.core_properties.modified = datetime(2024, 5, 6, tzinfo=UTC)


def make_xlsx(fill: Callable | None = None) -> bytes:
    book = openpyxl.Workbook()
    (fill or fill_sheets)(book)
    return _saved(book)


def fill_sheets(book: Any) -> None:
    """Fill a workbook with a table that begins below a title and away from the corner, and a second sheet."""
    sheet = book.active
    sheet.title = "Costs"
    sheet["B2"] = "Costs of storage"
    for row, cells in enumerate((("Site", "Share", "Cost"), ("North", 0.08, 1234.5), ("南", 0.125, -20)), start=3):
        for column, value in enumerate(cells, start=2):
            sheet.cell(row, column, value)
        sheet.cell(row, 3).number_format, sheet.cell(row, 4).number_format = "0.0%", "$#,##0.00"
    sheet["B6"] = "Source: own count."
    other = book.create_sheet("Old data")
    other.append(["Year", "GWh"])
    other.append([2023, 21])


def make_epub(**parts: str) -> bytes:
    content = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE,
        "OEBPS/ch1.xhtml": CHAPTER.format("<h1>One</h1><p>Costs fell &amp; fell.</p><p hidden=''>Secret.</p>"),
        "OEBPS/ch 2.xhtml": CHAPTER.format("<h1>二</h1><p>价格下降了。</p>"),
    }
    return make_zip(content | parts)


def make_zip(parts: Mapping[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def change_part(raw: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return an archive with one of its parts changed, and every checksum right."""
    with zipfile.ZipFile(io.BytesIO(raw)) as source:
        return make_zip(
            {name: change(source.read(name)) if name == part else source.read(name) for name in source.namelist()}
        )


def make_mail() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "李安 <an.li@example.org>", "王芳 <fang@example.org>"
    mail["Cc"] = "Ann Lee <ann@example.org>"
    mail["Subject"], mail["Date"] = "预算：第三季度", "Mon, 06 May 2024 10:00:00 +0800"
    mail.set_content("王芳，\n\n成本下降了 12%。\n\n李安\n\n> 成本如何？\n")
    mail.add_alternative("<html><body><p>成本下降了 <b>12%</b>。</p></body></html>", subtype="html")
    mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="预算.pdf")
    return mail.as_bytes()


def _saved(document: object) -> bytes:
    target = io.BytesIO()
    document.save(target)  # type: ignore[attr-defined]  # documents of three packages, alike in this alone
    return target.getvalue()
