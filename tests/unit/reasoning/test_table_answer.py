"""The rows of a table that answer a question."""

import pytest

from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.quoting.table_answer import ShownRows, choose_rows
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


STOCK = """| Part | In stock | Minimum | Checked | Result | Returned |
| --- | --- | --- | --- | --- | --- |
| Shackle | 40 | 25 | 2022-03-01 | passed | yes |
| Impeller | 2 | 6 | 2023-05-09 | failed | no |
| Anode | 10 | 10 | 2024-08-20 | passed with remarks | |
| Total | 52 | 41 | | | |
"""
BUDGET = """| 科目 | 2023年预算 | 2023年实支 | 2024年预算 | 2024年实支 | 付款 |
| --- | --- | --- | --- | --- | --- |
| 购书 | 420 | 413 | 450 | 461 | 是 |
| 维修 | 60 | 74 | 80 | 69 | 否 |
| 活动 | 90 | 88 | 110 | 110 | 是 |
"""


@pytest.mark.parametrize(
    ("table", "question", "rows"),
    [
        (STOCK, "Which parts are below their minimum stock?", ["Impeller"]),
        (STOCK, "Which parts have fewer in stock than the minimum?", ["Impeller"]),
        (BUDGET, "2024年哪些科目的实支超过了预算？", ["购书"]),
        (BUDGET, "2024年哪些科目的实支没有超过预算？", ["维修", "活动"]),
    ],
)
def test_one_column_may_be_held_against_another(table: str, question: str, rows: list[str]):
    assert firsts(table, question) == rows


@pytest.mark.parametrize(
    ("table", "question", "rows"),
    [
        (STOCK, "Which parts did not pass?", ["Impeller"]),
        (STOCK, "Which parts have not been returned?", ["Impeller", "Anode", "Total"]),
        (BUDGET, "哪些科目还没有付款？", ["维修"]),
    ],
)
def test_what_is_denied_chooses_the_rows_without_it(table: str, question: str, rows: list[str]):
    assert firsts(table, question) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which parts have at least 10 in stock?", ["Shackle", "Anode", "Total"]),
        ("Which parts have more than 10 in stock?", ["Shackle", "Total"]),
        ("Which parts were checked in 2022 and 2024?", ["Shackle", "Anode"]),
        ("Which parts were checked between 2022 and 2023?", ["Shackle", "Impeller"]),
        ("Which parts were checked after 2023?", ["Anode"]),
        ("Of which part are most in stock?", ["Shackle"]),
    ],
)
def test_bounds_and_periods_mean_what_they_say(question: str, rows: list[str]):
    assert firsts(STOCK, question) == rows


RENTS = """| Month | Arrears |
| --- | --- |
| Apr 2024 | 40 |
| Sep 2024 | 41 |
| Oct 2024 | 42 |
| Feb 2025 | 43 |
| Mar 2026 | 44 |
"""
CHECKS = """| 项目 | 结论 | 期限 |
| --- | --- | --- |
| 冷库 | 合格 | — |
| 洗手池 | 不合格 | 4月22日 |
| 标识 | 合格 | — |
"""
DAYS = """| Job | Reported | Days |
| --- | --- | --- |
| R-1 | 07/04/2025 | 12 |
| R-2 | 22/04/2025 | 31 |
| R-3 | 05/06/2025 | 29 |
"""


@pytest.mark.parametrize(
    ("table", "question", "rows"),
    [
        (RENTS, "Which arrears were there in 2024-25?", ["Apr 2024", "Sep 2024", "Oct 2024", "Feb 2025"]),
        (RENTS, "Which arrears were there in the third quarter of 2024?", ["Sep 2024"]),
        (RENTS, "Which arrears were there in the second half of 2024?", ["Sep 2024", "Oct 2024"]),
        (RENTS, "2024年下半年有哪些欠租？", ["Sep 2024", "Oct 2024"]),
        (RENTS, "2025年以来有哪些欠租？", ["Feb 2025", "Mar 2026"]),
        (DAYS, "Which jobs were reported in April?", ["R-1", "R-2"]),
        (DAYS, "Give me the jobs that took over twenty days.", ["R-2", "R-3"]),
        (CHECKS, "哪些项目没过关？", ["洗手池"]),
        (CHECKS, "哪些項目沒有通過？", ["洗手池"]),
    ],
)
def test_periods_days_and_failures_are_told_however_they_are_written(table: str, question: str, rows: list[str]):
    assert firsts(table, question) == rows


LEASES = """| Tenant | Lease from | Lease until |
| --- | --- | --- |
| Ames | 2021-01-01 | 2025-06-30 |
| Bram | 2024-03-01 | 2027-12-31 |
| Cole | 2022-09-01 | 2024-08-31 |
"""
LEASES_ZH = """| 租戶 | 契約起日 | 契約迄日 |
| --- | --- | --- |
| 甲行 | 2021-01-01 | 2025-06-30 |
| 乙店 | 2024-03-01 | 2027-12-31 |
| 丙社 | 2022-09-01 | 2024-08-31 |
"""


@pytest.mark.parametrize(
    ("table", "question", "rows"),
    [
        (LEASES, "Which leases expire in 2024?", ["Cole"]),
        (LEASES, "Which leases began in 2024?", ["Bram"]),
        (LEASES, "Which tenants do we lose in 2025?", ["Ames"]),
        (LEASES_ZH, "哪些租户的契约在2024年到期？", ["丙社"]),
        (LEASES_ZH, "哪些租戶的契約從2024年開始？", ["乙店"]),
    ],
)
def test_an_end_is_told_by_the_later_of_two_columns_of_dates(table: str, question: str, rows: list[str]):
    assert firsts(table, question) == rows


MONTHS = """| Month | Gas (kWh) |
| --- | --- |
| Jan | 402 |
| Feb | 377 |
| Mar | 371 |
| Apr | 349 |
"""
MONTHS_ZH = """| 月份 | 用電度數 |
| --- | --- |
| 1月 | 213 |
| 2月 | 201 |
| 3月 | 248 |
| 4月 | 312 |
"""


@pytest.mark.parametrize(
    ("table", "around", "question", "rows"),
    [
        (MONTHS, "Gas 2024", "How did gas use develop from February to March 2024?", ["Feb", "Mar"]),
        (MONTHS, "Gas 2024", "In which month of 2024 was most gas used?", ["Jan"]),
        (MONTHS, "gas_2023", "In which month of 2024 was most gas used?", []),
        (MONTHS, "", "How did gas use develop from February to March 2024?", ["Feb", "Mar"]),
        (MONTHS_ZH, "用電2024", "2024年2到3月的用電度數怎麼變化？", ["2月", "3月"]),
        (MONTHS_ZH, "用电2024", "2023年哪一个月用电最多？", []),
    ],
)
def test_months_without_a_year_are_of_the_year_that_their_table_stands_under(
    table: str, around: str, question: str, rows: list[str]
):
    [found] = find_tables(table)
    chosen = choose_rows(found, question, analyze_question(question), around)
    assert ([row.cells[0] for row in chosen.rows] if chosen else []) == rows


def test_a_row_without_a_date_is_of_the_year_that_its_table_is_of():
    [table] = find_tables(ORDERS.replace("2024-05-20 | 2024-05-20", "open | open"))
    question = "Which orders of 2024 were there?"
    for around, firsts_of in (("Orders 2024", ["D-02", "D-03", "D-04"]), ("Orders", ["D-02", "D-03"])):
        chosen = choose_rows(table, question, analyze_question(question), around)
        assert chosen is not None
        assert [row.cells[0] for row in chosen.rows] == firsts_of


def test_a_year_is_not_the_month_that_is_asked_for():
    table = "| Year | Gas (kWh) |\n| --- | --- |\n| 2023 | 900 |\n| 2024 | 800 |\n"
    assert firsts(table, "Which month had the highest gas use in 2023?") == []
    assert firsts(table, "2023年哪個月用的 gas 最多？") == []
    assert firsts(table, "Which year had the highest gas use?") == ["2023"]


def test_a_table_under_the_asked_financial_year_is_whole_and_one_under_another_is_none():
    question = "How did the arrears develop over the financial year 2024-25?"
    [table] = find_tables(RENTS)
    own = choose_rows(table, question, analyze_question(question), "Arrears 2024-25")
    assert own is not None
    assert len(own.rows) == 5
    assert choose_rows(table, question, analyze_question(question), "Arrears 2023-24") is None


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which supplier was the least punctual?", "Nesbit"),
        ("哪家供應商送貨最不準時？", "Nesbit"),
        ("哪家供应商最准时？", "Orrin"),
    ],
)
def test_an_extreme_is_found_by_the_words_of_its_column(question: str, first: str):
    table = (
        "| Supplier | Orders | Punctuality 准时率 |\n| --- | --- | --- |\n| Orrin | 4 | 98% |\n| Nesbit | 9 | 71% |\n"
    )
    assert firsts(table, question) == [first]


HELPERS = """| Name | Team | Languages | Minutes | Rooms | Fire-watch course | Fee (GBP) | Paid on |
| --- | --- | --- | --- | --- | --- | --- | --- |
| Ada | Fire watch | English, Dutch | 95 | 3 | no | 3120.00 | 2024-05-01 |
| Ben | Gate | English | 88 | 2 | yes | 2450.00 | |
| Cyd | Gate | Dutch | 130 | 3 | yes | 900.00 | |
| Dov | Fire watch | English, French | 60 | 4 | yes | 1100.00 | 2024-06-02 |
"""
HELPERS_ZH = """| 姓名 | 可住人數 | 坪數 | 售價 | 結果 |
| --- | --- | --- | --- | --- |
| 甲 | 2 | 8 | 90 | 通過 |
| 乙 | 4 | 7 | 150 | 不通過 |
| 丙 | 6 | 9 | 80 | 緩議 |
"""


@pytest.mark.parametrize(
    ("table", "question", "rows"),
    [
        (HELPERS, "Which helpers have taken the fire-watch course?", ["Ben", "Cyd", "Dov"]),
        (HELPERS, "Which helpers speak Dutch?", ["Ada", "Cyd"]),
        (HELPERS, "Which helpers want three rooms?", ["Ada", "Cyd"]),
        (HELPERS, "Which helpers stayed for more than an hour and a half?", ["Ada", "Cyd"]),
        (HELPERS, "Which helpers over £1,000 have not been paid yet?", ["Ben"]),
        (HELPERS, "Which helpers cost less than 3,000 pounds and stayed under two hours?", ["Ben", "Dov"]),
        (HELPERS_ZH, "至少睡得下四個人的有哪些？", ["乙", "丙"]),
        (HELPERS_ZH, "不到一百塊的有哪些？", ["甲", "丙"]),
        (HELPERS_ZH, "通過的是哪些人？", ["甲"]),
    ],
)
def test_each_condition_finds_its_column(table: str, question: str, rows: list[str]):
    assert firsts(table, question) == rows


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What did the repairs cost all together?", ("Σ Cost €: 2885", "530 + 1185 + 1170 = 2885")),
        ("What did the repairs cost altogether?", ("Σ Cost €: 2885", "530 + 1185 + 1170 = 2885")),
        ("修理一共花了多少钱？", ("Σ Cost €: 2885", "530 + 1185 + 1170 = 2885")),
        ("What is the average cost of a repair?", ("Ø Cost €: 961.67", "(530 + 1185 + 1170) / 3 = 961.67")),
        ("What did each repair cost?", None),
        ("What is the difference in cost?", None),
    ],
)
def test_a_total_and_a_mean_are_computed_from_the_rows(question: str, told: tuple[str, str] | None):
    rows = [(("Order", f"R-{cost}"), ("Cost €", cost)) for cost in ("530", "1,185", "1170")]
    assert ShownRows(rows, question, analyze_question(question)).computed == told


def test_a_difference_is_of_two_rows_and_a_told_total_is_not_computed():
    question = "What is the difference in cost?"
    rows = [(("Order", name), ("Cost €", cost)) for name, cost in (("Total", "800"), ("B", "300"))]
    assert ShownRows(rows, question, analyze_question(question)).computed is None
    rows = [(("Order", name), ("Cost €", cost)) for name, cost in (("A", "500"), ("B", "300"))]
    assert ShownRows(rows, question, analyze_question(question)).computed == ("Δ Cost €: 200", "500 - 300 = 200")


def test_what_is_to_be_left_out_is_left_out():
    assert firsts(ORDERS, "Which orders of 2024 were late? Leave out those of Hexley.") == ["D-03", "D-04"]


@pytest.mark.parametrize(
    ("question", "rows", "told"),
    [
        (
            "Which order had the largest amount?",
            [(("Order", "D-04"), ("Customer", "Oakhurst"), ("Amount GBP", "1850"))],
            "D-04 · Oakhurst: Amount GBP 1850",
        ),
        ("Which order had the largest amount?", [(("Amount", "1850"),)], "Amount 1850"),
        (
            "How has the number of visitors developed?",
            [(("Year", "2020"), ("Visitors", "80")), (("Year", "2019"), ("Visitors", "100"))],
            "Visitors: 100 (2019) → 80 (2020), -20.0 %",
        ),
        (
            "门诊人次从2019年到2020年怎么变化？",
            [(("年份", "2019"), ("门诊人次", "1,000")), (("年份", "2020"), ("门诊人次", "1,250"))],
            "门诊人次: 1,000 (2019) → 1,250 (2020), +25.0 %",
        ),
    ],
)
def test_an_extreme_and_a_trend_are_told_in_a_line(question: str, rows: list[tuple[tuple[str, str], ...]], told: str):
    assert ShownRows(rows, question, analyze_question(question)).summary == told


@pytest.mark.parametrize(
    ("labels", "question", "told"),
    [
        (
            ("Year", "Norway", "Sweden"),
            "How did sales change in Norway and Sweden between 2020 and 2022?",
            "Norway: 91 (2020) → 119 (2022), +30.8 %; Sweden: 58 (2020) → 84 (2022), +44.8 %",
        ),
        (
            ("Year", "Norway", "Sweden"),
            "How did sales change in Sweden between 2020 and 2022?",
            "Sweden: 58 (2020) → 84 (2022), +44.8 %",
        ),
        (
            ("年份", "挪威", "瑞典"),
            "2020年至2022年挪威和瑞典的销量有什么变化？",
            "挪威: 91 (2020) → 119 (2022), +30.8 %; 瑞典: 58 (2020) → 84 (2022), +44.8 %",
        ),
    ],
)
def test_a_trend_of_two_columns_names_both(labels: tuple[str, ...], question: str, told: str):
    lines = (("2020", "91", "58"), ("2022", "119", "84"))
    rows = [tuple(zip(labels, line, strict=True)) for line in lines]
    assert ShownRows(rows, question, analyze_question(question)).summary == told
