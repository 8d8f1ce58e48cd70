"""What can be worked out from the figures, dates and times of passages, and what cannot."""

import pytest

from deep_research.verify.amounts import amounts_of
from deep_research.verify.derived import is_worked_out

SHARE = "Of the 50 respondents, 16 named the price."
MONTHS = ("The pilot began on 1 April 2025.", "The pilot ended on 30 September 2025.")
TIMES = ("The door closed at 14:10.", "The fault was reported at 14:55.")
COSTS = ("The lease costs 120 million euros.", "The purchase costs 180 million euros.")
ROWS = ("| North | 12 |", "| South | 30 |", "| West | 18 |")


def worked_out(sentence: str, *texts: str) -> bool:
    """Return whether the first quantity of a sentence can be worked out."""
    return is_worked_out(amounts_of(sentence)[0], sentence, texts)


@pytest.mark.parametrize(
    ("sentence", "texts"),
    [
        ("About a third of them named the price.", (SHARE,)),
        ("32 % of them named the price.", (SHARE,)),
        ("The purchase costs 60 million euros more.", COSTS),
        ("Together they cost 300 million euros.", COSTS),
        ("The purchase costs 50 % more.", COSTS),
        ("It lasted six months.", MONTHS),
        ("It took 45 minutes.", TIMES),
        ("The regions sold 60 units.", ROWS),
        ("购置费用高出50%。", ("租赁费用为1.2亿元。", "购置费用为1.8亿元。")),
        ("约三分之一的受访者提到价格。", ("50名受访者中有16人提到价格。",)),
    ],
)
def test_a_result_of_one_step_is_worked_out(sentence: str, texts: tuple[str, ...]) -> None:
    assert worked_out(sentence, *texts)


@pytest.mark.parametrize(
    ("sentence", "texts"),
    [
        ("41 % of them named the price.", (SHARE,)),
        ("The purchase costs 75 million euros more.", COSTS),
        ("The purchase costs 65 % more.", COSTS),
        ("It lasted ten months.", MONTHS),
        ("It took 73 minutes.", TIMES),
        ("The regions sold 71 units.", ROWS),
        ("购置费用高出80%。", ("租赁费用为1.2亿元。", "购置费用为1.8亿元。")),
    ],
)
def test_another_result_is_not(sentence: str, texts: tuple[str, ...]) -> None:
    assert not worked_out(sentence, *texts)
