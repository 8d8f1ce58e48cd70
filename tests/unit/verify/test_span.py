"""The words a judge relies on: found whatever their spelling, never when they are other words."""

import pytest

from deep_research.verify.quote import find_span

TEXT = "He said: “The cost of heat\npumps rose by 12 per cent” – in 2024.\nNobody else was asked."
TEXT_ZH = "據統計，改造工程\n投資48.6億元。"


@pytest.mark.parametrize(
    ("span", "text", "found"),
    [
        ("The cost of heat pumps rose by 12 per cent", TEXT, "The cost of heat\npumps rose by 12 per cent"),
        ('heat pumps rose by 12 per cent" - in 2024.', TEXT, "heat\npumps rose by 12 per cent” – in 2024"),
        ("  “Nobody else   was asked…”", TEXT, "Nobody else was asked"),
        ("改造工程投資48.6億元", TEXT_ZH, "改造工程\n投資48.6億元"),
        ("改造工程投资48.6亿元。", TEXT_ZH, "改造工程\n投資48.6億元"),
    ],
)  # fmt: skip
def test_the_same_words_are_found(span, text, found):
    place = find_span(span, text)
    assert place is not None
    assert text[slice(*place)] == found


@pytest.mark.parametrize(
    "span",
    [
        "",
        "…",
        "The cost",
        "The cost of pumps rose by 12 per cent",
        "The cost of heat pumps rose by 13 per cent",
        "The cost of heat pumps ... in 2024",
        "工程投资48.7亿元",
    ],
)
def test_other_words_and_bare_ones_are_not(span):
    assert find_span(span, TEXT + TEXT_ZH) is None
