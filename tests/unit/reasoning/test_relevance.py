"""What a question is about, and how much of it a text covers."""

import re

import pytest

from deep_research.reasoning.rules.quoting.relevance import (
    Weights,
    document_relevance,
    is_subject,
    surface_words,
    terms_of,
    weigh,
)
from deep_research.text.stop_words import ENGLISH
from tests.unit.reasoning.pieces import FixedCorpus


async def test_a_rare_term_is_worth_more_than_a_common_one():
    weights = await weigh("heat pump retrofit", FixedCorpus(total=100, heat=60, pump=30, retrofit=2))
    assert weights.of["retrofit"] > weights.of["pump"] > weights.of["heat"]


async def test_a_term_no_document_holds_is_unknown():
    weights = await weigh("health of the heat pumps", FixedCorpus(total=100, heat=60, pump=30))
    assert weights.unknown == {"health"}
    assert weights.known().share(terms_of("heat pumps")) == 1.0
    assert weights.share(terms_of("heat pumps")) < 0.5


async def test_chinese_asking_words_are_not_the_topic():
    weights = await weigh("青岚市的海绵城市改造花了多少钱？", None)
    assert {"青岚", "海绵", "改造"} <= set(weights.of)
    assert not {"多少", "少钱", "造花", "市的"} & set(weights.of)


async def test_both_chinese_scripts_weigh_the_same():
    simplified, traditional = await weigh("海绵城市改造费用", None), await weigh("海綿城市改造費用", None)
    assert simplified == traditional


async def test_a_chinese_word_that_holds_an_asking_word_is_weighed_whole():
    assert "有机" in (await weigh("有机农业的产量", None)).of


async def test_a_bigram_across_two_words_does_not_count_as_unknown():
    weights = await weigh("居民健康", FixedCorpus(total=50, 居民=10))
    assert weights.unknown == {"健康"}


async def test_words_that_name_a_side_are_not_the_topic():
    weights = (await weigh("What did the Halden retrofit cost?", None)).without_aspects()
    assert set(weights.of) == {"halden", "retrofit"}


async def test_words_that_ask_are_not_the_topic_unless_there_is_nothing_else():
    weights = (
        await weigh("Which effective strategies improve the Halden retrofit in 2024?", None)
    ).without_question_words()
    assert set(weights.of) == {"halden", "retrofit"}
    assert (await weigh("Which effective strategies?", None)).without_question_words().of


async def test_words_about_the_documents_are_not_the_topic():
    assert set((await weigh("Summarise the key points that my documents say on tariffs", None)).of) == {"tariff"}


async def test_options_and_commands_are_not_the_topic():
    for question in (
        "Summarize my documents",
        "总结我的资料",
        "我的資料之間的差異",
        "The latest developments in my documents",
    ):
        assert not (await weigh(question, None)).of
    for question in ("热泵：现状与最新进展", "熱泵：現狀與最新進展"):
        assert set((await weigh(question, None)).of) == {"热泵"}
    assert "histori" in (await weigh("History", None)).of, "a question of one word is about it"


async def test_a_single_chinese_character_is_found_within_words():
    weights = await weigh("熱", FixedCorpus(total=50, 热泵=10))
    assert not weights.unknown
    assert (weights.share(terms_of("供热网络")), weights.share(terms_of("合唱团"))) == (1.0, 0.0)


def test_the_share_is_by_worth_and_a_question_about_nothing_is_covered():
    weights = Weights({"retrofit": 3.0, "heat": 1.0})
    assert weights.share(["retrofit"]) == 0.75
    assert weights.share([]) == 0.0
    assert Weights({}).share([]) == 1.0
    assert Weights({}, frozenset({"health"})).share(["heat"]) == 0.0


def test_a_document_counts_by_title_text_and_best_paragraph():
    weights = Weights({"heat": 1.0, "retrofit": 1.0})
    near = document_relevance("Heat retrofit", "The heat retrofit is done.\n\nThe choir sang.", weights)
    apart = document_relevance("Minutes", "The heat was bad.\n\nThe retrofit of the choir room.", weights)
    assert near == 1.0 > apart > document_relevance("Choir", "The choir sang.", weights) == 0.0
    assert document_relevance("", "", weights) == 0.0


def test_missing_terms_are_named_as_the_asker_spelled_them():
    assert surface_words("Which injuries were reported?", ["injuri"]) == ["injuries"]
    assert surface_words("居民健康 injuries", ["健康", "injuri"]) == ["injuries", "健康"]


def test_missing_chinese_words_are_whole_and_in_the_script_of_the_asker():
    assert surface_words("熱泵噪音投訴", ["噪音", "音投"], known=["热泵", "投诉"]) == ["噪音"]
    assert surface_words("海綿城市", ["海绵", "绵城", "城市"]) == ["海綿城市"]
    assert surface_words("熱", ["热"]) == []


def test_a_pair_across_two_chinese_words_is_no_word() -> None:
    weights = Weights({"布袋": 1.0, "袋场": 1.0, "场最": 3.9, "最后": 3.4, "产销": 3.1, "销履": 3.1, "履历": 3.1})
    assert list(weights.without_seams().of) == ["布袋", "袋场", "最后", "产销", "履历"]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Should the council install asbestos?", ["council", "asbestos"]),
        ("Did the retrofit of Halden Bay injure penguins?", ["retrofit", "Halden", "Bay", "penguins"]),
        ("What are the health effects of radon?", ["health", "radon"]),
        ("What is the financial benefit of a quick retrofit?", []),
        ("Is it dangerous to dive near Qinglan in the harbour?", ["Qinglan", "harbour"]),
        ("应该如何评价海绵城市？", ["海绵城市"]),
        ("該國何時建成海綿城市？", ["海綿城市"]),
    ],
)
def test_only_what_may_be_a_subject_is_named_as_missing(question: str, named: list[str]) -> None:
    words = re.findall(r"[A-Za-z]+", question) or ["应该", "评价", "該國何時", *named]
    kept = [word for word in words if is_subject(word, question) and word.lower() not in ENGLISH | {"effects"}]
    assert kept == named
