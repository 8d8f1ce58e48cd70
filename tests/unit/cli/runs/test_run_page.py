"""A run on one page: what it cost."""

import pytest

from deep_research.cli.runs.run_page import cost_in_words
from deep_research.text.messages.words import words_in


@pytest.mark.parametrize(
    ("usd", "shown"), [(0.0, "$0.00"), (0.0004, "< $0.01"), (0.01, "$0.01"), (1.2345, "$1.23"), (1234.5, "$1,234.50")]
)
def test_costs_are_shown_in_cents_and_less_than_a_cent_is_not_nothing(usd: float, shown: str) -> None:
    assert cost_in_words(usd, (), words_in("en")) == shown
