"""How likely an answer that rules chose is right, and what the reader is told."""

import pytest

from deep_research.reasoning.rules.quoting.drafting import likelihood_of
from deep_research.report.layout import ReportLayout


def test_an_answer_chosen_by_columns_and_met_by_many_is_likelier():
    alone = {"any": 1.0, "asks for list": 1.0}
    assert 0 < likelihood_of(alone) < likelihood_of(alone | {"chosen by columns": 1.0, "met": 1.0}) < 1


@pytest.mark.parametrize(
    ("likelihood", "is_answered", "is_doubtful"), [(0.2, True, True), (0.2, False, False), (0.9, True, False)]
)
def test_only_an_answer_that_is_given_is_doubted(likelihood: float, is_answered: bool, is_doubtful: bool):
    report = ReportLayout(title="?", run_line="", likelihood=likelihood, is_answered=is_answered)
    assert report.is_doubtful is is_doubtful
