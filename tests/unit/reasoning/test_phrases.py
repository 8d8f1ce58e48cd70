"""The phrases of a question: its subject as the asker wrote it, names marked, asking words and dates left out."""

import pytest

from deep_research.reasoning.rules.question.phrases import phrases


def texts(question: str) -> list[str]:
    return [phrase.text for phrase in phrases(question)]


def names(question: str) -> list[str]:
    return [phrase.text for phrase in phrases(question) if phrase.is_name]


def test_names_are_told_from_what_is_asked_about_them():
    question = "What did the Harbour Heat retrofit of Halden Bay cost?"
    assert texts(question) == ["Harbour Heat", "retrofit", "Halden Bay", "cost"]
    assert names(question) == ["Harbour Heat", "Halden Bay"]


def test_a_possessive_name_keeps_its_last_word_and_an_abbreviation_is_no_name():
    question = "How can Lee's Market reduce food waste under FSMA 204?"
    assert texts(question) == ["Lee's Market", "food waste", "FSMA 204"]
    assert names(question) == ["Lee's Market"]


def test_a_possessive_name_with_a_capital_inside_is_a_name():
    assert texts("How can MediConn's patient data be protected?")[:2] == ["MediConn", "patient data"]


@pytest.mark.parametrize(
    "question",
    [
        "What happened to network losses in Q3 2025, on 12 February 2026 and in March 2024?",
        "Which network losses were reported in 2024 and 2025?",
    ],
)
def test_dates_and_asking_words_are_no_phrases(question):
    assert texts(question) == ["network losses"]


def test_chinese_dates_are_no_phrases():
    assert texts("2024年第三季度调蓄池容积有多少？") == ["调蓄池容积"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("青岚市的海绵城市改造花了多少钱？", ["青岚市", "海绵城市改造"]),
        ("青嵐市的海綿城市改造花了多少錢？", ["青嵐市", "海綿城市改造"]),
        ("请比较青岚市与临江市的内涝投诉。", ["青岚市", "临江市", "内涝投诉"]),
        ("請比較青嵐市與臨江市的內澇投訴。", ["青嵐市", "臨江市", "內澇投訴"]),
    ],
)
def test_a_chinese_question_is_cut_at_its_asking_words_and_keeps_its_script(question, expected):
    assert texts(question) == expected


def test_both_scripts_give_the_same_terms():
    simplified, traditional = (phrases(f"{city}市的{town}城市") for city, town in (("青岚", "海绵"), ("青嵐", "海綿")))
    assert [phrase.terms for phrase in simplified] == [phrase.terms for phrase in traditional]


def test_a_question_in_two_languages_gives_phrases_of_both():
    assert set(texts("微软的Azure云服务在中国如何定价？")) == {"微软", "Azure", "云服务", "中国", "定价"}


def test_phrases_of_two_languages_come_in_the_order_of_the_question():
    assert texts("微软的Azure云服务")[:2] == ["微软", "Azure"]


@pytest.mark.parametrize(
    "word", ["有机农业", "和平协议", "在线教育", "个人信息保护", "对外贸易", "自由贸易区", "國有企業"]
)
def test_a_chinese_word_that_holds_an_asking_word_stays_whole(word):
    assert texts(f"关于{word}的资料有哪些？") == [word]


def test_the_same_phrase_comes_once():
    assert texts("How are heat pumps used, and where is a heat pump used?") == ["heat pumps"]
    assert texts("海绵城市的海綿城市") == ["海绵城市"]


@pytest.mark.parametrize("question", ["", "Why?", "What should we do next?", "2024?", "为什么？", "12,000 or 3.5 %?"])
def test_a_question_about_nothing_has_no_phrases(question):
    assert texts(question) == []
