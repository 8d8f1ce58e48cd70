"""What is obeyed instead of shown, or not shown at all, goes; everything that a reader sees stays."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.text.cleaning import clean_text, clean_with_offsets

# Pieces that make hostile text likely: introducers and ends of sequences, unseen characters, joiners, letters.
PIECES = [
    *(
        "\x1b",
        "\x1b[31m",
        "\x1b]0;t\x07",
        "\x1b]8;;u\x1b\\",
        "[",
        "]",
        "m",
        "\x07",
        "\x9b",
        "\x9c",
        "\x9d",
        "\x00",
        "\x08",
    ),
    *(
        "\r",
        "\n",
        "\t",
        "\x85",
        "\u2028",
        "\u200b",
        "\u200c",
        "\u200d",
        "\ufe0f",
        "\u202e",
        "\u2066",
        "\ud83d",
        "\ufffe",
    ),
    *("a", "7", "成", "क", "❤", " "),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Costs \x1b[1;31mfell\x1b[0m by 12%.", "Costs fell by 12%."),
        ("成本\x1b[2J下降了。", "成本下降了。"),
        ("a\x1b]0;owned\x07b\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\c", "ablinkc"),
        ("a\x1bPq#0;1\x1b\\b\x1b(Bc\x1bcd", "abcd"),
        ("no end \x1b]52;c;abc\nnext line stays", "no end 52;c;abc\nnext line stays"),
        ("cut off \x1b[", "cut off "),
        ("after others \x08\u200b\x1b[31mred\x80\x9b0m.", "after others red."),
        ("a\x9b31mb\x9cc\x80d", "abcd"),
        ("â\x80\x9dall of it stays\x80\x9c", "âall of it stays"),
        ("a\x00b\x08c\x7fd\x1fe", "abcde"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("invoice\u202efdp.exe\u202c", "invoicefdp.exe"),
        ("\u2066a\u2069\u200eb\u200fc\u061c", "abc"),
        ("ig\u200bno\u00adre\ufeff me\U000e0041\U000e0042", "ignore me"),
        ("half \ud83d pair, no \ufffe\uffff\ufdd0\U0001ffff character", "half  pair, no  character"),
        # A joiner stays where it shapes: Persian, Devanagari, emoji of several parts.
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("👩\u200d🔬 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "👩\u200d🔬 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3"),
        # It goes between letters that know none, and where many stand in a row.
        ("a\u200db成\u200c本\u200d", "ab成本"),
        ("می\u200c\u200cخواهم", "می\u200cخواهم"),
        ("😀\ufe00\ufe01\ufe02\u200d\u200c\u200d x", "😀 x"),
        ("é\u200d\u200bb", "éb"),
    ],
)
def test_only_what_is_shown_stays(text: str, shown: str):
    assert clean_text(text) == shown


def test_broken_numbers_and_signs_of_latex_are_mended():
    assert clean_text(r"99 .8% of \approx 89\%, 3\times") == "99.8% of ≈89%, 3×"
    assert clean_text("section 5 .8 of 2024 .") == "section 5 .8 of 2024 ."


def test_plain_text_is_returned_as_it_is():
    for text in ("Costs fell by 12%.", "成本下降了，\n\t價格也是。", "Größe: 5 µm², “so” – it’s « là »"):
        assert clean_text(text) is text


def test_hostile_text_takes_no_more_than_one_look_at_each_character():
    # Quadratic work on these would take minutes; the suite's limit against hangs would end it.
    for piece in ("\x1b]", "\x1b[0", "\x9d", "\x9b1", "\u200d\ufe0f", "\x1bP;"):
        assert len(clean_text(piece * 200_000)) <= len(piece) * 200_000


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_nothing_unseen_is_left_and_cleaning_again_changes_nothing(text: str):
    cleaned = clean_text(text)
    kinds = {unicodedata.category(character) for character in re.sub("[\n\t\u200c\u200d]", "", cleaned)}
    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
    assert clean_text(cleaned) == cleaned


# Whole sequences and unseen characters: none of them takes a letter after it along.
JUNK = ["\x1b[31m", "\x1b]0;t\x07", "\x00", "\r\n", "\r", "\u200b\u202e", "\u200d\u200c", "\ud83d", "\x85"]


@given(st.lists(st.lists(st.sampled_from(JUNK), max_size=3).map("".join), min_size=1, max_size=20))
def test_an_offset_stays_before_the_character_it_stood_before(junk: list[str]):
    letters = "αβγδεζηθικλμνξοπρστυ"[: len(junk)]
    text = "".join(before + letter for before, letter in zip(junk, letters, strict=True))
    cleaned, moved = clean_with_offsets(text, [text.index(letter) for letter in letters])
    assert cleaned == clean_text(text)
    assert moved == [cleaned.index(letter) for letter in letters]


def test_an_offset_within_what_goes_stands_after_it():
    text = "a\x1b[31mb"
    assert clean_with_offsets(text, range(len(text) + 1)) == ("ab", [0, 1, 1, 1, 1, 1, 1, 2])
