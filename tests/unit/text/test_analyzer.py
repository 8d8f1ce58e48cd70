import subprocess
import sys

import pytest

from deep_research.text.analyzer import analyze, content_terms, stem


def test_english_is_lowered_stemmed_and_kept_in_order():
    assert analyze("The Companies were growing quickly") == ["the", "compani", "were", "grow", "quick"]


def test_possessives_and_typographic_apostrophes_fold():
    assert analyze("the company’s plan") == analyze("the company's plan") == ["the", "compani", "plan"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$1.2M", "1.2 million"),
        ("US$3bn", "$3 billion"),
        ("3.5%", "3.5 percent"),
        ("3.5 per cent", "3.5 %"),
        ("1,200,000", "1200000"),
        ("café naïve Müller", "cafe naive Muller"),
        ("ＧＬＰ－１", "GLP-1"),
        ("U.S. policy", "US policy"),
        ("long–term", "long-term"),
        ("臺灣的經濟發展", "台湾的经济发展"),
        ("頭髮 麵包 乾燥 皇后 以後 看著", "头发 面包 干燥 皇后 以后 看着"),
        ("e\u0301tude", "étude"),
    ],
)
def test_two_spellings_give_the_same_terms(one: str, other: str):
    assert analyze(one) == analyze(other)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a GLP-1 agonist", "GLP1"),
        ("a GLP-1 agonist", "GLP 1"),
        ("KRAS G12C inhibitors", "G12C"),
        ("COVID-19 cases", "covid19"),
        ("增长3.5亿元", "3.5"),
        ("第三季度GLP-1激动剂", "glp-1"),
        ("python 3.11.7", "3.11.7"),
    ],
)
def test_names_and_numbers_stay_findable(text: str, query: str):
    assert set(analyze(query)) <= set(analyze(text))


def test_cjk_runs_become_overlapping_bigrams():
    assert analyze("人工智能") == ["人工", "工智", "智能"]
    assert analyze("水 AI 人") == ["水", "ai", "人"]
    assert analyze("ウイルス") == ["ウイ", "イル", "ルス"]
    assert analyze("인공지능") == ["인공", "공지", "지능"]


def test_content_terms_drop_what_carries_no_subject():
    assert content_terms("What is the impact of AI on the U.S. economy?") == ["impact", "ai", "usa", "economi"]
    assert content_terms("储能的发展如何？") == ["储能", "发展", "展如"]
    assert content_terms("目的是了解市场") == ["目的", "了解", "解市", "市场"]


def test_a_scale_letter_without_a_currency_is_a_scale_only_as_a_capital():
    assert analyze("40M users, 5m long") == ["40", "million", "user", "5m", "long"]


def test_terms_hold_only_letters_digits_and_points_in_numbers():
    for term in analyze("R&D, C++, snake_case #tag a/b 3.5% e.g. don't “x” 你好，世界 x@y.z 1.2.3"):
        assert term.replace(".", "").isalnum(), term


def test_stem_is_the_indexed_form():
    assert [stem("Universities")] == analyze("universities")


def test_nothing_has_no_terms():
    assert analyze("") == analyze("…—!？") == []


@pytest.mark.parametrize(("text", "absent"), [("plain English café", "opencc"), ("人工智能", "snowballstemmer")])
def test_a_script_that_is_not_there_costs_no_import(text: str, absent: str):
    code = f"import sys; from deep_research.text.analyzer import analyze; analyze({text!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert absent not in done.stdout.split()
