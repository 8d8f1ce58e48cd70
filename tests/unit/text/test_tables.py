import pytest

from deep_research.text.tables import find_tables, is_label


def test_a_run_of_rows_is_a_table_and_offsets_point_into_the_text():
    text = "Intro.\n\n| Year | GWh |\n| 2023 | 21 |\n| 2024 | 35 |\n\nAfter | this."
    (table,) = find_tables(text)
    assert table.header is not None
    assert table.header.cells == ("Year", "GWh")
    assert [row.cells for row in table.rows] == [("2023", "21"), ("2024", "35")]
    assert text[table.start : table.end] == "| Year | GWh |\n| 2023 | 21 |\n| 2024 | 35 |"
    assert text[table.rows[1].start : table.rows[1].end] == "| 2024 | 35 |"


def test_a_markdown_rule_marks_the_header_and_is_no_row():
    (table,) = find_tables("| 1 | 2 |\n|:---|---:|\n| a | b |\n")
    assert table.header is not None
    assert table.header.cells == ("1", "2")
    assert [row.cells for row in table.rows] == [("a", "b")]


def test_blank_lines_and_prose_part_tables():
    tables = find_tables("| a | 1 |\n\n| b | 2 |\ntext\n| c | 3 |")
    assert [[row.cells for row in table.rows] for table in tables] == [[("a", "1")], [("b", "2")], [("c", "3")]]


def test_columns_named_by_years_and_quarters_have_a_header():
    for head in (
        "| 项目 | 2023年 | 2024年 |",
        "| Item | FY24 | Q1 2025 |",
        "| | 2023/24 | 1Q24 |",
        "| Plant 3 | CO2 (kt) |",
    ):
        (table,) = find_tables(f"{head}\n| Costs | 1,200 | 8% |\n| Sales | 3.5 | 9% |")
        assert table.header is not None, head


@pytest.mark.parametrize("rule", ["", "|---|---|---|\n"])
@pytest.mark.parametrize("title", ["| Table 1. Cars sold |  |  |", "| 表1 各国汽车销量 |", "| Cars | | |\n| in 1000 |"])
def test_a_title_above_the_columns_is_no_header(title: str, rule: str):
    text = f"{title}\n{rule}| Year | Norway | Sweden |\n| 2020 | 91 | 58 |\n| 2021 | 103 | 71 |"
    (table,) = find_tables(text)
    assert table.header is not None
    assert table.header.cells == ("Year", "Norway", "Sweden")
    assert [row.cells for row in table.rows] == [("2020", "91", "58"), ("2021", "103", "71")]
    assert text[table.start :].startswith(title)


def test_a_header_over_the_second_column_alone_stays_one():
    (table,) = find_tables("| | Founded |\n|---|---|\n| Alpha | unknown |\n| Beta | 1999 |\n| Gamma | 2001 |")
    assert table.header is not None
    assert table.header.cells == ("", "Founded")
    assert len(table.rows) == 3


def test_a_first_row_with_figures_is_no_header():
    for first in ("| Costs | 1,200 |", "| Share | 8% |", "| Total | $3.5M |", "| 2023 | 21 |"):
        (table,) = find_tables(f"{first}\n| Sales | 3.5 |")
        assert table.header is None, first
        assert len(table.rows) == 2


def test_words_over_a_column_of_dates_are_a_header_and_words_over_words_are_not():
    (dated,) = find_tables("| Task | Date |\n| Audit | 2024-05-06 |\n| Review | 2024-07-01 |")
    assert dated.header is not None
    (words,) = find_tables("| Author | Ann Lee |\n| Editor | Li An |")
    assert words.header is None


def test_empty_cells_keep_their_column_and_escaped_bars_stay_in_the_cell():
    (table,) = find_tables("| 1 |  | c \\| d |\n| | 2 | 3 |")
    assert [row.cells for row in table.rows] == [("1", "", "c | d"), ("", "2", "3")]


def test_what_is_no_table_gives_none():
    assert find_tables("") == ()
    assert find_tables("a | b\n|---|---|\n") == ()
    assert find_tables("Prose with a bar | in it.") == ()


def test_labels_and_figures_are_told_apart():
    assert all(
        map(is_label, ("Revenue ($M)", "2024", "Q3 2024", "FY2024", "H1", "PM2.5", "Region 12", "第三季度", "5月", ""))
    )
    assert not any(map(is_label, ("35", "8%", "$1.2M", "1,200", "2,024", "3.5 GWh", "-4", "20240506")))


def test_a_unit_in_brackets_and_a_table_of_words_have_a_header_too():
    [priced] = find_tables("| 品名 | 零售价（元/250克） |\n| 春茶 | 41 |\n")
    assert priced.header is not None
    [words] = find_tables("| Desk | In charge | Substitute |\n| Sea | Vos | Idris |\n| Road | Osgood | Menon |\n")
    assert words.header is not None
    assert words.header.cells == ("Desk", "In charge", "Substitute")
