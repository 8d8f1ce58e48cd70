import pytest
from pptx.enum.shapes import MSO_SHAPE
from pptx.util import Inches

from deep_research.documents.readers import place_of, read
from deep_research.errors import SourceError
from tests.unit.documents.readers.office_files import change_part, make_pptx


def test_titles_bullets_tables_charts_and_notes_keep_their_shape():
    reading = read(make_pptx(), name="a.pptx")
    assert reading.text == (
        "## Storage 2024\n\n## 成本\n\n- Costs fell by 12%.\n  - Mostly in China.\n\n### Notes\n\n"
        "Say that prices may rise.\n\n"
        "## Figures\n\n| Year | GWh |\n| 2024 | 35 |\n\n"
        "|  | Share | Goal |\n| North | 25% | 30% |\n| South | 13% |  |\n\n|  | Price |\n| 1 | 2.5 |"
    )
    assert (reading.title, reading.author, reading.published) == ("Storage 2024", "李安", "2024-05-06")
    assert reading.warnings == ()


def test_every_stretch_stands_on_its_slide():
    reading = read(make_pptx(), name="a.pptx")
    for needle, slide in (("Storage 2024", "1"), ("Mostly in", "2"), ("prices may rise", "2"), ("| South", "3")):
        start = reading.text.index(needle)
        place = place_of(reading.places, start, start + len(needle))
        assert place is not None
        assert (place.kind, place.label) == ("slide", slide)


def test_boxes_and_groups_are_read_line_by_line():
    def fill(presentation) -> None:
        shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
        group = shapes.add_group_shape()
        for text, left, top, parent in (
            ("fourth", 5, 5.1, group.shapes),
            ("third", 1, 5, group.shapes),
            ("second", 5, 1, shapes),
            ("first", 1, 1.1, shapes),
        ):
            box = parent.add_shape(MSO_SHAPE.RECTANGLE, Inches(left), Inches(top), Inches(2), Inches(0.5))
            box.text_frame.text = text

    assert read(make_pptx(fill), name="a.pptx").text == "first\n\nsecond\n\nthird\n\nfourth"


def test_a_hidden_slide_is_read_and_remarked():
    def fill(presentation) -> None:
        for text in ("Shown", "Not shown"):
            slide = presentation.slides.add_slide(presentation.slide_layouts[5])
            slide.shapes.title.text = text
        slide._element.set("show", "0")

    reading = read(make_pptx(fill), name="a.pptx")
    assert "Not shown" in reading.text
    assert reading.warnings == ("hidden slides were read too: 2",)


def test_text_of_a_drawing_is_read():
    diagram = (
        '<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst>'
        "<dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt>"
        "<dgm:pt><dgm:t><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
    )
    frame = (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="d"/><p:cNvGraphicFramePr/><p:nvPr/>'
        "</p:nvGraphicFramePr>"
        '<p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm><a:graphic>'
        '<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">'
        '<dgm:relIds xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:dm="rId2"/>'
        "</a:graphicData></a:graphic></p:graphicFrame></p:spTree>"
    )

    def fill(presentation) -> None:
        from pptx.opc.package import Part
        from pptx.opc.packuri import PackURI

        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, diagram.encode())
        assert slide.part.relate_to(part, "http://schemas.openxmlformats.org/diagramData") == "rId2"

    raw = change_part(make_pptx(fill), "ppt/slides/slide1.xml", lambda xml: xml.replace(b"</p:spTree>", frame.encode()))
    assert read(raw, name="a.pptx").text == "- Plan\n- Build"


def test_the_stamp_of_an_empty_template_is_no_date():
    def fill(presentation) -> None:
        presentation.slides.add_slide(presentation.slide_layouts[6]).shapes.add_textbox(
            0, 0, 9, 9
        ).text_frame.text = "Hi"

    reading = read(make_pptx(fill), name="talk.pptx")
    assert (reading.title, reading.author, reading.published) == ("talk", "", "")


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_cut_off_file_is_refused(keep: float):
    raw = make_pptx()
    with pytest.raises(SourceError, match=r"'a\.pptx' is damaged"):
        read(raw[: int(keep * len(raw))], name="a.pptx")
