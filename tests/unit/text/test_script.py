import pytest

from deep_research.text.script import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is AI?", "en"),
        ("GLP-1 agonists", "en"),
        ("Résumé of the naïve café owner and his work", "en"),
        ("储能的发展", "zh-Hans"),
        ("ADC 药物的 linker 设计", "zh-Hans"),
        ("什么是 Transformer attention mechanism?", "zh-Hans"),
        ("癌症", "zh-Hans"),
        ("台灣的經濟發展如何", "zh-Hant"),
        ("後來的皇后", "zh-Hant"),
        ("ウイルスの発見", "ja"),
        ("인공지능이란 무엇인가", "ko"),
        ("Qué es la energía solar", "es"),
        ("Was ist das für ein Problem und warum", "de"),
        ("Что это такое", "ru"),
        ("", "other"),
        ("12345 !!", "other"),
    ],
)
def test_languages_are_told_apart(text: str, language: str):
    assert detect_language(text) == language


def test_an_english_text_that_names_a_chinese_term_stays_english():
    text = (
        "The report describes the storage market (储能市场) and how it grew over the last years in the whole country."
    )
    assert detect_language(text) == "en"
