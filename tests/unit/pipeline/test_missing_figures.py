"""An editor gets to see the evidence whose figures a text does not tell."""

import pytest

from deep_research.pipeline.missing_figures import left_out
from deep_research.report.paragraph import Sentence
from tests.unit.reasoning.pieces import piece

COST = "The retrofit cost €146.2 million by 2025. It took 4 years."
COST_ZH = "改造工程投资48.6亿元，历时4年。"
COST_HANT = "改造工程投資48.6億元，歷時4年。"


@pytest.mark.parametrize(
    ("quote", "told", "is_told"),
    [
        (COST, "After 4 years the bill stood at 146.2 million euros.", True),
        (COST, "The bill stood at 146.2 million euros.", False),
        (COST, "It took 4 years and cost 146.2 million.", False),
        (COST_ZH, "历时4年，共投资48.6亿元。", True),
        (COST_ZH, "共投资48.6亿元。", False),
        (COST_HANT, "歷時4年，共投資48.6億元。", True),
        (COST_HANT, "共投資46.8億元，歷時4年。", False),
        ("Nobody disputes that it was finished in 2025.", "It rained.", True),
    ],
)
def test_what_holds_an_untold_figure_is_left_out(quote: str, told: str, is_told: bool) -> None:
    source = piece(quote)
    assert left_out([source], [Sentence(text=told)]) == (() if is_told else (source,))


def test_only_the_best_are_shown_in_their_order() -> None:
    pieces = [
        piece(f"Part {letter} cost €{100 + at} million.", letter, score=at) for at, letter in enumerate("abcdefghijkl")
    ]
    assert left_out(pieces, []) == tuple(pieces[-8:])
