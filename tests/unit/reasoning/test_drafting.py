"""Paragraphs quote, the abstract leads with what says most, the conclusion tells what comes next and says it once."""

import pytest

from deep_research.reasoning.rules.quoting.drafting import abstract_of, conclusion_of, paragraphs_of, quoted
from deep_research.reasoning.values import Draft, Plan
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.quantities import find_quantities
from tests.unit.reasoning.pieces import brief, piece, rows_of, table

COST = "The retrofit cost €146.2 million in total by the end of 2025."
PLANS = ["The council will decide on the next phase in May.", "Auditors recommend a tender for future works in 2027."]


def figures(text: str) -> float:
    return float(len(find_quantities(text)))


def draft(*sections: list[str]) -> Draft:
    paragraphs = tuple(
        Paragraph(section=f"s{at}", sentences=(Sentence(text=text, evidence=(f"e{at}{number}",)),))
        for at, texts in enumerate(sections)
        for number, text in enumerate(texts)
    )
    return Draft(brief=brief("?"), plan=Plan(research_title="?", sections=()), paragraphs=paragraphs)


def texts(paragraphs: tuple[Paragraph, ...]) -> list[str]:
    return [sentence.text for paragraph in paragraphs for sentence in paragraph.sentences]


def test_each_piece_is_a_paragraph_of_its_section_and_each_sentence_cites_it():
    first, second = piece(f"{COST} However, the plant\nopened late."), piece("工程按期完工。居民普遍满意。", "b")
    one, two = paragraphs_of("Cost", [first, second])
    assert (one.section, one.kind) == ("Cost", "claim")
    assert [(sentence.text, sentence.evidence) for sentence in one.sentences] == [
        (COST, (first.id,)),
        ("The plant opened late.", (first.id,)),
    ]
    assert texts((two,)) == ["工程按期完工。", "居民普遍满意。"]
    assert two.cite_ids == (second.id,)


def test_bullets_are_quoted_one_by_one_without_their_marks():
    assert [sentence.text for sentence in quoted(piece("Emissions fell\n- Bills rose\n- 居民满意"))] == [
        "Emissions fell",
        "Bills rose",
        "居民满意",
    ]


def test_no_evidence_gives_no_paragraph():
    assert paragraphs_of("Cost", []) == ()


def test_the_abstract_takes_what_says_most_of_each_section_in_the_order_of_the_sections():
    told = abstract_of(draft(["The plant is new.", COST], ["Losses were 13 per cent.", "Bills rose."]), figures)
    assert texts(told) == [COST, "The plant is new.", "Losses were 13 per cent.", "Bills rose."]
    assert {paragraph.section for paragraph in told} == {"abstract"}
    assert told[0].cite_ids == ("e01", "e00", "e10", "e11")


def test_one_section_does_not_fill_the_abstract():
    many = [f"Plant {at} cost €{at} million in the end." for at in range(3, 30)]
    told = texts(abstract_of(draft(many, ["Bills rose."]), figures))
    assert "Bills rose." in told
    assert len(told) <= 4


@pytest.mark.parametrize("word", ["word ", "调"])
@pytest.mark.parametrize("length", [45, 110])
def test_the_abstract_keeps_within_two_hundred_words_or_characters(word, length):
    long = [[f"{word * length}{at}."] for at in range(9)]
    told = "".join(texts(abstract_of(draft(*long), figures)))
    assert 100 <= told.count(word.strip()) <= 200


def test_what_leans_on_its_neighbours_does_not_lead():
    pair = (Sentence(text="It cost €5 million and €6 million.", evidence=("e",)), Sentence(text=COST, evidence=("e",)))
    whole = draft().model_copy(update={"paragraphs": (Paragraph(section="s", sentences=pair),)})
    assert texts(abstract_of(whole, figures)) == [COST]


def test_rows_and_notes_stand_in_no_abstract():
    rows = [row for row, _ in rows_of(table(["Part", "Cost"], ["Tank", "€5 million"]))]
    whole = draft().model_copy(update={"paragraphs": paragraphs_of("s", rows)})
    assert abstract_of(whole, figures) == ()
    assert conclusion_of(whole, ()) == ()


@pytest.mark.parametrize(
    "advice",
    [
        PLANS,
        ["市政府计划在明年启动二期工程。", "专家建议未来扩建调蓄池。"],
        ["市政府計劃在明年啟動二期工程。", "專家建議未來擴建調蓄池。"],
    ],
)
def test_the_conclusion_tells_what_the_sources_plan_or_advise(advice):
    told = conclusion_of(draft([COST, advice[0]], [advice[1]]), ())
    assert texts(told) == advice
    assert told[0].section == "conclusion"


def test_the_conclusion_does_not_say_again_what_the_abstract_says():
    whole = draft([COST, *PLANS])
    abstract = (Paragraph(section="abstract", sentences=(Sentence(text=PLANS[0]),)),)
    assert texts(conclusion_of(whole, ())) == PLANS
    assert conclusion_of(whole, abstract) == (), "one sentence is no conclusion"


def test_the_conclusion_is_short():
    many = [f"The council of town {at} will decide on the next phase." for at in range(20)]
    assert 2 <= len(texts(conclusion_of(draft(many), ()))) <= 4


def test_where_nothing_is_planned_there_is_no_conclusion():
    assert conclusion_of(draft([COST, "Losses were 13 per cent."]), ()) == ()
    assert conclusion_of(draft(), ()) == ()
    assert abstract_of(draft(), figures) == ()
