"""The rows of a table that answer a question."""

import pytest

from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.quoting.table_answer import choose_rows
from deep_research.text.tables import find_tables

ORDERS = """| Order | Customer | Due | Delivered | Delay (days) | Amount GBP |
| --- | --- | --- | --- | --- | --- |
| D-01 | Brindle | 2023-11-02 | 2023-11-20 | 18 | 900 |
| D-02 | Hexley | 2024-01-10 | 2024-01-12 | 2 | 4100 |
| D-03 | Brindle | 2024-03-04 | 2024-03-21 | 17 | 350 |
| D-04 | Oakhurst | 2024-05-20 | 2024-05-20 | 0 | 7800 |
"""
VISITS = """| 年月 | 河東門診人次 | 河西門診人次 |
| --- | --- | --- |
| 2023-12 | 2,700 | 990 |
| 2024-01 | 3,125 | 1,285 |
| 2024-02 | 2,640 | 1,050 |
| 2024-03 | 2,870 | 1,100 |
"""


def firsts(table: str, question: str) -> list[str]:
    [found] = find_tables(table)
    chosen = choose_rows(found, question, analyze_question(question))
    return [row.cells[0] for row in chosen.rows] if chosen else []


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which orders were more than ten days late?", ["D-01", "D-03"]),
        ("Which orders came more than two weeks after the due day?", ["D-01", "D-03"]),
        ("Which orders of 2024 were more than ten days late?", ["D-03"]),
        ("Which orders of Brindle were late?", ["D-01", "D-03"]),
        ("Which order had the largest amount?", ["D-04"]),
        ("Which order had the smallest amount in 2024?", ["D-03"]),
        ("Which orders were due before 2024-02-01?", ["D-01", "D-02"]),
        ("Which orders of 2022 were late?", []),
    ],
)
def test_the_condition_of_a_question_chooses_rows(question: str, rows: list[str]):
    assert firsts(ORDERS, question) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("河東今年一月到二月的門診人次是怎麼起伏的？", ["2024-01", "2024-02"]),
        ("2024年有哪几个月河东门诊超过两千八百人次？", ["2024-01", "2024-03"]),
        ("从2023年到2024年，门诊人次怎么变化？", ["2023-12", "2024-01", "2024-02", "2024-03"]),
    ],
)
def test_periods_and_bounds_in_chinese(question: str, rows: list[str]):
    assert firsts(VISITS, question) == rows


def test_a_long_table_without_a_condition_is_not_shown():
    rows = "".join(f"| S-{number} | {number} |\n" for number in range(30))
    assert firsts(f"| Sample | Value |\n| --- | --- |\n{rows}", "Which samples were taken?") == []
    assert firsts(f"| Sample | Value |\n| --- | --- |\n{rows}", "Which samples had a value above 27?") == [
        "S-28",
        "S-29",
    ]
