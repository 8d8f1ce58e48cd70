import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.text.sentences import TextSpan, line_kind, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "whole",
    [
        "Dr. Smith et al. (2020) found that 3.5 million people, e.g. in the U.S. and the U.K., had it.",
        "See Fig. 3 and No. 5 of J. R. Smith vs. Jones Inc. and others, i.e. all.",
        "The U.S. Congress met on Jan. 5 at 10 a.m. sharp.",
        "Version 3.11.7 costs $1.2M (approx. 3.5% more).",
        "Visit https://example.org/a.b?c=d.e for more.",
        "Yahoo! said so and why? nobody knows.",
        "Well… okay, then... maybe not.",
        "3. Results of the study",
        "为什么《你好！世界》这本书（见第3章。）很好看，增长了3.5%；其他没有变化。",
    ],
)
def test_one_sentence_stays_whole(whole: str):
    assert sentences(whole) == [whole]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rose. It fell.", ["It rose.", "It fell."]),
        ('"Is it?" he asked. "Yes." She left.', ['"Is it?" he asked.', '"Yes."', "She left."]),
        ("He works at Apple Inc. The firm is big.", ["He works at Apple Inc.", "The firm is big."]),
        ("It is in the U.S. The law is new.", ["It is in the U.S.", "The law is new."]),
        ("The answer is no. We left.", ["The answer is no.", "We left."]),
        ("They had no ART. Differences remain.", ["They had no ART.", "Differences remain."]),
        ("Ends with a note.[12] Next one.[3,4] Last.", ["Ends with a note.[12]", "Next one.[3,4]", "Last."]),
        ("It fell in 2023. 5 people left.", ["It fell in 2023.", "5 people left."]),
        ("Wait... What? Yes! iPhone sales rose.", ["Wait...", "What?", "Yes!", "iPhone sales rose."]),
        ("第一句。第二句！“他说好。”然后走了？", ["第一句。", "第二句！", "“他说好。”", "然后走了？"]),
        ("为什么?因为好.下一句", ["为什么?", "因为好.", "下一句"]),
        ("（见图。）下一句。", ["（见图。）", "下一句。"]),
        ("中文句子。English sentence. 再来一句。", ["中文句子。", "English sentence.", "再来一句。"]),
    ],
)
def test_boundaries_are_found(text: str, parts: list[str]):
    assert sentences(text) == parts


def test_headings_items_and_rows_stand_alone_without_their_marks():
    text = (
        "# Title of it\nBody text here. More.\n\n- item one\n- item two. With more\n  and continuation\n"
        "1. First point\n2. Second point\n| a | b |\n|---|---|\n| 1 | 2.5 |\nAfter"
    )
    assert sentences(text) == [
        "Title of it", "Body text here.", "More.", "item one", "item two.", "With more\n  and continuation",
        "1. First point", "2. Second point", "| a | b |", "| 1 | 2.5 |", "After",
    ]  # fmt: skip


def test_wrapped_prose_is_joined_and_short_lines_are_not():
    text = (
        "This is a wrapped paragraph of text that goes on\nover several lines, written by Ann\nLee, then ends.\n"
        "Short Heading\nNext paragraph begins."
    )
    assert len(sentences(text)) == 4
    assert sentences(text)[2:] == ["Short Heading", "Next paragraph begins."]


def test_a_long_line_without_a_stop_is_not_joined_to_the_next():
    first = "word " * 40
    assert sentences(f"{first}\nAnother paragraph.") == [first.strip(), "Another paragraph."]


def test_wrapped_chinese_is_joined():
    text = "人工智能在医疗领域的应用正在迅速扩大，其中影像诊断是最成\n熟的方向。下一句。"
    assert sentences(text) == [text[: text.index("下")], "下一句。"]


def test_line_kinds_are_told():
    text = "## Heading\n- item\n| a |\nprose"
    assert [line_kind(text, text.index(word)) for word in ("Heading", "item", "a |", "prose")] == [
        "heading", "item", "row", "prose",
    ]  # fmt: skip


def test_no_text_has_no_sentences():
    assert split_sentences("") == []
    assert split_sentences(" \n\n ---\n") == []


alphabet = st.sampled_from(
    [*"aB1.!?。！？；…\n \t-#|•(（《》）)\"”'：,", "Dr.", "e.g.", "U.S.", "\n\n", "第一", "3.5", "\r\n", "\x85"]
)


@given(st.lists(alphabet, max_size=60).map("".join) | st.text(max_size=200))
def test_spans_are_ordered_apart_and_hold_every_letter(text: str):
    spans = split_sentences(text)
    last_end = 0
    for span in spans:
        assert last_end <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip() != ""
        last_end = span.end
    covered = "".join(text[span.start : span.end] for span in spans)
    assert [c for c in text if c.isalpha()] == [c for c in covered if c.isalpha()]


def test_time_grows_with_the_text_not_with_its_square():
    def seconds(text: str) -> float:
        begin = time.process_time()
        assert split_sentences(text)[0] == TextSpan(0, len("第一句话说明了问题。"))
        return time.process_time() - begin

    unit = "第一句话说明了问题。"
    seconds(unit * 1000)
    small = min(seconds(unit * 2_000) for _ in range(3))
    # Twenty times the text: a quadratic splitter would take four hundred times as long.
    assert min(seconds(unit * 40_000) for _ in range(2)) < 120 * small


def test_german_ordinals_and_abbreviations_end_no_sentence() -> None:
    first = "Am 1. März und im 3. Quartal kostete es z. B. 3 Mio. Euro bzw. mehr."
    assert sentences(f"{first} Das war viel.") == [first, "Das war viel."]


@pytest.mark.parametrize("text", ["Patients lacked vitamin D. The trial ended.", "They chose option Z. We left it."])
def test_a_single_letter_may_end_a_sentence(text):
    assert len(sentences(text)) == 2
