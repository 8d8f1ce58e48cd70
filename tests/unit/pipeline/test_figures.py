"""Where figures stand in a report, how they are numbered, and what their data sheets hold."""

import asyncio
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from deep_research.pipeline.figures import figure_files, with_figures
from deep_research.pipeline.records import RunRecords
from deep_research.report.citation import Citations, Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import Caption, DataRow, Figure
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import opening_of, render, seen_from
from deep_research.report.paragraph import Paragraph, Sentence, Verdict
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.support.store_samples import START

VERBATIM = Verdict(kind="supported", reason="verbatim")


def evidence(id_: str, *, document: str = "d1", section: str = "Costs", quote: str = "") -> Evidence:
    return Evidence(id=id_, document=document, start=0, end=9, quote=quote or id_, finding="", section=section)


PIECES = {
    piece.id: piece
    for piece in (
        *(evidence(f"c{at}") for at in range(1, 6)),
        *(evidence(f"r{at}", document="d2", section="Results") for at in range(1, 6)),
        evidence("far", document="d9", section="Elsewhere"),
        evidence("moved", document="d2"),
    )
}


def figure(*ids: str, title: str = "T", unit: str = "EUR") -> Figure:
    rows = tuple(DataRow(label=str(2020 + at), value=at, evidence=id_) for at, id_ in enumerate(ids))
    return Figure(title=title, chart_type="line", unit=unit, rows=rows, png="png", svg="svg")


class Shelf:
    """The stored values that placing reads."""

    def __init__(self, figures: Sequence[Figure] = ()) -> None:
        self.figures, self.store = figures, self

    async def evidence(self, ids: Sequence[str]) -> list[Evidence]:
        return [PIECES[id_] for id_ in ids]

    async def load(self, kind: type[Figure], id_: str) -> Figure:
        return self.figures[int(id_)]

    async def get_blob(self, blob: str) -> bytes:
        return {"png": b"\x89PNG", "svg": b"<svg fill='#ffffff'/>"}[blob]


def said(text: str, *ids: str, section: str = "Costs", is_own: bool = True, **more: Any) -> Paragraph:
    sentence = Sentence(text=text, evidence=ids, verdict=None if is_own else VERBATIM)
    return Paragraph(section=section, sentences=(sentence,), **more)


def placed(
    report: ReportLayout, *figures: Figure, language: Language = "en", is_written: bool = False
) -> tuple[ReportLayout, list[str]]:
    shelf = cast(RunRecords, Shelf(figures))
    ids = [str(at) for at in range(len(figures))]
    return asyncio.run(with_figures(report, ids, words_in(language), shelf, is_written=is_written))


def report_of(*chapters: Sequence[Paragraph], abstract: Sequence[Paragraph] = ()) -> ReportLayout:
    named = tuple(Chapter(title=own[0].section, paragraphs=tuple(own)) for own in chapters)
    return ReportLayout(title="R", abstract=tuple(abstract), chapters=named, run_line="run")


def outline(report: ReportLayout) -> list[str]:
    """Return the paragraphs as one letter each: what was there by its text, what introduces a figure, and figures."""
    return [
        f"[{each.number} {each.figure.title}]" if isinstance(each, Caption) else each.sentences[0].text.split(":")[0]
        for each in report.paragraphs
    ]


@pytest.mark.parametrize(
    ("language", "mention"),
    [
        ("en", "Costs rose, as Figure 1 shows."),
        ("en", "Costs rose (fig. 1)."),
        ("zh-Hans", "如图1所示，费用上升。"),
        ("zh-Hans", "费用上升（图 1）。"),
        ("zh-Hant", "如圖1所示，費用上升。"),
    ],
)
def test_a_figure_stands_right_after_the_first_paragraph_that_mentions_it(language: Language, mention: str) -> None:
    report = report_of([said("a", "c1"), said(mention, "c2"), said("b", "c3"), said(mention, "c4")])
    shown, _ = placed(report, figure("c3", "c4"), language=language, is_written=True)
    assert outline(shown) == ["a", mention, "[1 T]", "b", mention]


@pytest.mark.parametrize(
    ("mention", "bare"), [("Results rose (Figure 1).", "Results rose."), ("结果上升（图1）。", "结果上升。")]
)
def test_a_chart_of_what_its_sentence_does_not_cite_is_left_out_and_not_named(mention: str, bare: str) -> None:
    shown, left = placed(report_of([said(mention, "r1")]), figure("c3", "c4"), is_written=True)
    assert (outline(shown), left) == ([bare], ["T"])


@pytest.mark.parametrize(("language", "end"), [("en", "Outlook"), ("zh-Hans", "展望")])
def test_the_end_of_a_report_has_no_figure_where_its_body_can_have_it(language: Language, end: str) -> None:
    report = report_of([said("a", "c1")], [said("b", "c2", "c3", section=end)])
    shown, _ = placed(report, figure("c2", "c3"), language=language)
    assert outline(shown)[2:] == ["[1 T]", "b"]


def test_figure_12_is_not_figure_1() -> None:
    shown, _ = placed(report_of([said("See Figure 12.", "c1"), said("b", "c2")]), figure("c2"))
    assert outline(shown) == ["See Figure 12.", "b", "Figure 1 shows the values that the sources give.", "[1 T]"]


def test_a_figure_in_a_quotation_is_the_sources_own() -> None:
    report = report_of([said("Costs are in Figure 1.", "c1", is_own=False), said("b", "c2"), said("c", "r1")])
    shown, _ = placed(report, figure("c2"))
    assert outline(shown)[:2] == ["Costs are in Figure 1.", "b"]
    assert outline(shown)[3] == "[1 T]"


def test_one_that_nobody_mentions_is_introduced_behind_what_rests_on_its_evidence() -> None:
    report = report_of(
        [said("a", "c1", "c2"), said("b", "c3"), said("c", "c5")],
        [said("d", "r1", section="Results")],
        abstract=[said("first", "c1", "c2", "c3", section="abstract")],
    )
    shown, left = placed(report, figure("c1", "c2", "c3"))
    introduced = "Figure 1 shows the values that the sources give."
    assert outline(shown) == ["first", "a", "b", introduced, "[1 T]", "c", "d"]
    assert left == []
    (own,) = [each for each in shown.paragraphs if each.sentences[0].text.startswith("Figure 1 shows")]
    assert own.kind == "note"
    assert own.sentences[0].text == introduced, "the caption says the title"


def test_where_no_paragraph_has_its_evidence_it_ends_its_section() -> None:
    report = report_of([said("a", "c1"), said("b", "c2")], [said("c", "r1", section="Results")])
    assert outline(placed(report, figure("c4", "c5"))[0])[:4:3] == ["a", "[1 T]"]


def test_a_chapter_that_cites_its_document_is_nearer_than_one_that_only_has_its_section() -> None:
    report = report_of([said("a", "c1")], [said("b", "r1", section="Results")])
    assert outline(placed(report, figure("moved"))[0])[::3] == ["a", "[1 T]"]
    report = report_of([said("a", "r1", section="Results")], [said("b", "r2")])
    assert outline(placed(report, figure("moved"))[0])[1::2] == ["b", "[1 T]"]


def test_a_chapter_on_its_document_is_nearer_than_one_that_cites_it_among_others() -> None:
    advice = [said("Wait.", "c1", section="Advice"), said("Ask.", "r1", section="Advice")]
    shown, _ = placed(report_of(advice, [said("It works.", "r2", section="How well it works")]), figure("r3", "r4"))
    assert [any(one.kind == "caption" for one in chapter.paragraphs) for chapter in shown.chapters] == [False, True]


def test_figures_are_numbered_in_the_order_of_reading() -> None:
    report = report_of([said("a", "c1")], [said("b", "r1", section="Results")])
    shown, _ = placed(report, figure("r1", title="later"), figure("c1", title="sooner"))
    assert [each for each in outline(shown) if each.startswith("[")] == ["[1 sooner]", "[2 later]"]


def test_at_the_end_of_a_section_what_belongs_to_the_last_paragraph_comes_first() -> None:
    report = report_of([said("a", "c1"), said("b", "c2")])
    shown, _ = placed(report, figure("c4", title="of the section"), figure("c2", title="of the paragraph"))
    assert [each for each in outline(shown) if each.startswith("[")] == ["[1 of the paragraph]", "[2 of the section]"]


def test_a_list_is_not_torn_apart() -> None:
    items = [said(text, id_, mark="number") for text, id_ in (("a", "c1"), ("b", "r1"), ("c", "r2"))]
    shown, _ = placed(report_of([*items, said("d", "r3")]), figure("c1"))
    assert outline(shown)[:3] == ["a", "b", "c"]
    assert outline(shown)[4:] == ["[1 T]", "d"]


def test_what_has_nothing_to_do_with_the_report_is_left_out_and_named() -> None:
    report = report_of([said("a", "c1")])
    shown, left = placed(report, figure("far", title="Elsewhere"))
    assert (shown, left) == (report, ["Elsewhere"])


def _rendered(shown: ReportLayout, language: Language = "en") -> str:
    sources = tuple(Source(document=id_, title=id_, address=f"{id_}.md") for id_ in ("d1", "d2"))
    citations = Citations(cited=sources)
    return render(
        shown, citations, number_of=lambda id_: citations.number(PIECES[id_].document), words=words_in(language)
    )


def test_hostile_titles_and_labels_stay_text() -> None:
    attack = "](javascript:x) [1] <b> ![x](y) | `code` **bold**"
    rows = (DataRow(label=attack, value=1, evidence="c1", series=attack),)
    drawn = Figure(title=attack, chart_type="bar", rows=rows, png="p")
    text = _rendered(placed(report_of([said("a", "c1")]), drawn)[0])
    picture = next(line for line in text.splitlines() if line.startswith("!["))
    assert picture.endswith("](figures/figure-1.png)  ")
    inner = picture[2 : picture.rindex("](figures")]
    assert all(inner[at - 1] == "\\" for at, sign in enumerate(inner) if sign in "[]`<")


def test_a_report_elsewhere_finds_its_pictures_and_a_terminal_shows_none(tmp_path: Path) -> None:
    text = _rendered(
        placed(report_of(abstract=[said(r"see \](figures/x)", "c1", section="abstract")]), figure("c1"))[0]
    )
    run = tmp_path / "logs" / "my run (1)"
    moved = seen_from(tmp_path / "out", text, run_folder=run)
    assert "](../logs/my%20run%20%281%29/figures/figure-1.png)" in moved
    assert moved.count("figures/figure-1.csv") == 1
    assert "![" in text
    assert "![" not in opening_of(text)
    assert "Figure 1: T" in opening_of(text)


def test_a_data_sheet_computes_nothing_and_names_every_source() -> None:
    quote = '=HYPERLINK("http://x.example")\nand "more", 5'
    passage = CitedPassage(id="c1", document="d1", start=0, end=len(quote), quote=quote, place="p. 4")
    rows = (DataRow(label="=1+1", value=-5.25, evidence="c1", series="@cmd"),)
    drawn = Figure(title="T", chart_type="bar", unit="%", rows=rows, png="png", svg="svg")
    caption = Caption(section="S", kind="caption", number=2, figure=drawn)
    source = Source(document="d1", title="财政报告", address="a/b.pdf")
    edition = Edition(
        run="r",
        question="?",
        language="en",
        created_at=START,
        code_version="1",
        report=report_of(),
        citations=Citations(cited=(source,)),
        passages=(passage,),
    )
    files = asyncio.run(figure_files(caption, edition, cast(RunRecords, Shelf())))
    assert set(files) == {f"figures/figure-2{ending}" for ending in (".png", ".svg", "-dark.svg", ".csv")}
    (row,) = csv.DictReader(files["figures/figure-2.csv"].decode("utf-8-sig").splitlines(keepends=True))
    assert (row["label"], row["series"], row["passage"]) == ("'=1+1", "'@cmd", f"'{quote}")
    assert (row["value"], row["citation"], row["source"]) == ("-5.25", "1", "财政报告 - a/b.pdf")
    assert b"#ffffff" not in files["figures/figure-2-dark.svg"]
