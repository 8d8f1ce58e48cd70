"""What a figure shows is compared with the rows that it was given."""

import pytest

from deep_research.charts.sandbox.port import Execution
from deep_research.pipeline.stages.chart import difference
from deep_research.report.figure import DataRow

ROWS = [
    DataRow(label=str(year), value=value, evidence="e")
    for year, value in ((2021, 61.4), (2022, 0.1 + 0.2), (2023, 8e9))
]


def shown(*plotted: tuple[float, ...]) -> Execution:
    return Execution(stdout="", figures=("png",) * len(plotted), plotted=plotted)


@pytest.mark.parametrize("values", [(61.4, 0.3, 8e9), (8e9, 61.4, 0.3), (61.4, float("nan"), 0.3, 8e9)])
def test_the_same_values_in_any_order_are_the_same(values):
    assert difference(ROWS, shown(values)) == ""


@pytest.mark.parametrize(
    ("plotted", "said"),
    [
        ([(61.4, 0.3, 8e9, 5.0)], "not in the data: 5"),
        ([(61.4, 61.4, 0.3, 8e9)], "not in the data: 61.4"),
        ([(61.4, 0.3, 8.0)], "not in the data: 8"),
        ([(61.4, 0.3)], "does not show"),
        ([], "0 were drawn"),
        ([(61.4,), (0.3, 8e9)], "2 were drawn"),
    ],
)
def test_anything_else_is_told(plotted, said):
    assert said in difference(ROWS, shown(*plotted))
