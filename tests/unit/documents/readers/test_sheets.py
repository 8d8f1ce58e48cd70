"""Workbooks and tables as text: where tables begin, what cells show, which range a row stands in."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

import pytest

from deep_research.documents.readers import Reading, place_of, read, xlsx
from deep_research.documents.readers.number_format import is_date_format, shown
from deep_research.errors import SourceError
from tests.unit.documents.readers.office_files import change_part, make_xlsx


def cells(reading: Reading) -> list[str]:
    return [place.label for place in reading.places if place.kind == "cells"]


def test_tables_are_found_below_titles_and_away_from_the_corner():
    reading = read(make_xlsx(), name="book.xlsx")
    assert reading.text == (
        "## Costs\n\n### Costs of storage\n\n| Site | Share | Cost |\n| North | 8.0% | $1,234.50 |\n"
        "| 南 | 12.5% | -$20.00 |\n\n"
        "Source: own count.\n\n## Old data\n\n| Year | GWh |\n| 2023 | 21 |"
    )
    assert cells(reading) == [
        *("Costs!B2", "Costs!B3:D3", "Costs!B4:D4", "Costs!B5:D5", "Costs!B6"),
        *("'Old data'!A1:B1", "'Old data'!A2:B2"),
    ]
    assert (reading.title, reading.author) == ("book", "")


def test_a_passage_over_several_rows_gets_their_range():
    reading = read(make_xlsx(), name="book.xlsx")

    def label(first: str, last: str) -> str:
        place = place_of(reading.places, reading.text.index(first), reading.text.index(last) + len(last))
        assert place is not None
        return place.label

    assert label("| North", "| 南") == "Costs!B4:D5"
    assert label("### Costs", "| North") == "Costs!B2:D4"
    assert label("| North", "Source") == "Costs!B4:D6"
    assert label("| 2023", "21 |") == "'Old data'!A2:B2"
    assert label("Source", "| 2023") == "Costs!B6-'Old data'!A2:B2"


def test_blank_rows_part_tables_and_empty_columns_are_dropped():
    def fill(book) -> None:
        for row in (["a", None, "b"], [1, None, 2], [], ["c", "d"], [3, 4]):
            book.active.append(row)

    reading = read(make_xlsx(fill), name="a.xlsx")
    assert reading.text == "## Sheet\n\n| a | b |\n| 1 | 2 |\n\n| c | d |\n| 3 | 4 |"
    assert cells(reading) == ["Sheet!A1:C1", "Sheet!A2:C2", "Sheet!A4:B4", "Sheet!A5:B5"]


def test_a_header_of_two_rows_is_joined():
    def fill(book) -> None:
        for row in (["Site", 2023, None, 2024], [None, "GWh", "Share", "GWh"], ["North", 21, 0.5, 35]):
            book.active.append(row)

    reading = read(make_xlsx(fill), name="a.xlsx")
    assert reading.text.endswith("| Site | 2023 – GWh | 2023 – Share | 2024 – GWh |\n| North | 21 | 0.5 | 35 |")
    assert cells(reading)[0] == "Sheet!A1:D2"


def test_a_second_row_of_words_under_a_full_header_is_a_row():
    def fill(book) -> None:
        for row in (["Site", "Unit"], ["North", "GWh"], ["South", 5]):
            book.active.append(row)

    assert "| Site | Unit |\n| North | GWh |" in read(make_xlsx(fill), name="a.xlsx").text


def test_errors_are_dropped_and_truth_values_and_dates_are_shown():
    def fill(book) -> None:
        book.active.append(["Day", "Open", "Value"])
        book.active.append([datetime(2024, 5, 6), True, "#DIV/0!"])  # noqa: DTZ001 - a sheet's dates have no zone
        book.active["C2"].data_type = "e"

    assert read(make_xlsx(fill), name="a.xlsx").text.endswith("| Day | Open | Value |\n| 2024-05-06 | TRUE |  |")


def test_hidden_sheets_and_formulas_without_a_value_are_remarked():
    def fill(book) -> None:
        book.active.append(["a", "b"])
        book.active.append([1, "=A2*2"])
        hidden = book.create_sheet("Secret")
        hidden.append(["c", 3])
        hidden.sheet_state = "hidden"

    reading = read(make_xlsx(fill), name="a.xlsx")
    assert "| c | 3 |" in reading.text
    assert reading.warnings == (
        "the hidden sheet 'Secret' was read too",
        "1 formulas have no stored value; open the file in Excel and save it to count them",
    )


def test_what_a_workbook_says_about_itself_is_kept():
    def fill(book) -> None:
        book.active.append(["a", 1])
        book.properties.title, book.properties.creator = "Costs 2024", "李安"
        book.properties.modified = datetime(2024, 5, 6, tzinfo=UTC)

    reading = read(make_xlsx(fill), name="a.xlsx")
    assert (reading.title, reading.author) == ("Costs 2024", "李安")


def test_a_stated_size_of_a_whole_sheet_is_not_believed():
    def lie(xml: bytes) -> bytes:
        far = b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'
        return xml.replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"').replace(b"</sheetData>", far)

    raw = make_xlsx(lambda book: [book.active.append(row) for row in (["a", "b"], [1, 2])])
    reading = read(change_part(raw, "xl/worksheets/sheet1.xml", lie), name="a.xlsx")
    assert reading.text == "## Sheet\n\n| a | b |\n| 1 | 2 |"
    assert reading.warnings == ("only the first 20000 rows of the sheet 'Sheet' were read",)


def test_wide_and_long_sheets_are_cut_with_a_remark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.xlsx.MAX_ROWS", 5)
    monkeypatch.setattr("deep_research.documents.readers.xlsx.MAX_COLUMNS", 3)
    reading = xlsx.read(make_xlsx(lambda book: [book.active.append(list("abcd")) for _ in range(6)]), "a.xlsx")
    assert reading.text == "## Sheet\n\n" + "\n".join(["| a | b | c |"] * 5)
    assert reading.warnings == (
        "only the first 5 rows of the sheet 'Sheet' were read",
        "only the first 3 columns of the sheet 'Sheet' were read",
    )


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.08, "0%", "8%"),
        (0.125, "0.0%", "12.5%"),
        (1234567.891, "$#,##0.00", "$1,234,567.89"),
        (-5, "$#,##0.00", "-$5.00"),
        (-5, "#,##0_);[Red](#,##0)", "-5"),
        (-5, "+0;-0", "-5"),
        (5, "+0;-0", "+5"),
        (0, '0;-0;"none"', "none"),
        (1.2, "$#,##0.0M", "$1.2M"),
        (1_200_000, '$#,##0.0,,"M"', "$1.2M"),
        (1_200, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "1.2K"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (3, '0" 万元"', "3 万元"),
        (2.5, "0", "3"),
        (0.5, "#.##", ".5"),
        (12, "00000", "00012"),
        (12345.678, "0.00E+00", "1.23E+4"),
        (0.5, "# ?/?", "0.5"),
        (0.1 + 0.2, "General", "0.3"),
        (35.0, "General", "35"),
        (1e300, "0.00", "1e+300"),
        (float("nan"), "0", ""),
        (45_418, "yyyy-mm-dd", "2024-05-06"),
        (True, "General", "TRUE"),
        (datetime(2024, 5, 6), "m/d/yy", "2024-05-06"),  # noqa: DTZ001 - a sheet's dates have no zone
        (datetime(2024, 5, 6, 9, 30), "d.m.yyyy h:mm", "2024-05-06 09:30"),  # noqa: DTZ001 - as above
        (datetime(2024, 5, 1), "mmm-yy", "2024-05"),  # noqa: DTZ001 - as above
        (datetime(2024, 5, 1), 'yyyy"年"m"月"', "2024-05"),  # noqa: DTZ001 - as above
        (datetime(2024, 5, 1), "yyyy", "2024"),  # noqa: DTZ001 - as above
        (time(9, 30), "h:mm", "09:30"),
        (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        (None, "0", ""),
    ],
)
def test_values_are_given_as_a_person_sees_them(value: object, number_format: str, text: str):
    assert shown(value, number_format) == text


def test_a_letter_behind_digits_is_no_month():
    assert not any(map(is_date_format, ("$#,##0.0M", "General", "0.00", '0 "days"', "[Red]0")))
    assert all(map(is_date_format, ("mmm-yy", "[$-409]d-mmm", "[h]:mm:ss", "mm:ss.0", 'yyyy"年"')))


def test_a_million_format_that_excel_packages_take_for_a_month_shows_its_figure():
    def fill(book) -> None:
        for row in (["Quarter", "Amount"], ["Q3", 1.2], ["Q4", 0.6]):
            book.active.append(row)
        book.active["B2"].number_format = book.active["B3"].number_format = "$#,##0.0M"

    assert read(make_xlsx(fill), name="a.xlsx").text.endswith("| Q3 | $1.2M |\n| Q4 | $0.6M |")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((12, 8, 0, 91.67), ("12.0%", "8.0%", "0.0%", "91.7%")),
        ((12, 8, 0.5), ("1200.0%", "800.0%", "50.0%")),
        ((12, 8), ("1200.0%", "800.0%")),
        ((1, 2, 1), ("100.0%", "200.0%", "100.0%")),
        ((1200, 8, 5), ("120000.0%", "800.0%", "500.0%")),
    ],
)
def test_percentages_filled_in_as_whole_numbers_are_mended_with_a_remark(values, texts):
    def fill(book) -> None:
        for row, cells in enumerate((("Site", "Share"), *(("North", value) for value in values)), start=1):
            book.active.append(cells)
            book.active.cell(row, 2).number_format = "0.0%"

    reading = read(make_xlsx(fill), name="a.xlsx")
    assert [line.split(" | ")[1].removesuffix(" |") for line in reading.text.split("\n")[3:]] == list(texts)
    assert bool(reading.warnings) == (texts[0] == "12.0%")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str):
    rows = (("Name", "Note"), ("A", '"x\ny"'), ("B", '"1,5; ""q"""'))
    raw = "\n".join(delimiter.join(row) for row in rows).encode()
    reading = read(raw, name="a.csv")
    assert reading.text == '| Name | Note |\n| A | x y |\n| B | 1,5; "q" |'
    assert cells(reading) == ["A1:B1", "A2:B2", "A3:B3"]


def test_a_stated_delimiter_is_used_and_is_no_row():
    reading = read(b"sep=;\r\na;b,c\r\n1;2,5\r\n", name="a.csv")
    assert reading.text == "| a | b,c |\n| 1 | 2,5 |"
    assert cells(reading)[0] == "A1:B1"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("名称,数量\n电池的成本,35\n在这一年,12\n", "gb18030"),
        ("名稱,數量\n電池的成本,35\n在這一年,12\n", "big5"),
        ("名称,数量\n电池,35\n", "utf-8-sig"),
        ("名称,数量\n电池,35\n", "utf-16"),
        ("名称,数量\n电池,35\n", "utf-32"),
    ],
)
def test_tables_in_any_encoding_are_read(text: str, encoding: str):
    lines = read(text.encode(encoding), name="a.csv").text.split("\n")
    assert lines[0] == "| " + text.split("\n")[0].replace(",", " | ") + " |"


def test_titles_above_and_remarks_below_a_table_are_no_rows():
    reading = read(b"Report 2024\n\nCosts\nSite,GWh\nNorth,35\nSource: own.\n", name="a.csv")
    assert reading.text == "Report 2024\n\n### Costs\n\n| Site | GWh |\n| North | 35 |\n\nSource: own."


def test_long_and_wide_tables_are_cut_with_a_remark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deep_research.documents.readers.csv.MAX_ROWS", 3)
    monkeypatch.setattr("deep_research.documents.readers.csv.MAX_COLUMNS", 2)
    reading = read(b"a,b,c\n" * 4, name="a.csv")
    assert reading.text == "\n".join(["| a | b |"] * 3)
    assert reading.warnings == (
        "only the first 3 rows were read; split the file into smaller ones",
        "only the first 2 columns were read",
    )


@pytest.mark.parametrize("raw", [b'a,b\n1,"' + b"x" * 500_000, b"x" * 500_000 + b",2\n"])
def test_an_endless_field_is_refused(raw: bytes):
    with pytest.raises(SourceError, match=r"'a\.csv' cannot be read as a table"):
        read(raw, name="a.csv")


def test_a_workbook_named_as_text_is_read_as_what_it_is():
    reading = read(make_xlsx(), name="book.csv")
    assert reading.extractor.startswith("xlsx/")
    assert reading.warnings[0] == "named like csv, but it holds xlsx and was read as that"


def sheet(*rows: Sequence[object]) -> Reading:
    def fill(book) -> None:
        for row in rows:
            book.active.append(row)

    return read(make_xlsx(fill), name="a.xlsx")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [
                ["Period", "Completed", "Status"],
                ["The quarter that is reported.", "Share of the staff who finished", "Met or not yet"],
                *([f"Q{n} 2023", "78.0%", "Met"] for n in range(1, 4)),
            ],
            "Period: The quarter that is reported; Completed: Share of the staff who finished; Status: Met or not yet",
        ),
        (
            [
                ["时期", "完成率", "状态"],
                ["所报告的季度", "完成课程的员工所占的比例。", "是否达到了目标"],
                *([f"2023年{n}季度", "78.0%", "达标"] for n in range(1, 4)),
            ],
            "时期: 所报告的季度; 完成率: 完成课程的员工所占的比例; 状态: 是否达到了目标",
        ),
        (
            [
                ["品名", "批发價"],
                ["說明：批發價指滿50公斤的含稅出庫價，以合同為準。"],
                ["綠茶", 120],
                ["紅茶", 95],
            ],
            "說明：批發價指滿50公斤的含稅出庫價，以合同為準。",
        ),
    ],
)
def test_a_row_that_explains_the_columns_is_neither_a_row_nor_a_header(rows, told: str):
    reading = sheet(*rows)
    header, *body = ["| " + " | ".join(map(str, row)) + " |" for row in (rows[0], *rows[2:])]
    assert reading.text == "\n".join(["## Sheet", "", told, "", header, *body])
    place = place_of(reading.places, reading.text.index(told), reading.text.index(told) + len(told))
    assert place is not None
    assert place.label.endswith("2")


def test_a_first_row_of_long_words_is_a_row():
    rows: list[list[object]] = [
        ["Site", "Cost", "Why"],
        ["Upper Harbour Bridge", 12, "The old one was too low for ships"],
        ["Lee", 3, "Rust"],
    ]
    assert "| Upper Harbour Bridge | 12 | The old one was too low for ships |" in sheet(*rows).text


def test_prose_above_a_table_is_a_paragraph():
    remark = "All amounts are in thousands of pounds and without tax."
    reading = sheet(["Costs 2024"], [remark], ["Site", "Cost"], ["North", 12], ["South", 7])
    assert reading.text == f"## Sheet\n\n### Costs 2024\n\n{remark}\n\n| Site | Cost |\n| North | 12 |\n| South | 7 |"


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["2023", None, "All", None], ["GWh", "%", "GWh", "%"]], "2023 – GWh | 2023 – % | All – GWh | All – %"),
        ([["厂区", "产量", None, "合计"], [None, "上", "下半年", None]], "厂区 | 产量 – 上 | 产量 – 下半年 | 合计"),
        ([["Site", "Power", "Cost", "Start"], [None, "MW", "(£m)", None]], "Site | Power (MW) | Cost (£m) | Start"),
    ],
)  # fmt: skip
def test_two_header_rows_name_a_column_together(rows, header: str):
    assert sheet(*rows, [1.5, 2.5, 3.5, 4.5], [2.5, 3.5, 4.5, 5.5]).text.startswith(
        f"## Sheet\n\n| {header} |\n| 1.5 |"
    )


def test_columns_without_names_are_named_by_their_letters():
    reading = sheet(["Lee", 12, "2024-01-02"], ["Moor", 9, "2024-02-02"], ["Harbour", 3, "2024-03-02"])
    assert reading.text.startswith("## Sheet\n\n| A | B | C |\n| Lee | 12 | 2024-01-02 |\n| Moor | 9 |")
    assert cells(reading) == ["Sheet!A1:C1", "Sheet!A2:C2", "Sheet!A3:C3"]
    assert read(b"1;2\n3;4\n5;6\n", name="a.csv").text == "| A | B |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |"


def test_one_column_is_a_list_and_an_empty_sheet_is_nothing():
    def fill(book) -> None:
        people = book.create_sheet("People")
        for name in ("Members", "Ann Lee", "李安"):
            people.append([name])

    assert read(make_xlsx(fill), name="a.xlsx").text == "## People\n\n- Members\n- Ann Lee\n- 李安"
    with pytest.raises(SourceError, match="holds no text"):
        read(make_xlsx(lambda book: None), name="a.xlsx")


def test_a_table_of_ten_thousand_rows_is_read_whole():
    lines = [f"P-{n:05d},泵 {n % 97},{n * 7}" for n in range(10_000)]
    reading = read("\n".join(["Part,Name,Pieces", *lines]).encode(), name="stock.csv")
    assert reading.warnings == ()
    assert reading.text.count("\n") == 10_000
    assert "| P-09999 | 泵 8 | 69993 |" in reading.text
