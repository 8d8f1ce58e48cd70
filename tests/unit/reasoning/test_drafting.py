"""Paragraphs quote, and the abstract leads with what says most, whole and whichever section it stands in."""

import pytest

from deep_research.reasoning.rules.quoting.drafting import abstract_of, paragraphs_of, quoted
from deep_research.reasoning.values import Draft, Plan
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.quantities import find_quantities
from tests.unit.reasoning.pieces import brief, piece, rows_of, table

COST = "The retrofit cost €146.2 million in total by the end of 2025."


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


def test_the_abstract_takes_what_says_most_whichever_section_it_stands_in():
    told = abstract_of(draft(["The plant is new.", COST], ["Losses were 13 per cent.", "Bills rose."]), [figures])
    assert texts(told)[:2] == [COST, "Losses were 13 per cent."]
    assert {paragraph.section for paragraph in told} == {"abstract"}
    assert told[0].cite_ids == ("e01",)


def test_each_part_of_a_question_has_its_best_passage_in_the_abstract():
    many = [f"Plant {at} cost €{at} million in the end, and nobody in the whole town knew why." for at in range(3, 30)]
    told = texts(abstract_of(draft(many, ["Bills rose."]), [figures, lambda text: 9.0 * ("Bills" in text)]))
    assert "Bills rose." in told


@pytest.mark.parametrize(
    ("counted", "official", "other"),
    [
        (
            "By the association's count the retrofit of Halden Bay cost €163.8 million in total.",
            "The retrofit of Halden Bay cost €146.2 million in total.",
            "The city spent €146.2 million on the retrofit.",
        ),
        ("据观察社统计，工程累计完成投资53.9亿元。", "工程累计完成投资48.6亿元。", "总投资为48.6亿元。"),
    ],
)
def test_a_figure_that_several_documents_give_leads_before_one_that_a_single_one_gives(counted, official, other):
    given = ((counted, "a", 0.9), (official, "b", 0.8), (other, "c", 0.1))
    evidence = tuple(piece(text, document, score=score) for text, document, score in given)
    told = tuple(paragraphs_of("s", evidence[:2]))
    made = Draft(brief=brief("?"), plan=Plan(research_title="?", sections=()), paragraphs=told, evidence=evidence)
    assert texts(abstract_of(made, [lambda text: float(text == counted)])) == [official, counted]


def test_a_short_passage_stands_in_the_abstract_whole():
    pair = (Sentence(text=COST, evidence=("e",)), Sentence(text="The fund paid half of it.", evidence=("e",)))
    whole = draft().model_copy(update={"paragraphs": (Paragraph(section="s", sentences=pair),)})
    assert texts(abstract_of(whole, [figures])) == [COST, "The fund paid half of it."]


@pytest.mark.parametrize("word", ["word ", "调"])
@pytest.mark.parametrize("length", [45, 110])
def test_the_abstract_keeps_within_two_hundred_words_or_characters(word, length):
    long = [[f"{word * length}{at}."] for at in range(9)]
    told = "".join(texts(abstract_of(draft(*long), [figures])))
    assert 100 <= told.count(word.strip()) <= 200


def test_a_long_paragraph_stands_in_the_abstract_with_its_first_sentences():
    long = tuple(Sentence(text=text, evidence=("e",)) for text in (COST, "Bills rose.", "Bills fell.", "It rained."))
    whole = draft().model_copy(update={"paragraphs": (Paragraph(section="s", sentences=long),)})
    assert texts(abstract_of(whole, [figures])) == [COST, "Bills rose.", "Bills fell."]


def test_rows_and_notes_stand_in_no_abstract():
    rows = [row for row, _ in rows_of(table(["Part", "Cost"], ["Tank", "€5 million"]))]
    whole = draft().model_copy(update={"paragraphs": paragraphs_of("s", rows)})
    assert abstract_of(whole, [figures]) == ()
    assert abstract_of(draft(), [figures]) == ()
