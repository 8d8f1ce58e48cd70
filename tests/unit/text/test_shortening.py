"""A text that is cut for a title ends where a sentence or a word ends."""

import pytest

from deep_research.text.shortening import shortened


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("What did it cost?\n", 40, "What did it cost?"),
        ("What did it cost? And who paid for the whole of it?", 40, "What did it cost?"),
        ("Who paid for the whole of the plant and its pipes", 20, "Who paid for the…"),
        ("No. " + "word " * 30, 40, "No. word word word word word word word…"),
        ("花了多少钱？谁付的钱，又是怎么付的，后来怎么样了？", 12, "花了多少钱？"),
        ("x" * 50, 10, "x" * 9 + "…"),
        ("", 10, ""),
    ],
)
def test_a_long_text_is_cut_at_an_end(text: str, most: int, short: str) -> None:
    assert shortened(text, most) == short
    assert len(short) <= most
