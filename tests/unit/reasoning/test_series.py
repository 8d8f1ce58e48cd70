"""Charts show what tables and sentences state, each point with its evidence, and nothing between the points."""

import pytest

from deep_research.reasoning.rules.weighing.charts import chart_of, charts_of, possible_series
from deep_research.reasoning.values import ChartSpec, Context, Findings, Plan, QuestionKind, SectionPlan, SectionWork
from deep_research.report.evidence.passage import Evidence
from tests.unit.reasoning.pieces import brief, piece, rows_of, table


def charts(
    evidence: list[Evidence],
    *,
    question: str = "?",
    kind: QuestionKind = "open",
    titles: dict[str, str] | None = None,
    above: str = "",
    section: str = "s",
) -> tuple[ChartSpec, ...]:
    work = SectionWork(brief=brief(question, kind=kind), section=SectionPlan(title=section), evidence=tuple(evidence))
    plan = Plan(research_title="?", sections=(work.section,))
    contexts = {each.id: Context(title=(titles or {}).get(each.document, ""), headings=above) for each in evidence}
    # The same piece may stand in two sections.
    findings = Findings(brief=work.brief, plan=plan, sections=(work, work), contexts=contexts)
    if question != "?":
        return charts_of(findings)
    return tuple(map(chart_of, possible_series(findings, most=12, is_chosen=True)))


def points(evidence: list[Evidence]) -> list[list[tuple[str, float]]]:
    return [[(row.label, row.value) for row in chart.rows] for chart in charts(evidence)]


def rows(header: list[str], *lines: list[str], document: str = "a") -> list[Evidence]:
    return [row for row, _ in rows_of(table(header, *lines), document)]


PARTS = [["Tank", "€11.7 million", "8 %"], ["Pumps", "€61.4 million", "42 %"], ["Pipes", "€73 million", "50 %"]]


def test_a_column_of_figures_is_a_bar_chart_with_the_evidence_of_each_bar():
    evidence = rows(["Part", "Cost", "Share"], *PARTS)
    cost, share = charts(evidence, question="What did tank and pumps cost?")
    assert (cost.chart_type, cost.title, cost.unit) == ("bar", "Cost by part (€)", "€")
    assert (share.title, share.unit) == ("Share by part (%)", "%")
    told = [(row.label, row.value, row.evidence) for row in cost.rows]
    assert told == [
        (line[0], value, row.id) for line, value, row in zip(PARTS, (11.7e6, 61.4e6, 73e6), evidence, strict=True)
    ]


@pytest.mark.parametrize(
    ("header", "lines", "title"),
    [
        (["Year", "Annual cost"], [["2021", "€5"], ["2022", "€7"], ["2024", "€9"]], "Annual cost, 2021–2024 (€)"),
        (["年份", "完成投资"], [["2021年", "5元"], ["2022年", "7元"], ["2024年", "9元"]], "完成投资，2021–2024（元）"),
        (["年份", "完成投資"], [["2021年", "5元"], ["2022年", "7元"], ["2024年", "9元"]], "完成投資，2021–2024（元）"),
        (
            ["Quarter", "Annual cost"],
            [["Q4 2023", "€9"], ["Q2 2023", "€5"], ["Q3 2023", "€7"]],
            "Annual cost, 2023-Q2 to 2023-Q4 (€)",
        ),
    ],
)
def test_a_column_by_time_is_a_line_that_runs_forward_and_a_missing_time_stays_missing(header, lines, title):
    [chart] = charts(rows(header, *lines))
    assert (chart.chart_type, chart.title) == ("line", title)
    labels = [row.label for row in chart.rows]
    assert labels == sorted(labels)
    assert {row.value for row in chart.rows} == {5.0, 7.0, 9.0}


def test_the_unit_of_a_column_may_stand_in_its_label_and_what_is_measured_above_the_table():
    evidence = rows(["名称", "容积（万立方米）"], ["东渡", "9.0"], ["北闸", "8.0"], ["码头", "3.5"])
    [chart] = charts(evidence, above="技术说明 › 2. 六座调蓄池的规模（2025年）")
    assert chart.title == "六座调蓄池的规模（2025年）：容积（万立方米）"
    assert [(row.label, row.value) for row in chart.rows] == [("东渡", 9.0), ("北闸", 8.0), ("码头", 3.5)]


@pytest.mark.parametrize(
    "lines",
    [
        PARTS[:2],
        [*PARTS[:2], ["Pipes", "n/a", "x"]],
        [*PARTS[:2], ["Pipes", "", ""]],
        [*PARTS[:2], ["Pipes", "$73 million", "73 km"]],
        [*PARTS[:2], ["Pipes", "€70 million to €80 million", "5-6 %"]],
        [*PARTS[:2], ["Pipes", "<€5 million", "up to 5 %"]],
        [*PARTS[:2], ["Tank", "€73 million", "50 %"]],
    ],
)
def test_too_few_missing_unlike_or_ambiguous_values_make_no_chart(lines):
    assert points(rows(["Part", "Cost", "Share"], *lines)) == []


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (["No.", "Action"], [["1", "Tender"], ["2", "Audit"], ["3", "Report"]]),
        (["序号", "事项"], [["1", "招标"], ["2", "审计"], ["3", "报告"]]),
        (["Part", "Customer ID"], [["Tank", "4711"], ["Pumps", "4718"], ["Pipes", "4790"]]),
        (["姓名", "分機"], [["林", "201"], ["高", "203"], ["蔡", "212"]]),
        (["Part", "Built"], [["Tank", "2019"], ["Pumps", "2021"], ["Pipes", "2024"]]),
        (["Part", "Share"], [["Tank", "25 %"], ["Pumps", "25 %"], ["Pipes", "25 %"]]),
    ],
)
def test_numbers_that_name_or_date_things_and_constants_make_no_chart(header, lines):
    assert points(rows(header, *lines)) == []


@pytest.mark.parametrize("label", ["Total", "Sum of all", "合计", "Year"])
def test_a_total_does_not_stand_beside_its_parts(label):
    lines = [["January to March", "142"], ["April to June", "108"], ["July to September", "74"], ["Rest", "144"]]
    evidence = rows(["Quarter", "Heat (GWh)"], *lines, [label, "468"])
    assert points(evidence) == [[(name, float(value)) for name, value in lines]]


def test_figures_of_several_times_are_not_one_bar_chart_but_those_of_the_last_time_are():
    lines = [["A", "Q1 2024", "$5"], ["B", "Q2 2024", "$6"], ["C", "Q3 2024", "$7"]]
    assert points(rows(["Company", "Quarter", "Spend"], *lines)) == []
    lines += [["A", "Q4 2024", "$8"], ["B", "Q4 2024", "$9"], ["C", "Q4 2024", "$4"]]
    [chart] = charts(rows(["Company", "Quarter", "Marketing spend"], *lines))
    assert chart.title == "Marketing spend by company, 2024-Q4 ($)"
    assert [(row.label, row.value) for row in chart.rows] == [("A", 8.0), ("B", 9.0), ("C", 4.0)]


def test_figures_of_several_things_over_time_are_no_line_unless_each_has_its_own():
    lines = [["2021", "Safety", "160"], ["2022", "Diversity", "300"], ["2023", "Leadership", "150"]]
    assert points(rows(["Year", "Course", "People trained"], *lines)) == []
    lines = [[str(year), course, str(year % 7 + len(course))] for year in (2021, 2022, 2023) for course in ("A", "BB")]
    [chart] = charts(rows(["Year", "Course", "People trained"], *lines))
    assert chart.chart_type == "line"
    assert {row.series for row in chart.rows} == {"A", "BB"}
    assert len(chart.rows) == 6


def test_columns_that_are_times_are_a_line_for_each_row_or_pairs_of_bars():
    header = ["Plant", "2021", "2022", "2023"]
    [lines] = charts(rows(header, ["North", "5 t", "6 t", "9 t"], ["South", "4 t", "4 t", "3 t"]), above="Waste burnt")
    assert (lines.chart_type, lines.title) == ("line", "Waste burnt, 2021–2023 (t)")
    assert [row.value for row in lines.rows if row.series == "South"] == [4.0, 4.0, 3.0]
    header = ["类型", "2020年径流控制率（%）", "2025年径流控制率（%）"]
    [bars] = charts(rows(header, ["老城区", "47", "67"], ["新城区", "60", "80"], ["工业区", "52", "73"]))
    assert (bars.chart_type, bars.title) == ("bar", "径流控制率，2020–2025（%）")
    assert {row.series for row in bars.rows} == {"2020", "2025"}


def test_years_and_months_in_two_columns_are_one_time():
    lines = [["2025", "January", "100"], ["2024", "December", "90"], ["2025", "March", "120"]]
    assert points(rows(["Year", "Month", "Staff hours"], *lines)) == [
        [("2024-12", 90.0), ("2025-01", 100.0), ("2025-03", 120.0)]
    ]


def test_two_tables_of_one_measure_are_one_line_where_they_agree_and_two_where_they_do_not():
    header, titles = ["Year", "Number of visitors"], {"a": "Annual report", "b": "City statistics"}
    own = rows(header, ["2021", "500"], ["2022", "700"], ["2023", "900"])
    more = rows(header, ["2022", "700"], ["2023", "900"], ["2024", "950"], document="b")
    [one] = charts([*own, *more], titles=titles)
    assert [(row.label, row.value, row.series) for row in one.rows] == [
        ("2021", 500.0, ""),
        ("2022", 700.0, ""),
        ("2023", 900.0, ""),
        ("2024", 950.0, ""),
    ]
    other = rows(header, ["2021", "450"], ["2022", "700"], ["2023", "800"], document="b")
    [two] = charts([*own, *other], titles=titles)
    assert {row.series: row.value for row in two.rows if row.label == "2021"} == {
        "Annual report": 500.0,
        "City statistics": 450.0,
    }


def test_rows_of_two_tables_make_no_series_together():
    one = rows(["Part", "Cost"], *(line[:2] for line in PARTS[:2]))
    other = rows(["Part", "Cost"], *(line[:2] for line in PARTS[1:]), document="b")
    assert points([*one, *other]) == []


@pytest.mark.parametrize(
    ("sentence", "expected", "title"),
    [
        (
            "The price was €88 in 2021, €103 in 2023 and €120 in 2025.",
            [("2021", 88), ("2023", 103), ("2025", 120)],
            "Price, 2021–2025 (€)",
        ),
        (
            "In 2021 the price was €88, in 2023 €103 and in 2025 €120.",
            [("2021", 88), ("2023", 103), ("2025", 120)],
            "Price, 2021–2025 (€)",
        ),
        (
            "The heat price was €120 per megawatt-hour in 2025, €103 in 2023 and €88 in 2021.",
            [("2021", 88), ("2023", 103), ("2025", 120)],
            "Heat price, 2021–2025 (€ per megawatt-hour)",
        ),
        (
            "2021年投资12亿元，2022年18亿元，2023年25亿元。",
            [("2021", 12e8), ("2022", 18e8), ("2023", 25e8)],
            "投资，2021–2023（元）",
        ),
        (
            "2021年投資12億元，2022年18億元，2023年25億元。",
            [("2021", 12e8), ("2022", 18e8), ("2023", 25e8)],
            "投資，2021–2023（元）",
        ),
        (
            "Network losses fell from 18 % in 2020 to 16 % in 2022 and 13.2 % in 2025.",
            [("2020", 18), ("2022", 16), ("2025", 13.2)],
            "Network losses, 2020–2025 (%)",
        ),
    ],
)
def test_a_sentence_that_goes_through_years_is_a_line(sentence, expected, title):
    evidence = [piece(f"The plant is old. {sentence}")]
    [chart] = charts(evidence)
    assert (chart.chart_type, chart.title) == ("line", title)
    assert [(row.label, row.value) for row in chart.rows] == expected
    assert {row.evidence for row in chart.rows} == {evidence[0].id}


@pytest.mark.parametrize(
    "sentence",
    [
        "The price was €88 in 2021 and €103 in 2023.",
        "The price was €88 in 2021, $103 in 2023 and €120 in 2025.",
        "The price was €88 in 2021, €103 in 2023 and €120.",
        "In 2021 the price was €88, and it was €103 in 2023 and €120 in 2025, if the plan had come true.",
        "There were 5, 6 and 7 in 2021, 2022 and 2023.",
        "The price was €88 in 2021, €103 in 2021 and €120 in 2021.",
        "In 2021 the pumps cost €88 million, in 2022 the tank €12 million, and in 2023 the pipes €5 million.",
        "The price rose by 5 % in 2021, was 7 % of income in 2022 and fell by 3 % in 2023.",
    ],
)
def test_figures_without_a_date_of_their_own_or_of_different_things_make_no_series(sentence):
    assert points([piece(sentence)]) == []


TITLES = {"a": "Engineering note", "b": "Measurements", "c": "Opinion"}
TOLD_TITLES = {
    "en": "Unplanned supply interruptions, 2021–2025",
    "zh": "青岚市居民用水价格，2021–2025（元/立方米）",
    "zh-Hant": "青嵐市居民用水價格，2021–2025（元/立方米）",
}
TOLD = {
    "en": (
        "Halden Heat counted 26 unplanned supply interruptions in 2021 and 41 unplanned supply interruptions in 2024.",
        "Unplanned supply interruptions fell to 17 in 2025, and the average interruption of Halden Heat lasted long.",
        "Unplanned supply interruptions of Halden Heat came to 29 in 2025.",
    ),
    "zh": (
        "青岚市居民用水价格2021年为每立方米2.1元，2024年为2.8元。",
        "2025年，青岚市居民用水价格为每立方米3.0元。",
        "2025年，青岚市居民用水价格为每立方米3.9元。",
    ),
    "zh-Hant": (
        "青嵐市居民用水價格2021年為每立方米2.1元，2024年為2.8元。",
        "2025年，青嵐市居民用水價格為每立方米3.0元。",
        "2025年，青嵐市居民用水價格為每立方米3.9元。",
    ),
}


@pytest.mark.parametrize("language", TOLD)
def test_sentences_of_one_subject_in_two_documents_are_one_line(language):
    first, second, _ = TOLD[language]
    evidence = [piece(first, "a"), piece(second, "b")]
    [chart] = charts(evidence, titles=TITLES)
    assert chart.title == TOLD_TITLES[language]
    assert [(row.label, row.evidence) for row in chart.rows] == [
        ("2021", evidence[0].id),
        ("2024", evidence[0].id),
        ("2025", evidence[1].id),
    ]


@pytest.mark.parametrize("language", TOLD)
def test_sources_that_disagree_are_shown_apart(language):
    [chart] = charts([piece(text, name) for text, name in zip(TOLD[language], "abc", strict=True)], titles=TITLES)
    told = {row.series: row.value for row in chart.rows if row.label == "2025"}
    assert set(told) == {"Measurements", "Opinion"}
    assert len({*told.values()}) == 2


def test_different_things_told_in_the_same_words_make_no_line():
    told = [f"The costs of project {n} came to {7 * n} million euros in 20{20 + n}." for n in (1, 2, 3)]
    assert points([piece(text, text) for text in told]) == []


def test_there_are_few_charts_what_was_asked_first_and_every_table_before_another_of_one():
    columns = [f"Cost {name} (t)" for name in "ABCDEFG"]
    wide = rows(["Part", *columns], *([f"P{n}", *"1379264137"[n : n + 7]] for n in range(4)))
    cost = rows(["Part", "Cost of pumps (€)"], ["Tank", "5"], ["Pumps", "9"], ["Pipes", "7"], document="b")
    found = charts([*wide, *cost], question="What did the pumps cost?")
    assert found[0].title == "Cost of pumps by part (€)"
    assert len(found) == 2


@pytest.mark.parametrize(
    ("question", "count"),
    [("What do visitors think?", 0), ("How did maintenance costs develop?", 1), ("What about servers?", 1)],
)
def test_a_series_that_has_no_word_of_the_question_is_left_out(question, count):
    evidence = rows(["Year", "Maintenance cost"], ["2021", "€5"], ["2022", "€7"], ["2024", "€9"])
    assert len(charts(evidence, question=question, above="Servers_and_networks")) == count


@pytest.mark.parametrize(
    "labels", [("Monday", "Tuesday", "Wednesday"), ("v1.2", "v1.3", "2.0"), ("周一", "周二", "周三")]
)
def test_weekdays_and_versions_are_no_series(labels: tuple[str, ...]):
    evidence = rows(["Name", "Annual cost"], *([label, f"€{at}"] for at, label in enumerate(labels, start=5)))
    assert charts(evidence, question="How did the annual cost develop?") == ()


@pytest.mark.parametrize(("kind", "count"), [("fact", 0), ("yes_no", 0), ("trend", 1), ("list", 1), ("open", 1)])
def test_one_fact_needs_no_chart(kind: QuestionKind, count: int):
    evidence = rows(["Year", "Annual cost"], ["2021", "€5"], ["2022", "€7"], ["2024", "€9"])
    assert len(charts(evidence, question="What did it cost?", kind=kind, section="Findings")) == count


def test_beside_a_short_answer_only_the_table_that_answers_is_drawn():
    cost = rows(["Year", "Annual cost"], ["2021", "€5"], ["2022", "€7"], ["2024", "€9"])
    other = rows(["Year", "Cost of heating"], ["2021", "€3"], ["2022", "€2"], ["2024", "€1"], document="b")
    best = [each.model_copy(update={"score": 2.0}) for each in cost]
    found = charts([*best, *other], question="How did the annual cost develop?", kind="trend", section="Findings")
    assert [chart.rows[0].value for chart in found] == [5]
    assert len(charts([*best, *other], question="How did the annual cost develop?", kind="trend")) == 2


def test_no_evidence_gives_no_chart():
    assert charts([]) == ()


SOLD = [["2020", "91000", "58000"], ["2021", "103000", "71000"], ["2022", "119000", "84000"]]


@pytest.mark.parametrize(
    ("header", "question", "above", "title"),
    [
        (
            ["Year", "Norway", "Sweden"],
            "How did sales develop in Norway and Sweden?",
            "Cars › Sales of electric cars",
            "Sales of electric cars: Norway, Sweden, 2020–2022",
        ),
        (["Year", "Revenue (€)", "Profit (€)"], "Revenue and profit?", "", "Revenue, Profit, 2020–2022 (€)"),
        (["年份", "挪威", "瑞典"], "挪威和瑞典的销量如何变化？", "电动汽车销量", "电动汽车销量：挪威、瑞典，2020–2022"),
        (["年份", "挪威", "瑞典"], "挪威和瑞典的銷量如何變化？", "電動汽車銷量", "電動汽車銷量：挪威、瑞典，2020–2022"),
    ],
)
def test_columns_that_the_question_names_are_lines_of_one_chart(header, question, above, title):
    evidence = rows(header, *SOLD)
    [chart] = charts(evidence, question=question, above=above)
    assert chart.title == title
    names = [_bare(label) for label in header[1:]]
    assert [(row.series, row.label, row.value, row.evidence) for row in chart.rows] == [
        (name, line[0], float(line[at]), row.id)
        for at, name in enumerate(names, start=1)
        for line, row in zip(SOLD, evidence, strict=True)
    ]


def _bare(label: str) -> str:
    return label.partition(" (")[0]


def test_a_column_that_the_question_does_not_name_and_one_of_another_size_stay_out():
    header = ["Year", "Norway", "Sweden"]
    [chart] = charts(rows(header, *SOLD), question="How did sales develop in Sweden?")
    assert {row.value for row in chart.rows} == {58000.0, 71000.0, 84000.0}
    small = [[year, norway, f"{at}.5"] for at, (year, norway, _) in enumerate(SOLD)]
    assert all(
        not row.series for chart in charts(rows(header, *small), question="Norway and Sweden?") for row in chart.rows
    )


def test_whoever_chooses_is_offered_every_column():
    assert [chart.title for chart in charts(rows(["Year", "Norway", "Sweden"], *SOLD))] == [
        "Norway, 2020–2022",
        "Sweden, 2020–2022",
    ]
