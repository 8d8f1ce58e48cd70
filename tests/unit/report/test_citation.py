"""Numbers are given once, per source, in order of first use, and go on over the sources that are not cited."""

from deep_research.report.citation import Source, number_sources
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render, render_source
from deep_research.report.paragraph import Paragraph, Sentence, note
from deep_research.text.messages.words import words_in

SOURCES = [Source(document=id_, title=f"Title {id_}", address=f"{id_}.md") for id_ in ("a", "b", "c")]
DOCUMENT_OF = {"e1": "b", "e2": "a", "e3": "b"}


def _claim(*sentences: tuple[str, tuple[str, ...]]) -> Paragraph:
    return Paragraph(section="s", sentences=tuple(Sentence(text=text, evidence=ids) for text, ids in sentences))


def _render(language: str = "en", **fields: object) -> str:
    stop = "." if language == "en" else "。"
    paragraph = _claim((f"First{stop}", ("e1",)), (f"Second{stop}", ("e2", "e3")))
    chapters = (Chapter(title="S", paragraphs=(paragraph,)),)
    report = ReportLayout(title="T", chapters=chapters, run_line="Run x", **fields)  # type: ignore[arg-type]
    citations = number_sources(report.paragraphs, document_of=DOCUMENT_OF, sources=SOURCES)
    words = words_in("en" if language == "en" else "zh-Hans")
    return render(report, citations, number_of=lambda id_: citations.number(DOCUMENT_OF[id_]), words=words)


def test_sources_are_numbered_in_order_of_first_use():
    citations = number_sources([_claim(("x", ("e1", "e2")))], document_of=DOCUMENT_OF, sources=SOURCES)
    assert [source.document for source in citations.cited] == ["b", "a"]
    assert [source.document for source in citations.additional] == ["c"]
    assert citations.share_cited == 67


def test_sources_of_an_earlier_report_keep_their_numbers():
    earlier = [SOURCES[2], SOURCES[1]]
    told = [_claim(("x", ("e2", "e1")))]
    citations = number_sources(told, document_of=DOCUMENT_OF, sources=SOURCES, earlier=earlier)
    assert [source.document for source in citations.sources] == ["c", "b", "a"]
    assert [citations.number(document) for document in "cba"] == [1, 2, 3]
    assert citations.unused == ("c",)
    assert [source.document for source in citations.used] == ["b", "a"]
    assert citations.share_cited == 67


def test_each_sentence_carries_its_own_markers():
    assert "First. [1] Second. [1][2]" in _render()


def test_chinese_markers_need_no_space():
    assert "First。[1]Second。[1][2]" in _render("zh-Hans")


def test_references_have_the_documented_form():
    text = _render()
    assert "## References\n\n### Cited Sources (Used in Report)\n\n[1] Title b - b.md  \n[2] Title a - a.md" in text
    assert "### Additional Sources (Not Cited)\n\n[3] Title c - c.md" in text
    assert "Citation Statistics:\n\n- Cited: 67%\n- Total: 3 sources" in text


def test_what_is_missing_has_its_own_parts():
    text = _render(gaps=("Nothing on x.",), about=("It is 2026.", "Two pages."))
    assert text.index("## S") < text.index("Nothing on x.") < text.index("It is 2026.") < text.index("Two pages.")


def test_a_note_carries_no_marker():
    assert note("s", "Nothing was found.").cite_ids == ()


def test_rows_of_one_sheet_are_one_place():
    cells = ("Teams!A4:E4", "Costs!B2:B3", "Teams!A5:E5", "page 3", "Teams!A8:E8", "Teams!B9:E9", "What now!", "Who!A2")
    source = Source(document="b", title="Title b", address="b.xlsx", places=cells)
    paragraph = _claim(("First.", ("e1",)))
    chapters = (Chapter(title="S", paragraphs=(paragraph,)),)
    report = ReportLayout(title="T", chapters=chapters, run_line="Run x")

    def listed(source: Source) -> str:
        citations = number_sources(report.paragraphs, document_of=DOCUMENT_OF, sources=[source])
        text = render(report, citations, number_of=lambda id_: citations.number(DOCUMENT_OF[id_]), words=words_in("en"))
        return text.split("[1] Title b - b.xlsx (")[1].split("\n")[0]

    assert listed(source) == "Teams!A4:E5, A8:E8, B9:E9; Costs!B2:B3; page 3; What now!; …)"
    many = tuple(f"Teams!A{number}:C{number}" for number in (1, 2, 3, 4, 9, 7, 8))
    assert listed(source.model_copy(update={"places": many})) == "Teams!A1:C4, A9:C9, A7:C8)"


def test_the_line_of_a_source_names_who_wrote_it_and_when():
    page = Source(
        document="b", title="Title b", address="https://b.test/x", published="2015-09-30", byline="A Lee, 2015"
    )
    file = Source(document="c", title="T [c] - 2", address="c.pdf", places=("p. 2",), byline="李安 等, 2015")
    lines = [render_source(source, 1, words_in("en")) for source in (page, file, page.replace(byline=""))]
    assert lines == [
        "[1] Title b (A Lee, 2015) - https://b.test/x (2015-09-30)",
        "[1] T [c] - 2 (李安 等, 2015) - c.pdf (p. 2)",
        "[1] Title b - https://b.test/x (2015-09-30)",
    ]


def test_a_byline_closes_no_bracket_and_breaks_no_line():
    hostile = Source(document="b", title="B", address="b.md", byline="A\n[2] x](https://evil.test) - *y*")
    line = render_source(hostile, 1, words_in("en"))
    assert "\n" not in line
    assert r"\[2] x\](https:\//" in line
