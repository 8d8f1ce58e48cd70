"""Which sentences may stand in a report, in which section, and which of them only repeat another."""

import pytest

from deep_research.reasoning.aspects import LANGUAGES, aspects, lens_of, title_of
from deep_research.reasoning.selection import fits, repeats, stands_alone, trimmed


@pytest.mark.parametrize(
    "sentence",
    [
        "The retrofit of the network cost €146.2 million in total by the end of 2025.",
        "Storm Brida flooded the intake shaft on 19 October 2023 and cost four months.",
        "青岚市海绵城市改造工程累计完成投资48.6亿元，超出概算7.1亿元。",
    ],
)
def test_whole_sentences_stand_alone(sentence):
    assert stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "It cost more than the council had expected when the budget was made.",
        "This explains why the bills of most households rose in the first year.",
        "Why did the bills of most households in the city rise so quickly?",
        "Halden Bay Heat explains the decrease with cheaper electricity at night.",
        "We went to Qinglan to see how the storage tanks had been built there.",
        "3. One agency should control the pumps and the tanks from the first day.",
        "Customer Office of the city's own utility, updated on 1 March 2026.",
        "Total cost",
        "Item Final cost (€ million) Heat pumps and pump hall 61.4 Storage tank 9.6",
        "该工程的总投资由省级和市级财政分别承担，其中大部分来自债券。",
        "海绵城市改造到底花了多少钱，这些钱又是从哪里来的呢？",
        "共三点。",
    ],
)
def test_sentences_that_lean_on_others_do_not(sentence):
    assert not stands_alone(sentence)


def test_a_leading_connective_is_trimmed_and_the_next_word_capitalised():
    assert trimmed("However, the plant\nopened late.") == "The plant opened late."


def test_a_restriction_is_never_trimmed():
    sentence = "The treatment works (in mice) after two weeks."
    assert trimmed(sentence) == sentence


def test_sentences_that_agree_are_a_repetition():
    one = "Network losses in Halden Bay were 13.2 per cent of heat production in 2025."
    other = "In 2025 the network losses in Halden Bay were 13.2 per cent of heat production, as measured."
    assert repeats(one, other)


def test_sentences_that_differ_in_figures_disagree():
    one = "The retrofit of Halden Bay cost €146.2 million in total by 31 December 2025."
    other = "The retrofit of Halden Bay cost €163.8 million in total by 31 December 2025."
    assert not repeats(one, other)


def test_a_sentence_belongs_to_one_section():
    outline = ["Cost and funding", "Results and effects", "Problems and criticism"]
    lenses = [lens_of(title) for title in outline]
    for sentence in (
        "The programme cost €146.2 million and the national fund paid a grant of €52 million.",
        "Emissions fell by 73 per cent and the measured efficiency improved.",
        "The delay led to complaints, and the insurer refused the claim for the damage.",
    ):
        assert sum(fits(sentence, lens, lenses) for lens in lenses) == 1, sentence


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_lead_back_to_their_side(language):
    for lens in aspects():
        assert lens_of(title_of(lens.key, language)) is lens


def test_sides_are_seen_in_both_chinese_scripts():
    cost = next(lens for lens in aspects() if lens.key == "cost")
    assert cost.hits("累计完成投资48.6亿元") == cost.hits("累計完成投資48.6億元") > 0
