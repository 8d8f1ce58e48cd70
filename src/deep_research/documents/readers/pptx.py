"""PowerPoint presentations by slide: titles, text in reading order, tables, the figures of charts, and the notes."""

import io
import re
from datetime import datetime

import pptx
from lxml import etree
from pptx.chart.chart import Chart
from pptx.chart.series import _BaseSeries
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PythonPptxError
from pptx.oxml.ns import qn
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide
from pptx.text.text import TextFrame

from deep_research.documents.readers.archive import DAMAGE, checked_names, day_saved
from deep_research.documents.readers.number_format import shown
from deep_research.documents.readers.port import MAX_PAGES, MAX_ROWS, BlockText, Reading, one_line
from deep_research.errors import SourceError

# What python-pptx's own template carries; files made with it mostly still do.
_TEMPLATE_DATE = datetime(2013, 1, 27, 9, 15, 58)  # noqa: DTZ001 - a stamp as written in the file, not a moment
_EMPTY_TITLE = re.compile(r"(?:powerpoint)?\s*(?:presentation|演示文稿|簡報)?\s*\d*", re.IGNORECASE)
_NOTES = "Notes"
_MARGINAL = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER)
_BULLETED = (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY, PP_PLACEHOLDER.VERTICAL_OBJECT)
_MAX_GROUP_DEPTH = 10
# Shapes whose tops lie within a quarter of an inch stand side by side and are read from left to right.
_SAME_LINE_EMU = 914_400 // 4
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:E[-+]?\d{1,3})?", re.IGNORECASE)
_DIAGRAM_POINT = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}pt"


def read(raw: bytes, name: str) -> Reading:
    """Return a presentation's text with its slides as places."""
    checked_names(raw, name)
    try:
        presentation = pptx.Presentation(io.BytesIO(raw))
        named = list(presentation.slides)
        slides = list({slide.part: slide for slide in named}.values())
        blocks = BlockText()
        for number, slide in enumerate(slides[:MAX_PAGES], start=1):
            blocks.begin_place("slide", str(number))
            _add_slide(slide, blocks)
        properties = presentation.core_properties
        title, author = one_line(properties.title or ""), one_line(properties.author or "")
        published = day_saved(properties.modified, properties.created, _TEMPLATE_DATE)
        hidden = [str(number) for number, slide in enumerate(slides, start=1) if slide._element.get("show") == "0"]
    except (*DAMAGE, PythonPptxError, etree.LxmlError) as exc:
        raise SourceError(
            f"{name!r} is damaged: PowerPoint's own parts are missing; open it in PowerPoint and save it again."
        ) from exc
    warnings = [f"hidden slides were read too: {', '.join(hidden)}"] if hidden else []
    if repeated := len(named) - len(slides):
        warnings.append(f"{repeated} slides are named again in the presentation's order and were read once")
    if len(slides) > MAX_PAGES:
        warnings.append(f"only the first {MAX_PAGES} of {len(slides)} slides were read")
    places = blocks.places()
    headings = (place.label for place in places if place.kind == "heading" and place.label != _NOTES)
    return Reading(
        text=blocks.text(),
        title=next(headings, "") if _EMPTY_TITLE.fullmatch(title) else title,
        author=author,
        published=published,
        places=places,
        warnings=tuple(warnings),
    )


def _add_slide(slide: Slide, blocks: BlockText) -> None:
    title = slide.shapes.title
    if title is not None:
        blocks.heading(title.text_frame.text, 2)
    shapes = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    for shape in _in_reading_order(shapes):
        _add_shape(shape, blocks, 0)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        blocks.heading(_NOTES, 3)
        for paragraph in notes.paragraphs:
            blocks.paragraph(paragraph.text)


def _in_reading_order(shapes: list[BaseShape]) -> list[BaseShape]:
    """Return shapes line by line; those without a position come first, as they stand in the file."""
    if len(shapes) < 2:
        return shapes
    lines: list[list[tuple[int, int, int]]] = []
    for spot in sorted((int(shape.top or 0), int(shape.left or 0), index) for index, shape in enumerate(shapes)):
        if not lines or spot[0] - lines[-1][0][0] > _SAME_LINE_EMU:
            lines.append([])
        lines[-1].append(spot)
    return [shapes[index] for line in lines for _, _, index in sorted(line, key=lambda spot: spot[1:])]


def _add_shape(shape: BaseShape, blocks: BlockText, depth: int) -> None:
    if isinstance(shape, GroupShape):
        for inner in _in_reading_order(list(shape.shapes)) if depth < _MAX_GROUP_DEPTH else ():
            _add_shape(inner, blocks, depth + 1)
    elif isinstance(shape, GraphicFrame):
        _add_graphic(shape, blocks)
    elif isinstance(shape, Shape):
        kind = shape.placeholder_format.type if shape.is_placeholder else None
        if kind not in _MARGINAL:
            _add_text(shape.text_frame, blocks, is_list=kind in _BULLETED)


def _add_text(frame: TextFrame, blocks: BlockText, *, is_list: bool) -> None:
    """Add the paragraphs of a shape, as items where they show bullets."""
    paragraphs = [paragraph for paragraph in frame.paragraphs if paragraph.text.strip()]
    for paragraph in paragraphs:
        marks = {etree.QName(mark).localname for mark in paragraph._p.xpath("./a:pPr/*")}
        is_item = not marks.isdisjoint({"buChar", "buAutoNum", "buBlip"})
        if is_item or (is_list and len(paragraphs) > 1 and "buNone" not in marks):
            blocks.item(paragraph.text, paragraph.level)
        else:
            blocks.paragraph(paragraph.text)
    blocks.end_block()


def _add_graphic(frame: GraphicFrame, blocks: BlockText) -> None:
    if frame.has_table:
        for row in frame.table.rows:
            blocks.row(cell.text for cell in row.cells)
    elif frame.has_chart:
        _add_chart(frame.chart, blocks)
    else:
        for data in frame._element.xpath(".//@*[local-name()='dm']"):
            _add_diagram(frame.part.related_part(data).blob, blocks)
    blocks.end_block()


def _add_chart(chart: Chart, blocks: BlockText) -> None:
    """Add the figures of a chart as a table: a row for each category, a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        blocks.paragraph(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = list(plot.series)
        columns = [_points(each, "./c:val//c:pt|./c:yVal//c:pt") for each in series]
        nested = [" ".join(label) for label in plot.categories.flattened_labels if len(label) > 1]
        labels = dict(enumerate(nested)) or (_points(series[0], "./c:cat//c:pt|./c:xVal//c:pt") if series else {})
        blocks.row(["", *(each.name for each in series)])
        for index in sorted({index for column in (labels, *columns) for index in column})[:MAX_ROWS]:
            blocks.row([labels.get(index, ""), *(column.get(index, "") for column in columns)])
        blocks.end_block()


def _points(series: _BaseSeries, path: str) -> dict[int, str]:
    """Return what the chart shows for each stored point of a series, by the point's number."""
    points: dict[int, str] = {}
    for point in series._element.xpath(path):
        value = point.findtext(qn("c:v")) or ""
        number_format = point.getparent().findtext(qn("c:formatCode"))
        is_number = number_format is not None and _NUMBER.fullmatch(value)
        points[int(point.get("idx"))] = shown(float(value), number_format or "") if is_number else value
    return points


def _add_diagram(data: bytes, blocks: BlockText) -> None:
    """Add the texts of a SmartArt drawing, one item for each of its shapes."""
    tree = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    for point in tree.iter(_DIAGRAM_POINT):
        blocks.item(" ".join(run.text or "" for run in point.iter(qn("a:t"))))
