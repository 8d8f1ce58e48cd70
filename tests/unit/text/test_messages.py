"""Fixed words: the same keys and placeholders in every language, and the right language for a question."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.events import RunStatus
from deep_research.request import BUDGET_KINDS, Language
from deep_research.text.folding import simplified_table, to_simplified
from deep_research.text.messages.language import LANGUAGES, language_name, language_tag, report_language
from deep_research.text.messages.words import placeholders, words_in


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_and_placeholders(language):
    english = words_in("en").templates
    ours = words_in(language).templates
    assert ours.keys() == english.keys()
    assert {key: placeholders(text) for key, text in ours.items()} == {
        key: placeholders(text) for key, text in english.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_words_are_empty(language):
    assert [key for key, text in words_in(language).templates.items() if not text.strip()] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_status_and_budget_has_words(language):
    say = words_in(language)
    assert all(say(f"status.{status}") for status in get_args(RunStatus))
    assert all("7" in say(f"budget.{kind}", limit=7, left_out="x") for kind in BUDGET_KINDS)


def test_documented_headings_are_kept():
    say = words_in("en")
    assert say("report.cited_sources") == "Cited Sources (Used in Report)"
    assert say("report.additional_sources") == "Additional Sources (Not Cited)"
    assert say("report.statistics") == "Citation Statistics"
    assert say("report.cited_share", share=80) == "Cited: 80%"
    assert say("report.total_sources", count=5) == "Total: 5 sources"


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 source"), (0, "0 sources"), (2, "2 sources"), ("1,001", "1,001 sources")]
)
def test_one_of_a_thing_is_told_without_an_s(count, told):
    assert words_in("en")("report.total_sources", count=count) == f"Total: {told}"


def test_chinese_headings_follow_the_script():
    assert words_in("zh-Hans")("report.references") == "参考文献"
    assert words_in("zh-Hant")("report.references") == "參考文獻"


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_chinese_words_use_full_width_punctuation(language):
    han = r"[\u4e00-\u9fff]"
    for key, text in words_in(language).templates.items():
        assert not re.search(f"{han}[,;:!?()]|[,;:!?()]{han}", text), key
        assert not re.search(rf"{han}\.", text), key


def test_chinese_words_keep_to_their_script():
    simplified, traditional = ("".join(words_in(name).templates.values()) for name in ("zh-Hans", "zh-Hant"))
    assert to_simplified(simplified) == simplified
    # Characters that both scripts use, and those that traditional writing has in other words.
    only = set(simplified_table().values()) - {chr(code) for code in simplified_table()}
    assert not {sign for sign in set(traditional) & only if len(sign.encode("big5", "ignore")) == 0}


def test_unknown_key_is_refused():
    with pytest.raises(KeyError, match=r"report\.nothing"):
        words_in("en")("report.nothing")


@pytest.mark.parametrize("values", [{}, {"count": 1}, {"share": 1, "count": 1}])
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(TypeError, match=r"report\.cited_share takes share"):
        words_in("en")("report.cited_share", **values)


def test_braces_in_a_value_stay_as_they_are():
    assert "{reason.__class__}" in words_in("en")("failed.search", query="{reason.__class__}", reason="x")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How does attention scale with sequence length?", "en"),
        ("KRAS G12C 靶点", "zh-Hans"),
        ("ADC 药物的 linker 设计", "zh-Hans"),
        ("transformer attention 原理", "zh-Hans"),
        ("iPhone 15 Pro Max 评测", "zh-Hans"),
        ("请解释“to be or not to be”的含义", "zh-Hans"),
        ("The Economist 对中国的看法", "zh-Hans"),
        ("癌症", "zh-Hans"),
        ("癌症治療的最新進展", "zh-Hant"),
        ("比較台灣與南韓的半導體產業", "zh-Hant"),
        ("《红楼梦》", "zh-Hans"),
        ("What does 关系 mean in business?", "en"),
        ("What does the book 《中国经济的长期增长与结构转型》 say?", "en"),
        ("Compare 淘宝 and 京东", "en"),
        ("日本の経済について", "ja"),
        ("Wie viel kostete der Umbau des Hafens?", "de"),
        ("Welche Folgen hat der Klimawandel?", "de"),
        ("¿Cuánto costó la renovación del puerto?", "es"),
        ("Combien a coûté la rénovation du port ?", "fr"),
        ("Quanto è costata la ristrutturazione del porto?", "it"),
        ("Quanto custou a renovação do porto?", "pt"),
        ("Hoeveel kostte de renovatie van de haven?", "nl"),
        ("항만 개보수 비용은 얼마입니까?", "ko"),
        ("Сколько стоила реконструкция порта и когда это было?", "ru"),
        ("كم بلغت تكلفة تجديد الميناء وما هي النتائج الأولى؟", "ar"),
        ("Kiek kainavo uosto rekonstrukcija Klaipėdoje, kurią pradėjo 2019 metų rudenį?", "und"),
        # Names of other languages do not change how a question is asked.
        ("Who is Oscar de la Renta?", "en"),
        ("Los Angeles and La Jolla housing prices", "en"),
        # One word of another language may stand in an English question; a model sees which it is.
        ("Disney plus price", "und"),
        ("wat tyler revolt", "und"),
        ("US 关税", "zh-Hans"),
        ("", "en"),
        ("42 + 1?", "en"),
    ],
)
def test_report_follows_the_language_and_script_of_the_question(question, language):
    assert report_language(question, None) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_wanted_language_wins(language):
    assert report_language("What is a lease?", language) == language


@given(st.text())
def test_any_text_has_a_language_that_can_be_named(question):
    language = report_language(question)
    assert language_tag(language) == language
    assert language_name(language)


@pytest.mark.parametrize(
    ("given", "tag"),
    [("de", "de"), ("German", "de"), ("pt_br", "pt-BR"), ("zh", "zh-Hans"), ("zh-HK", "zh-Hant"), ("en-GB", "en-GB")],
)
def test_a_language_is_given_by_its_code_or_its_name(given: str, tag: str) -> None:
    assert language_tag(given) == tag


@pytest.mark.parametrize("given", ["xx", "Klingonese", "../en", "", "de-XX"])
def test_an_unknown_language_is_refused_with_what_is_allowed(given: str) -> None:
    with pytest.raises(ValueError, match="such as en, zh-Hans, zh-Hant, de, fr"):
        language_tag(given)


def test_a_text_in_a_language_without_fixed_words_has_those_of_english() -> None:
    words = words_in("de")
    assert words.language == "de"
    assert words("report.references") == "References"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("青嵐市的海綿城市改造花了多少錢，效果如何？", "zh-Hant"),
        ("青岚市的海绵城市改造花了多少钱，效果如何？", "zh-Hans"),
        ("人工智能", "zh-Hans"),
    ],
)
def test_a_question_of_rarer_characters_is_answered_in_its_script(question: str, language: Language) -> None:
    assert report_language(question) == language
