"""Passages: every sentence in one, none too long, none over a heading."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.documents.corpus.passages import cut_passages
from deep_research.text.sentences import split_sentences


def _sentences(count: int, words: int = 12) -> str:
    return " ".join(f"Sentence {n} " + "has words " * (words // 2 - 1) + "here." for n in range(count))


def _texts(text: str) -> list[str]:
    return [text[start:end] for start, end in cut_passages(text)]


def test_a_short_text_is_one_passage():
    assert _texts("One sentence. And another one.\n") == ["One sentence. And another one."]


def test_an_empty_text_has_no_passages():
    assert cut_passages(" \n\n ") == []


def test_long_prose_is_cut_at_eight_sentences_and_neighbours_share_one():
    passages = _texts(_sentences(20))
    assert len(passages) == 3
    assert [passage.count("Sentence") for passage in passages[:2]] == [8, 8]
    assert passages[1].startswith("Sentence 7 ")
    assert passages[0].rstrip().endswith(passages[1].split(".")[0] + ".")


def test_a_paragraph_that_fills_a_passage_ends_it():
    first, second = _texts(f"{_sentences(6)}\n\nA new paragraph begins. It goes on.")
    assert first.count("Sentence") == 6
    assert second.startswith("Sentence 5 ")
    assert "A new paragraph" not in first


def test_a_heading_begins_a_passage_and_nothing_is_shared_over_it():
    text = "# Title\n\n## Costs\n\nIt cost much. Very much.\n\n## Results\n\nIt worked.\n"
    assert _texts(text) == ["Title\n\n## Costs\n\nIt cost much. Very much.", "Results\n\nIt worked."]


def test_chinese_passages_stay_below_four_hundred_characters():
    text = "".join(f"第{n}句话说明这项工程在二〇二五年完成了哪些主要任务，以及投资是多少。" for n in range(60))
    lengths = [len(passage) for passage in _texts(text)]
    assert len(lengths) >= 5
    assert max(lengths) <= 420


def test_table_rows_stay_together_until_the_passage_is_full():
    rows = "\n".join(f"| {n} | {n * 3} |" for n in range(14))
    assert len(_texts(f"| year | value |\n{rows}\n")) == 1


def test_a_long_table_is_cut_between_rows_and_no_row_is_repeated():
    rows = [f"| Plant {n} | {n * 37} kroner in the first half | {n} |" for n in range(150)]
    passages = _texts("\n".join(rows))
    assert len(passages) > 5
    assert [row for passage in passages for row in passage.split("\n")] == rows


@pytest.mark.parametrize("text", ["word " * 4_000, "没有标点的长文" * 2_000, "x" * 50_000])
def test_text_without_sentences_is_cut_to_size(text):
    passages = _texts(text)
    assert max(len(passage) for passage in passages) <= 1_200
    assert sum(len(passage.replace(" ", "")) for passage in passages) >= len(text.replace(" ", ""))


def test_a_megabyte_on_one_line_is_cut_in_a_moment():
    begin = time.process_time()
    assert cut_passages("endless words " * 75_000)
    assert time.process_time() - begin < 4


@given(
    st.lists(
        st.sampled_from([_sentences(3), "## Heading", "| a | b |", "- item one", "一句话。再来一句。"]), max_size=30
    )
)
def test_every_sentence_is_in_a_passage_in_order(blocks):
    text = "\n\n".join(blocks)
    passages = cut_passages(text)
    assert passages == sorted(passages)
    for start, end in split_sentences(text):
        assert any(first <= start and end <= last for first, last in passages)
