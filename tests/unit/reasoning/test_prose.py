"""Prose that a model wrote, read sentence by sentence with its marks."""

import pytest

from deep_research.reasoning.model.prose import read_prose
from deep_research.request import Language

LABELS = {"E1": "one", "E2": "two", "E3": "three"}


def _read(text: str, language: Language = "en", *, is_cut: bool = False) -> list[list[tuple[str, tuple[str, ...]]]]:
    prose = read_prose(text, LABELS, section="Costs", language=language, is_cut=is_cut)
    return [[(each.text, each.evidence) for each in paragraph.sentences] for paragraph in prose.paragraphs]


@pytest.mark.parametrize(
    "text",
    [
        "Costs rose by 5 % [E1]. Noise fell [E2, E3].",
        "Costs rose by 5 %. [E1] Noise fell. [E2][E3]",
        "Costs rose by 5 % 【E1】. Noise fell (E2; E3).",
        "## Costs\n\n- Costs rose by **5 %** [e1].\n- Noise fell [E2、E3].",
        "Costs rose by 5 % [1]. Noise fell [2, 3].",
    ],
    ids=["inside", "after", "brackets", "markdown", "bare-numbers"],
)
def test_marks_belong_to_their_sentence_wherever_they_stand(text: str) -> None:
    sentences = [sentence for paragraph in _read(text) for sentence in paragraph]
    assert sentences == [("Costs rose by 5 %.", ("one",)), ("Noise fell.", ("two", "three"))]


def test_chinese_marks_and_sentences() -> None:
    assert _read("费用上涨了5%[E1]。噪音下降了【E2，E3】。", "zh-Hans") == [
        [("费用上涨了5%。", ("one",)), ("噪音下降了。", ("two", "three"))]
    ]


def test_ranges_leading_zeros_and_words_are_marks_too() -> None:
    sentences = [("Costs rose.", ("one", "two", "three")), ("Noise fell.", ("one",)), ("It ended.", ("two",))]
    assert _read("Costs rose [E1-E3]. Noise fell [E01]. It ended [Source E2].") == [sentences]


def test_round_brackets_are_marks_only_where_they_name_what_was_given() -> None:
    assert _read("Cars run on petrol with ethanol (E10) today [E1].") == [
        [("Cars run on petrol with ethanol (E10) today.", ("one",))]
    ]


def test_the_markdown_of_a_model_is_no_prose_and_everything_else_is() -> None:
    text = (
        "```\nCosts <b>rose</b> [E1]. See [the report](https://evil.example) [E2]. "
        "![Chart](//evil.example) Noise fell [E3](https://evil.example).\n```"
    )
    assert _read(text) == [
        [("Costs <b>rose</b>.", ("one",)), ("See the report.", ("two",)), ("Chart Noise fell.", ("three",))]
    ]
    assert _read("A p-value < 0.05 was found [E1].") == [[("A p-value < 0.05 was found.", ("one",))]]


def test_a_mark_for_nothing_is_kept_for_the_record() -> None:
    assert _read("Costs rose [E9]. Noise fell [E1].") == [[("Costs rose.", ("E9",)), ("Noise fell.", ("one",))]]


def test_a_sentence_without_a_mark_rests_on_nothing() -> None:
    assert _read("Everybody knows this. Costs rose [E1].")[0][0] == ("Everybody knows this.", ())


def test_an_answer_cut_at_its_limit_loses_only_its_torn_end() -> None:
    assert _read("Costs rose [E1]. Noise fell because the", is_cut=True) == [[("Costs rose.", ("one",))]]
    assert _read("Costs rose [E1].", is_cut=True) == [[("Costs rose.", ("one",))]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no sentence"),
        ("I cannot help with that request. It would not be right to do so at all.", "no mark"),
        ('<source id="E1">\nCosts rose.\n</source> Costs rose [E1].', "repeats the prompt"),
        ("Les coûts ont augmenté de cinq pour cent en un an dans la ville [E1].", "language"),
        (
            "费用在一年之内上涨了百分之五，而且噪音也下降了很多，居民们对此都感到十分满意，市政府也一样。[E1]",
            "language",
        ),
        ("Costs rose in the whole of the city last year [E8]. They fell again [E9].", "name no source"),
    ],
    ids=["empty", "refusal", "echo", "french", "chinese", "unknown-sources"],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    assert said in read_prose(text, LABELS, section="Costs", language="en").problem


def test_simplified_prose_becomes_traditional_where_that_was_asked_for() -> None:
    assert _read("费用与结果都有所变化[E1]。", "zh-Hant") == [[("費用與結果都有所變化。", ("one",))]]
    assert _read("公里與台灣的費用都有變化[E1]。", "zh-Hant") == [[("公里與台灣的費用都有變化。", ("one",))]]
