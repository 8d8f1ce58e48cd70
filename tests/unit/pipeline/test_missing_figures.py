"""An editor gets to see the evidence of whose figures a text tells none."""

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
        (COST, "The bill stood at 146.2 million euros.", True),
        (COST, "It took 5 years and cost 142.6 million euros.", False),
        (COST, "By 2025 it was done.", False),
        (COST_ZH, "共投资48.6亿元。", True),
        (COST_ZH, "共投资46.8亿元，历时5年。", False),
        (COST_HANT, "共投資48.6億元。", True),
        (COST_HANT, "共投資46.8億元，歷時5年。", False),
        ("Nobody disputes that it was finished in 2025.", "It rained.", True),
    ],
)
def test_what_holds_only_untold_figures_is_left_out(quote: str, told: str, is_told: bool) -> None:
    source = piece(quote, score=1)
    assert left_out([source], [Sentence(text=told)]) == (() if is_told else (source,))
    assert left_out([piece(quote, score=0)], [Sentence(text=told)]) == (), "what nobody chose is no loss"


def test_only_the_best_are_shown_in_their_order() -> None:
    pieces = [
        piece(f"Part {letter} cost €{100 + at} million.", letter, score=at) for at, letter in enumerate("abcdefghijkl")
    ]
    assert left_out(pieces, []) == tuple(pieces[-5:])
