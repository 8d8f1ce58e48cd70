"""Whatever is written, dropped or garbled: the report tells every figure that quoting its evidence would have told."""

from hypothesis import given
from hypothesis import strategies as st

from deep_research.evidence.passage import Evidence
from deep_research.pipeline.missing_figures import left_out, missing_figures, quotes_of
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.verify.particulars import figures_of
from deep_research.verify.quote import check_quote
from tests.unit.reasoning.pieces import piece, rows_of, table

COST = "The retrofit cost €146.2 million by 2025. It took 4 years and 210 workers. Nobody disputes that."
COST_ZH = "改造工程投资48.6亿元。其中三成来自专项债券，约1.2万户居民受益。"
COST_HANT = "改造工程投資48.6億元。其中三成來自專項債券，約1.2萬戶居民受益。"
QUOTES = (
    COST,
    COST_ZH,
    COST_HANT,
    "Losses fell to 13.2 per cent. Another 9 kilometres follow (see Table 2).",
    "However, the tank holds 18,000 cubic metres; in 2024 it was empty.",
)
EVIDENCE = [piece(quote, document=str(number)) for number, quote in enumerate(QUOTES)]


def figures(paragraphs: tuple[Paragraph, ...]) -> set[tuple[str, float, str]]:
    """Return each figure with the evidence that is cited for it."""
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    return {
        (id_, found.value, found.unit) for each in sentences for id_ in each.evidence for found in figures_of(each.text)
    }


@st.composite
def garbled(draw: st.DrawFn) -> Sentence:
    """A quoted sentence: as it is, cut short, with other digits, or cited for something else."""
    source = draw(st.sampled_from(EVIDENCE))
    text = draw(st.sampled_from([each.text for part in quotes_of("s", [source]) for each in part.sentences]))
    text = text[draw(st.integers(0, 10)) : len(text) - draw(st.integers(0, 20))]
    text = text.replace(draw(st.sampled_from("0123456789")), draw(st.sampled_from("0123456789")))
    cited = draw(st.lists(st.sampled_from([*EVIDENCE, piece("Elsewhere.", "x")]), max_size=2))
    return Sentence(text=text, evidence=tuple(each.id for each in cited))


@given(kept=st.lists(garbled(), max_size=8), evidence=st.permutations(EVIDENCE), count=st.integers(0, len(EVIDENCE)))
def test_no_figure_is_lost(kept: list[Sentence], evidence: list[Evidence], count: int) -> None:
    chosen = evidence[:count]
    told = (Paragraph(section="s", sentences=tuple(kept)), *missing_figures("s", chosen, kept))
    assert figures(told) >= figures(quotes_of("s", chosen))


@given(kept=st.lists(garbled(), max_size=8))
def test_every_row_is_a_quotation_and_stands_once(kept: list[Sentence]) -> None:
    rows = [row for part in missing_figures("s", EVIDENCE, kept) for row in part.sentences]
    assert len({row.text for row in rows}) == len(rows)
    for row in rows:
        (cited,) = [source for source in EVIDENCE if source.id in row.evidence]
        verdict = check_quote(row, [cited])
        assert verdict is not None
        assert verdict.kind == "supported"


def test_what_is_told_with_its_source_is_not_told_again() -> None:
    source = piece(COST)
    retold = Sentence(
        text="In 2025 the bill stood at 146.2 million euros after 4 years, for 210 workers.", evidence=(source.id,)
    )
    assert missing_figures("s", [source], [retold]) == ()
    elsewhere = retold.model_copy(update={"evidence": ("other",)})
    assert left_out([source], [elsewhere]) == (source,)


def test_a_figure_without_its_unit_is_not_told() -> None:
    source = piece("The retrofit cost €146.2 million.")
    bare = Sentence(text="It came to 146.2 million.", evidence=(source.id,))
    [found] = missing_figures("s", [source], [bare])
    assert [row.text for row in found.sentences] == [source.quote]


def test_a_sentence_that_leans_on_another_is_quoted_with_it_as_one_row() -> None:
    source = piece(COST)
    told = Sentence(text="It cost 146.2 million euros.", evidence=(source.id,))
    [found] = missing_figures("s", [source], [told])
    assert [row.text for row in found.sentences] == [
        "The retrofit cost €146.2 million by 2025. It took 4 years and 210 workers."
    ]


def test_rows_of_tables_are_not_quoted_as_prose() -> None:
    rows = [row for row, _ in rows_of(table(["Part", "Cost in EUR million"], ["Tank", "11.7"]))]
    assert rows
    assert missing_figures("s", rows, []) == ()
    assert quotes_of("s", rows) == ()
