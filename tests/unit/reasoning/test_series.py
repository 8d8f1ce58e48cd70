"""Charts show what a column or a sentence states, each point with its evidence, and nothing between the points."""

import ast
import json

import pytest

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.weighing.series import MAX_CHARTS, charts_of, find_series
from deep_research.reasoning.values import ChartSpec, Findings, Plan, SectionPlan, SectionWork
from tests.unit.reasoning.pieces import brief, piece, rows_of, table


def charts(evidence: list[Evidence]) -> tuple[ChartSpec, ...]:
    work = SectionWork(brief=brief("?"), section=SectionPlan(title="s"), evidence=tuple(evidence))
    plan = Plan(research_title="?", sections=(work.section,))
    # The same piece may stand in two sections.
    return charts_of(Findings(brief=work.brief, plan=plan, sections=(work, work)))


def points(evidence: list[Evidence]) -> list[list[tuple[str, float]]]:
    return [[(point.label, point.value) for point in series.points] for series in find_series(evidence)]


def rows(header: list[str], *lines: list[str]) -> list[Evidence]:
    return [row for row, _ in rows_of(table(header, *lines))]


def data_of(chart: ChartSpec) -> dict:
    """Return the data that a chart's code holds, without running it."""
    calls = (node for node in ast.walk(ast.parse(chart.python_code)) if isinstance(node, ast.Call))
    [text] = [call.args[0] for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "loads"]
    return json.loads(ast.literal_eval(text))


PARTS = [["Tank", "€11.7 million", "8 %"], ["Pumps", "€61.4 million", "42 %"], ["Pipes", "€73 million", "50 %"]]


def test_a_column_of_figures_is_a_bar_chart_with_the_evidence_of_each_bar():
    evidence = rows(["Part", "Cost", "Share"], *PARTS)
    cost, share = charts(evidence)
    assert (cost.chart_type, cost.title, share.title) == ("bar", "Cost", "Share")
    assert data_of(cost)["unit"] == "EUR"
    assert data_of(cost)["points"] == [
        {"label": line[0], "value": value, "evidence": row.id}
        for line, value, row in zip(PARTS, (11.7e6, 61.4e6, 73e6), evidence, strict=True)
    ]


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (["Year", "Cost"], [["2021", "€5"], ["2022", "€7"], ["2024", "€9"]]),
        (["年份", "投资"], [["2021年", "5元"], ["2022年", "7元"], ["2024年", "9元"]]),
        (["年份", "投資"], [["2021年", "5元"], ["2022年", "7元"], ["2024年", "9元"]]),
    ],
)
def test_a_column_by_years_is_a_line_and_a_missing_year_stays_missing(header, lines):
    evidence = rows(header, *lines)
    assert points(evidence) == [[(line[0], value) for line, value in zip(lines, (5.0, 7.0, 9.0), strict=True)]]
    assert [chart.chart_type for chart in charts(evidence)] == ["line"]


def test_a_line_runs_forward_in_time():
    evidence = rows(["Year", "Cost"], ["2024", "€9"], ["2022", "€7"], ["2021", "€5"])
    assert points(evidence) == [[("2021", 5.0), ("2022", 7.0), ("2024", 9.0)]]


@pytest.mark.parametrize(
    "lines",
    [
        PARTS[:2],
        [*PARTS[:2], ["Pipes", "n/a", "x"]],
        [*PARTS[:2], ["Pipes", "", ""]],
        [*PARTS[:2], ["Pipes", "$73 million", "73 km"]],
        [*PARTS[:2], ["Pipes", "€70 million to €80 million", "5-6 %"]],
        [*PARTS[:2], ["Tank", "€73 million", "50 %"]],
    ],
)
def test_too_few_missing_unlike_or_ambiguous_values_make_no_chart(lines):
    assert points(rows(["Part", "Cost", "Share"], *lines)) == []


def test_a_limit_is_no_value():
    assert points(rows(["Part", "Cost"], ["Tank", "€11"], ["Pumps", "€61"], ["Pipes", "<€5"])) == []


def test_rows_of_two_tables_make_no_series_together():
    one, other = (
        rows_of(table(["Part", "Cost"], *PARTS_[:2]), document) for document, PARTS_ in (("a", PARTS), ("b", PARTS))
    )
    assert points([row for row, _ in (*one, *other)]) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The price was €88 in 2021, €103 in 2023 and €120 in 2025.", [("2021", 88), ("2023", 103), ("2025", 120)]),
        ("In 2021 the price was €88, in 2023 €103 and in 2025 €120.", [("2021", 88), ("2023", 103), ("2025", 120)]),
        ("The price was €120 in 2025, €103 in 2023 and €88 in 2021.", [("2021", 88), ("2023", 103), ("2025", 120)]),
        ("2021年投资12亿元，2022年18亿元，2023年25亿元。", [("2021", 12e8), ("2022", 18e8), ("2023", 25e8)]),
        ("2021年投資12億元，2022年18億元，2023年25億元。", [("2021", 12e8), ("2022", 18e8), ("2023", 25e8)]),
    ],
)
def test_a_sentence_that_goes_through_years_is_a_line(sentence, expected):
    evidence = [piece(f"The plant is old. {sentence}")]
    assert points(evidence) == [expected]
    [chart] = charts(evidence)
    assert (chart.chart_type, chart.title) == ("line", sentence)
    assert {point["evidence"] for point in data_of(chart)["points"]} == {evidence[0].id}


@pytest.mark.parametrize(
    "sentence",
    [
        "The price was €88 in 2021 and €103 in 2023.",
        "The price was €88 in 2021, $103 in 2023 and €120 in 2025.",
        "The price was €88 in 2021, €103 in 2023 and €120.",
        "In 2021 the price was €88, and it was €103 in 2023 and €120 in 2025.",
        "There were 5, 6 and 7 in 2021, 2022 and 2023.",
    ],
)
def test_figures_that_have_not_each_a_date_and_a_unit_make_no_series(sentence):
    assert points([piece(sentence)]) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The price was €88 in 2021, €103 in 2021 and €120 in 2021.",
        "In 2021 the pumps cost €88 million, in 2022 the tank €12 million, and in 2023 the pipes €5 million.",
        "The price rose by 5 % in 2021, was 7 % of income in 2022 and fell by 3 % in 2023.",
    ],
)
def test_figures_of_different_things_make_no_series(sentence):
    assert points([piece(sentence)]) == []


def test_a_development_from_a_year_to_another_is_a_line():
    sentence = "Losses fell from 18 % in 2020 to 16 % in 2022 and 13.2 % in 2025."
    assert points([piece(sentence)]) == [[("2020", 18), ("2022", 16), ("2025", 13.2)]]


@pytest.mark.parametrize(
    "label", ["O'Brien's \"best\"", "a\\b", "{data!r}", '"""', "'); import os", "調蓄池", "€ %s %d"]
)
def test_code_compiles_and_holds_the_data_whatever_the_labels(label):
    evidence = rows(["Part", f"Cost {label}"], [label, "5"], [f"{label} 2", "6"], [f"{label} 3", "7"])
    [chart] = charts(evidence)
    compile(chart.python_code, "chart", "exec")
    assert [point["label"] for point in data_of(chart)["points"]] == [label, f"{label} 2", f"{label} 3"]
    assert data_of(chart)["title"] == chart.title == f"Cost {label}"


def test_there_are_few_charts_those_with_most_points_first():
    wide = rows(["Part", *"ABCDEFG"], *([f"Part {at}", *map(str, range(at, at + 7))] for at in range(3)))
    long = [row for row, _ in rows_of(table(["Part", "Long"], *([f"Part {at}", f"{at}"] for at in range(9))), "b")]
    found = charts([*wide, *long])
    assert len(found) == MAX_CHARTS
    assert found[0].title == "Long"


def test_no_evidence_gives_no_chart():
    assert charts([]) == ()
