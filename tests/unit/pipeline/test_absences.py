"""The stretches of all stored texts that are read before it is printed that no source says something."""

from deep_research.pipeline.absences import likely_stretches
from deep_research.report.paragraph import Sentence
from deep_research.report.sources.document import Document


def document(name: str, text: str) -> Document:
    return Document(id=name, snapshot=name, title=name, text=text, media_type="text/plain", extractor="plain")


def absence(text: str, basis: str = "") -> Sentence:
    return Sentence(text=text, kind="absence", basis=basis)


LONG = "".join(f"Paragraph {n} tells how the choir of the parish sang on a Wednesday evening.\n" for n in range(60))
TABLE = "Tunnels\n\n| Tunnel | Opened |\n| --- | --- |\n" + "".join(f"| Tunnel {n} | {1900 + n} |\n" for n in range(90))


def test_every_text_is_covered_without_a_gap() -> None:
    texts = {"choir": LONG, "table": TABLE}
    stretches = likely_stretches([absence("Nobody says when.")], [document(*each) for each in texts.items()])
    for name, text in texts.items():
        own = sorted((each.start, each.text) for each in stretches if each.document == name)
        assert "".join(part for _, part in own) == text


def test_the_likeliest_stretch_stands_first_wherever_it_is() -> None:
    texts = [document("choir", LONG), document("works", LONG + "The toll of the harbour tunnel is 4 euros.\n")]
    best = likely_stretches([absence("No source names a toll.", "toll harbour tunnel")], texts)[0]
    assert best.document == "works"
    assert "4 euros" in best.text


def test_rows_far_down_a_table_bring_its_header() -> None:
    stretches = likely_stretches(
        [absence("No source tells when tunnel 88 opened.", "Tunnel 88")], [document("t", TABLE)]
    )
    assert all("Opened" in each.headings for each in stretches if each.start > TABLE.index("Tunnel 20"))


def test_each_statement_has_its_turn() -> None:
    texts = [document("a", "The toll is 4 euros.\n" + LONG), document("b", "该隧道的通车日期是2026年5月4日。\n" + LONG)]
    both = likely_stretches(
        [absence("No source names the toll."), absence("没有资料说明通车日期。", "通车日期")], texts
    )
    assert {both[0].document, both[1].document} == {"a", "b"}
