"""A model that goes round in circles is noticed early, and ordinary text never is."""

import random
from pathlib import Path

import pytest

from deep_research.llm.repetition import GrowingText, circle_start

ROOT = Path(__file__).parents[3]
LEAD = "Green tea contains caffeine; the amount depends on the leaf. "


@pytest.mark.parametrize(
    "round_",
    [
        "and ",
        "茶",
        " ",
        "\n",
        '{"a": 1}, ',
        "I must think about this again. ",
        "同样的话又说了一遍。",
        LEAD * 5,
        "x" * 37 + "y",
    ],
)
def test_circle_is_found_where_it_begins(round_):
    text = LEAD + "It ends so: " + round_ * (4_000 // len(round_) + 8)
    start = circle_start(text)
    assert start is not None
    # The character before a round may happen to be its last one.
    assert text[:start].strip() in (LEAD + "It ends so:", LEAD + "It ends so")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 400,
        "| --- " * 40 + "|",
        "-" * 300,
        LEAD,
        "\n".join(f"| {number} | {number * 17 % 101} |" for number in range(400)),
        "\n".join(f"Chapter {number} {'.' * 60} {number * 7}" for number in range(60)),
    ],
)
def test_ordinary_repetition_is_left_alone(text):
    assert circle_start(text) is None


def test_real_prose_and_code_are_never_a_circle():
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *Path(__file__).parent.glob("*.py")]:
        text, growing = path.read_text(encoding="utf-8"), GrowingText()
        for start in range(0, len(text), 97):
            growing.add(text[start : start + 97])
        assert not growing.is_circling, path
        assert growing.whole == growing.before_circle == text


def test_circle_is_noticed_within_a_thousand_characters():
    chance, growing = random.Random(7), GrowingText()
    growing.add(LEAD + "and so on "[: chance.randint(1, 10)])
    while not growing.is_circling:
        growing.add("and so on ")
        assert growing.chars < len(LEAD) + 1_000
    assert growing.before_circle.startswith(LEAD.rstrip()[:-1])
    assert len(growing.before_circle) < len(LEAD) + 20
