"""What is quoted: near to the question, figures first, nothing twice, each unit in the section it fits best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.reasoning.rules.question.sections import aspect_of, aspect_title, aspects
from deep_research.reasoning.rules.quoting.relevance import Weights
from deep_research.reasoning.rules.quoting.selection import (
    Interest,
    choose_units,
    fit,
    repeats,
    section_of,
    stands_alone,
    trimmed,
)
from deep_research.reasoning.rules.quoting.units import Unit, as_sentence, units_of
from deep_research.text.analyzer import content_terms
from deep_research.text.messages.language import LANGUAGES
from tests.unit.reasoning.pieces import table


def interest(question: str, *names: str) -> Interest:
    weights = Weights(dict.fromkeys(content_terms(question), 1.0))
    return Interest(weights, tuple(frozenset(content_terms(name)) for name in names))


def chosen(text: str, question: str = "food waste") -> list[str]:
    return [candidate.unit.text for candidate in choose_units(units_of(text), interest(question))]


def one(sentence: str) -> Unit:
    return Unit((as_sentence(sentence),), "")


@given(st.lists(st.sampled_from([
    "Food waste cost the stores $2 million in 2024.",
    "Food waste fell by 12 per cent after the pilot.",
    "Managers weigh the food waste every evening.",
    "The bakery has nothing to do with it at all.",
    "# Food waste",
]), max_size=14))  # fmt: skip
def test_no_sentence_stands_in_two_units(parts):
    candidates = choose_units(units_of("\n".join(f"{part}\n" for part in parts)), interest("food waste"))
    starts = [sentence.start for candidate in candidates for sentence in candidate.unit.sentences]
    assert len(starts) == len(set(starts))


def test_of_one_document_a_bounded_number_of_units_is_taken():
    prose = "\n\n".join(f"# Part {at}\n\nFood waste in store {at} cost ${at} million." for at in range(30))
    rows = table(["Food waste", "Cost"], *([f"Food waste of store {at}", f"${at} million"] for at in range(30)))
    units = [candidate.unit for candidate in choose_units(units_of(f"{prose}\n\n{rows}"), interest("food waste"))]
    assert 1 <= sum(unit.header is None for unit in units) <= 8
    assert 1 <= sum(unit.header is not None for unit in units) <= 8


def test_a_sentence_with_a_figure_comes_first():
    text = "# A\n\nFood waste is a problem of the trade.\n\n# B\n\nFood waste cost the trade $2 million."
    assert chosen(text) == ["Food waste cost the trade $2 million.", "Food waste is a problem of the trade."]


def test_the_best_comes_first():
    text = "\n\n".join(f"# {at}\n\n{words}" for at, words in enumerate(["Food waste.", "Food waste fell by 3 %."] * 2))
    scores = [candidate.score for candidate in choose_units(units_of(text), interest("food waste"))]
    assert scores == sorted(scores, reverse=True)


def test_what_is_about_something_else_is_not_taken():
    assert chosen("The choir sang for 40 minutes in the town hall.") == []
    assert chosen("Food prices rose by 5 per cent in 2024.") == [], "one of two words is not the topic"


def test_the_heading_above_counts_as_what_a_unit_is_about():
    assert chosen("# Food waste\n\nThe stores lost $2 million in 2024.") == ["The stores lost $2 million in 2024."]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("food waste", "This memo does not relate to food waste in the stores."),
        ("food waste", "The renovation of the shops is unrelated to food waste."),
        ("food waste", "The team focuses on pay rather than on food waste."),
        ("食物浪费", "本通知与食物浪费无关，仅供参考。"),
        ("食物浪费", "门店装修不涉及食物浪费的问题。"),
    ],
)
def test_what_says_that_it_has_nothing_to_do_with_the_topic_is_not_taken(question, sentence):
    assert chosen(sentence, question) == []


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("food waste", "This memo doesn't relate to food waste in the stores."),
        ("food waste", "This memo doesn’t address food waste in the stores."),
        ("食物浪费", "本通知與食物浪費無關，僅供參考。"),
    ],
)
def test_disclaimers_are_seen_in_every_spelling(question, sentence):
    assert chosen(sentence, question) == []


def test_a_negative_result_is_a_result():
    sentence = "The new cold rooms did not affect food waste in 2024, which stayed at 12 tonnes."
    assert chosen(sentence, "Did the cold rooms affect food waste?") == [sentence]


@pytest.mark.parametrize("word", ["We", "Our stores", "Lee's Market"])
def test_the_own_house_and_the_question_s_names_count_more(word):
    wanted = interest("food waste", "Lee's Market")
    own, other = (as_sentence(f"{who} lost food waste.") for who in (word, "Somebody"))
    assert wanted.worth(own) > wanted.worth(other)


@pytest.mark.parametrize(
    ("known", "supposed"),
    [
        ("Food waste costs the store $2 million.", "Food waste would cost the store $2 million."),
        ("门店每天的食物浪费为2吨。", "如果不改进，门店每天的食物浪费为2吨。"),
    ],
)
def test_what_is_counts_more_than_what_would_be(known, supposed):
    wanted = interest("food waste 食物浪费")
    assert wanted.worth(as_sentence(known)) > wanted.worth(as_sentence(supposed))


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        ("The programme cost €146 million and the fund paid a grant.", "Cost and funding"),
        ("Emissions fell by 73 per cent and the measured efficiency improved.", "Results and effects"),
        ("The delay led to complaints, and the insurer refused to pay for the damage.", "Problems and criticism"),
    ],
)
def test_a_unit_belongs_to_the_side_that_it_speaks_of(sentence, title):
    outline = ["Problems and criticism", "Results and effects", "Cost and funding"]
    assert section_of(one(sentence), outline, title="", document=frozenset()) == title


@pytest.mark.parametrize("text", ["累计完成投资48.6亿元，资金来自债券。", "累計完成投資48.6億元，資金來自債券。"])
@pytest.mark.parametrize("outline", [["背景", "结果与成效", "投资与资金"], ["背景", "結果與成效", "投資與資金"]])
def test_chinese_units_find_their_side_in_both_scripts(text, outline):
    assert section_of(one(text), outline, title="", document=frozenset()) == outline[2]


def test_own_words_count_more_than_the_heading_and_that_more_than_the_document():
    aspect = aspect_of("Cold chain")
    terms = frozenset(content_terms("cold chain"))
    own = fit(one("The cold chain failed twice."), aspect, frozenset(), frozenset())
    around = fit(one("It failed twice."), aspect, terms, frozenset())
    far = fit(one("It failed twice."), aspect, frozenset(), terms)
    assert own == 1.0 > around > far > fit(one("It failed twice."), aspect, frozenset(), frozenset()) == 0


def test_what_fits_no_section_goes_to_the_first():
    assert (
        section_of(one("Nothing of the kind."), ["Cold chain", "Stock"], title="", document=frozenset()) == "Cold chain"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "The retrofit of the network cost €146.2 million in total by the end of 2025.",
        "Italy paid for the pumps, and Hermann built them.",
        "Solar power grew by 5 per cent in 2024.",
        "青岚市海绵城市改造工程累计完成投资48.6亿元，超出概算7.1亿元。",
        "青嵐市海綿城市改造工程累計完成投資48.6億元，超出概算7.1億元。",
    ],
)
def test_whole_sentences_stand_alone(sentence):
    assert stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "It cost more than the council had expected when the budget was made.",
        "This explains why the bills of most households rose in the first year.",
        "But the insurer refused to pay for the damage.",
        "Halden Bay Heat explains the decrease with cheaper electricity at night.",
        "The pumps failed three weeks later.",
        "3. One agency should control the pumps and the tanks from the first day.",
        "该工程的总投资由省级和市级财政分别承担。",
        "該工程的總投資由省級和市級財政分別承擔。",
        "工程延误了一年，因此费用超出概算。",
        "費用的其餘部分由市級財政承擔。",
    ],
)
def test_sentences_that_lean_on_others_do_not(sentence):
    assert not stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "There were 12 complaints in Halden Bay in 2025.",
        "First Solar sold 14 GW of modules in 2024.",
        "The increase in tariffs cost households €40 in 2024.",
        "60岁以上的居民有12万人。",
        "60歲以上的居民有12萬人。",
        "他汀类药物使胆固醇下降28%。",
        "还款期限为20年，利率为3%。",
        "並購交易總額為12億元。",
    ],
)
def test_sentences_that_only_look_as_if_they_leaned_stand_alone(sentence):
    assert stands_alone(sentence)


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("However, the plant\nopened late.", "The plant opened late."),
        ("The plant opened late.[3]", "The plant opened late."),
        ("The Heat Transition Fund (HTF) paid €52 million.", "The Heat Transition Fund paid €52 million."),
        ("然而，工程按期完工（见图3）。", "工程按期完工。"),
        ("然而，工程按期完工（見圖3）。", "工程按期完工。"),
    ],
)
def test_what_says_nothing_is_trimmed(sentence, kept):
    assert trimmed(sentence) == kept


def test_a_note_is_trimmed_with_the_blank_before_it():
    assert trimmed("The plant opened late [3].") == "The plant opened late."


@pytest.mark.parametrize("sentence", ["Prices rose by .5 per cent in May.", "The team moved to .NET in May."])
def test_a_point_that_begins_a_word_keeps_its_blank(sentence):
    assert trimmed(sentence) == sentence


@pytest.mark.parametrize(
    "sentence",
    ["The treatment works (in mice) after two weeks.", "iPhone sales fell.", "该药物（在小鼠中）两周后起效。"],
)
def test_a_restriction_or_a_small_letter_is_never_changed(sentence):
    assert trimmed(sentence) == sentence


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "Network losses in Halden Bay were 13.2 per cent of heat production in 2025.",
            "In 2025 the network losses in Halden Bay were 13.2 per cent of heat production, as measured.",
        ),
        ("青岚市海绵城市改造工程完成投资48.6亿元。", "青嵐市海綿城市改造工程累計完成投資48.6億元。"),
    ],
)
def test_passages_that_tell_the_same_repeat_each_other(first, second):
    assert repeats(first, second)
    assert repeats(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The retrofit of Halden Bay cost €146.2 million in total.", "The retrofit of Halden Bay cost €163.8 million."),
        ("青岚市海绵城市改造工程完成投资48.6亿元。", "青嵐市海綿城市改造工程完成投資53.9億元。"),
        ("The plant opened in May.", "The choir sang in the town hall."),
        ("", "The plant opened in May."),
    ],
)
def test_passages_that_differ_in_figures_or_matter_do_not(first, second):
    assert not repeats(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "The plant in Halden Bay opened in time for winter.",
            "The plant in Halden Bay did not open in time for winter.",
        ),
        ("Bills rose for most households in the old town.", "Bills fell for most households in the old town."),
        ("Losses in 2024 were 13 per cent of production.", "Losses in 2025 were 13 per cent of production."),
        ("Losses in Halden were 13 per cent of production.", "Losses in Norvik were 13 per cent of production."),
        ("老城区的内涝投诉在今年明显减少。", "老城区的内涝投诉在今年没有减少。"),
        ("老城區的內澇投訴在今年明顯增加。", "老城區的內澇投訴在今年明顯減少。"),
    ],
)
def test_passages_that_contradict_each_other_do_not_repeat(first, second):
    assert not repeats(first, second)


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_lead_back_to_their_side(language):
    for aspect in aspects():
        assert aspect_of(aspect_title(aspect.key, language)) is aspect


def test_sides_are_seen_in_both_chinese_scripts():
    cost = next(aspect for aspect in aspects() if aspect.key == "cost")
    assert cost.hits("累计完成投资48.6亿元") == cost.hits("累計完成投資48.6億元") > 0
