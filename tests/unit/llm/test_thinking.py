"""Thoughts between tags are parted from the answer, however the pieces fall."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.llm.answer import GrowingAnswer
from deep_research.llm.port import Delta


def split(pieces: list[str]) -> tuple[str, str, list[Delta]]:
    answer = GrowingAnswer(max_tokens=4_000)
    deltas = [delta for piece in pieces for delta in answer.feed(piece)] + answer.finish()
    return answer.text, answer.reasoning, deltas


@pytest.mark.parametrize(
    ("said", "text", "reasoning"),
    [
        ("Tea.", "Tea.", ""),
        ("<think>Hm.</think>Tea.", "Tea.", "Hm."),
        ("<thinking>Hm.</thinking>Tea.", "Tea.", "Hm."),
        ("<THINK>嗯。</Think>茶。", "茶。", "嗯。"),
        ("\n<think>\nHm.\n</think>\n\nTea.", "\n\n\nTea.", "\nHm.\n"),
        ("Tea<think>one</think> and<think>two</think> cake", "Tea and cake", "onetwo"),
        ("<think>never ends", "", "never ends"),
        ("<think></think>Tea.", "Tea.", ""),
        ("thought without a beginning</think>Tea.", "Tea.", "thought without a beginning"),
        ("a < b, <thin> and <thinker> stay", "a < b, <thin> and <thinker> stay", ""),
        ("ends in <thi", "ends in <thi", ""),
        ("", "", ""),
    ],
)
def test_thoughts_are_apart_whole_and_letter_by_letter(said, text, reasoning):
    for pieces in ([said], list(said)):
        assert split(pieces)[:2] == (text, reasoning)


_TOKENS = st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "<", "th", "/", "茶", "tea ", ">"])


@given(st.lists(_TOKENS, max_size=12), st.integers(1, 7))
def test_how_the_pieces_fall_does_not_matter(tokens, size):
    said = "".join(tokens)
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    assert split(pieces)[:2] == split([said])[:2]


def test_deltas_are_the_parts_in_order():
    _, _, deltas = split(["<th", "ink>H", "m.</thi", "nk>Te", "a."])
    assert deltas == [Delta("reasoning", "H"), Delta("reasoning", "m."), Delta("text", "Te"), Delta("text", "a.")]


def test_thoughts_that_the_provider_marks_are_kept_beside():
    answer = GrowingAnswer(max_tokens=4_000)
    assert answer.think("Hm.") == [Delta("reasoning", "Hm.")]
    assert answer.think("") == []
    answer.feed("Tea.")
    assert (answer.text, answer.reasoning) == ("Tea.", "Hm.")


def _cpu_s(pieces: list[str]) -> float:
    """Return the least of three measurements, since other processes push this one out of the caches."""
    spent = []
    for _ in range(3):
        begin = time.process_time()
        _, _, deltas = split(pieces)
        spent.append(time.process_time() - begin)
        assert len(deltas) >= len(pieces)
    return min(spent)


def test_many_pieces_and_many_tags_cost_in_proportion_to_their_number():
    chance = random.Random(5)
    words = [f"{chance.getrandbits(40):x} " for _ in range(80_000)]
    # Proportion is 8; what is joined or cut piece by piece comes to 40 and more.
    assert _cpu_s(words) < 24 * max(_cpu_s(words[:10_000]), 0.01)
    tags = "<think>a</think>b"
    assert _cpu_s([tags * 24_000]) < 24 * max(_cpu_s([tags * 3_000]), 0.01)
