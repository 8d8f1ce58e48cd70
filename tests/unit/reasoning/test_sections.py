"""Which sections a question gets: phrases that divide the documents, and the aspects it asks about."""

import pytest

from deep_research.reasoning.rules.question.sections import aspect_title, aspects, sections_of
from deep_research.text.messages.language import LANGUAGES

QUESTION = "How can inventory forecasting and the cold chain cut food waste?"
WASTE = "Food waste fell. Food waste was measured weekly. Food waste is recorded by each store. Managers keep a log."
CHAIN = "The cold chain was checked. The cold chain failed twice. A broken cold chain spoils milk. Drivers take notes."
STOCK = (
    "Inventory forecasting uses data. Inventory forecasting needs staff. Inventory forecasting is new. It runs daily."
)
BAYS = [
    "Halden Bay has heat pumps. Halden Bay spent more. In Halden Bay losses fell. The plant is new.",
    "Norvik burns wood. Norvik spent less. In Norvik losses rose. The plant is old.",
    " ".join(f"Sentence number {number} says nothing about either." for number in range(14)),
]
TOWN = [
    "海绵城市改造减少了积水。海绵城市改造分三期。海绵城市改造由水务局负责。",
    "调蓄池已经建成。调蓄池容积很大。调蓄池需要清淤。",
    "内涝投诉逐年下降。内涝投诉集中在老城。内涝投诉由热线受理。",
    "市民满意。专家提出意见。工程将在明年完成。",
]


def test_phrases_that_divide_the_documents_head_sections_in_the_order_of_the_question():
    assert sections_of(QUESTION, [WASTE, CHAIN, STOCK], "en") == ["Inventory forecasting", "Cold chain", "Food waste"]


def test_without_passages_the_question_alone_gives_the_sections():
    assert sections_of(QUESTION, [], "en") == ["Inventory forecasting", "Cold chain", "Food waste"]


def test_a_phrase_that_the_documents_do_not_hold_is_no_section():
    assert "Cold chain" not in sections_of(QUESTION, [WASTE, STOCK, "The plant is new."], "en")


def test_a_phrase_in_every_second_sentence_is_the_topic_and_no_section():
    everywhere = [passage.replace("The ", "The food waste and the ") for passage in (CHAIN, CHAIN, STOCK)]
    sections = sections_of(QUESTION, [WASTE, WASTE, *everywhere], "en")
    assert "Food waste" not in sections


def test_a_phrase_in_the_titles_of_most_documents_is_the_topic_and_no_section():
    titles = ["Food waste in stores", "Food waste and milk", "Stock"]
    assert "Food waste" not in sections_of(QUESTION, [WASTE, CHAIN, STOCK], "en", titles=titles)
    assert "Food waste" in sections_of(QUESTION, [WASTE, CHAIN, STOCK], "en", titles=["Milk", "Stock", "Food waste"])


def test_one_phrase_alone_divides_nothing():
    sections = sections_of("How can we cut food waste?", [WASTE, CHAIN, STOCK], "en")
    assert set(sections) <= {aspect_title(aspect.key, "en") for aspect in aspects()}


def test_names_head_sections_only_where_they_are_compared():
    assert sections_of("Compare Halden Bay and Norvik", BAYS, "en")[:2] == ["Halden Bay", "Norvik"]
    assert not {"Halden Bay", "Norvik"} & set(sections_of("How do Halden Bay and Norvik heat homes?", BAYS, "en"))


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (
            "请比较青岚市与临江市",
            ["青岚市投资大。青岚市人口多。青岚市雨多。", "临江市投资小。临江市人口少。临江市雨少。"],
        ),
        (
            "請比較青岚市與临江市",
            ["青嵐市投資大。青嵐市人口多。青嵐市雨多。", "臨江市投資小。臨江市人口少。臨江市雨少。"],
        ),
    ],
)
def test_chinese_names_are_compared_too_whatever_the_script_of_the_documents(question, passages):
    others = "".join(f"无关的句子之{letter}。" for letter in "甲乙丙丁戊己庚辛壬癸子丑寅卯")
    assert sections_of(question, [*passages, others], "zh-Hans")[:2] == ["青岚市", "临江市"]


def test_sides_that_the_question_asks_for_come():
    sections = sections_of("What did the retrofit cost, and which problems did residents have?", BAYS, "en")
    assert {"Cost and funding", "Problems and criticism", "Effects on people"} <= set(sections)


@pytest.mark.parametrize(
    ("question", "language", "title"),
    [
        ("海绵城市改造花了多少钱？", "zh-Hans", "投资与资金"),
        ("海綿城市改造花了多少錢？", "zh-Hant", "投資與資金"),
    ],
)
def test_sides_come_in_the_language_of_the_report(question, language, title):
    sections = sections_of(question, TOWN, language)
    assert title in sections
    assert set(sections) <= {aspect_title(aspect.key, language) for aspect in aspects()}


@pytest.mark.xfail(strict=True, reason="asking words are cut out of words that no list names (对冲, 研究生, 在建)")
def test_a_chinese_heading_is_a_whole_word():
    passages = ["对冲基金很多。对冲基金亏损。对冲基金清盘。", "研究生教育扩招。研究生教育改革。研究生教育免费。"]
    others = "".join(f"无关的句子之{letter}。" for letter in "甲乙丙丁戊己庚辛壬癸子丑寅卯")
    assert sections_of("对冲基金、研究生教育", [*passages, others], "zh-Hans")[:2] == ["对冲基金", "研究生教育"]


def test_chinese_phrases_head_sections_in_the_script_of_the_question():
    simplified = "青岚市的海绵城市改造、调蓄池与内涝投诉情况如何？"
    traditional = "青嵐市的海綿城市改造、調蓄池與內澇投訴情況如何？"
    assert sections_of(simplified, TOWN, "zh-Hans") == ["海绵城市改造", "调蓄池", "内涝投诉"]
    assert sections_of(traditional, TOWN, "zh-Hant") == ["海綿城市改造", "調蓄池", "內澇投訴"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_comes_next_stands_last(language):
    passages = [
        *BAYS,
        *TOWN,
        "The council will decide next year. 工程将在明年完成，计划二期。",
        "Costs rose to €5 million.",
    ]
    sections = sections_of("What next for the retrofit, and what did it cost? 下一步计划与投资？", passages, language)
    assert sections[-1] == aspect_title("outlook", language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("question", ["", "Why?", "为什么？", "retrofit"])
def test_a_question_about_nothing_still_gets_a_report(question, language):
    assert len(sections_of(question, [], language)) >= 3


def test_there_are_at_most_five_sections_and_none_twice():
    facets = "solar panels, wind turbines, heat pumps, storage tanks, gas boilers, power lines and wood chips"
    question = f"What of {facets}? Which costs, which complaints, which delays?"
    for passages in ([], [WASTE, CHAIN, *BAYS]):
        sections = sections_of(question, passages, "en")
        assert len(sections) <= 5
        assert len(set(sections)) == len(sections)


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("What did the retrofit cost?", ["The retrofit of the network cost €5 million."]),
        ("How do Halden Bay and Norvik heat homes?", BAYS),
        ("海绵城市改造花了多少钱？", ["海绵城市改造的总投资为48.6亿元。"]),
    ],
)
def test_there_are_at_least_three_sections(question, passages):
    assert len(sections_of(question, passages, "en")) >= 3
