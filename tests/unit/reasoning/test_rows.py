"""A table row from the source to the report: its labels found again, accepted by the check, shown with a marker."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deep_research.reasoning.rules.quoting.drafting import paragraphs_of, row_of
from deep_research.reasoning.rules.quoting.units import pairs
from deep_research.report.citation import Citations
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render
from deep_research.report.paragraph import Paragraph
from deep_research.text.messages.words import words_in
from deep_research.text.tables import find_tables
from deep_research.verify.row import check_cells
from tests.unit.reasoning.pieces import piece, rows_of, table

WORDS = st.text("abcXYZ 0123456789.,:;%€()/-_青岚市萬é", min_size=1, max_size=12).map(str.strip).filter(
    lambda cell: any(letter.isalnum() for letter in cell)
)  # fmt: skip
CELLS = WORDS | st.sampled_from(["Cost: EUR", "a; b: c", "5", "55", "; ", ": 5", "11.7", "", "n/a"])


def shown(paragraph: Paragraph, language: str = "en") -> list[str]:
    """Return the lines of a report that show a paragraph; the marker of any evidence is [1]."""
    report = ReportLayout(title="T", chapters=(Chapter(title="C", paragraphs=(paragraph,)),), run_line="x")
    text = render(report, Citations(), number_of=lambda _: 1, words=words_in("zh-Hans" if language == "zh" else "en"))
    return text.split("## C\n\n")[1].split("\n\n")[0].splitlines()


def check(text: str) -> None:
    """Hold that each row of a text's tables is told with its own labels and passes the check."""
    found = rows_of(text)
    lines = [(found_in.header, line) for found_in in find_tables(text) if found_in.header for line in found_in.rows]
    for (row, header), (names, line) in zip(found, lines, strict=True):
        told = row_of(row)
        assert list(told.cells) == pairs(names.cells, line.cells)
        assert told.text == row.finding.replace("\u2009", " ")
        assert told.evidence == (row.id, header.id)
        assert check_cells(told, (row, header)).kind == "supported"


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (["Part", "Cost (EUR million)", "Year"], ["Tank", "11.7", "2024"]),
        (["", "2024", "2025"], ["Tank", "5", "6"]),
        (["Part", "A", "B", "C"], ["Tank", "5", "5", "5"]),
        (["Part", "A", "B"], ["Tank", "55", "5"]),
        (["Part", "A", "B"], ["Tank", "5", "55"]),
        (["Part", "Cost: EUR", "Note"], ["Tank: big", "5; 6", "a: b; c: d"]),
        (["Part", "Cost", "Year"], ["Tank", "", "2024"]),
        (["Part", "total_cost", "unit_price"], ["Tank", "5", "6"]),
        (["名称", "容积（万吨）", "年份"], ["东渡调蓄池", "9.0", "2024年"]),
        (["名稱", "容積：萬噸", "年份"], ["東渡調蓄池", "9.0；9.5", "2024年"]),
        ([f"c{at}" for at in range(12)], [f"v{at}" for at in range(12)]),
        (["Part", "Note", "Cost"], ["Tank", "word " * 60 + "5", "5"]),
    ],
)
def test_a_row_is_told_with_its_own_labels(header, line):
    check(table(header, line))


@given(columns=st.integers(2, 9), data=st.data())
def test_any_row_is_told_with_its_own_labels(columns, data):
    # Cells that stand in their header are the matter of the next test.
    names = data.draw(
        st.lists(WORDS.filter(lambda name: ":" not in name), min_size=columns, max_size=columns, unique=True)
    )
    lines = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=3))
    assume(
        all(line[0].strip() and not names[0].replace("_", " ").strip().startswith(line[0].strip()) for line in lines)
    )
    # What the check does not tell apart cannot be shown under one name.
    assume(len({"".join(filter(str.isalnum, name)) for name in names}) == columns)
    check(table(names, *lines))


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (["Part", "Cost"], ["Part", "5"]),
        (["名称", "容积"], ["名称", "9.0万吨"]),
        (["Store size", "Cost"], ["Store", "5"]),
        (["Part", "Scenario: 5 MW"], ["Tank", "5"]),
    ],
)
def test_a_cell_may_stand_in_its_label(header, line):
    check(table(header, line))


def test_a_cell_without_a_label_takes_no_other_cell_s_place():
    check(table(["Part", "", "Year", "Cost"], ["Tank", "5", "2024", "5"]))


def test_a_cell_may_hold_an_escaped_stroke():
    check(table(["Part", "Note", "Cost"], ["Tank", r"wide\|long", "5"]))


def test_two_columns_may_have_no_name():
    check(table(["", "2024", ""], ["Tank", "5", "a note"]))


@given(count=st.integers(2, 6), cells=st.lists(WORDS, min_size=3, max_size=3), language=st.sampled_from(["en", "zh"]))
def test_rows_are_shown_as_a_table_and_each_ends_in_its_marker(count, cells, language):
    text = table(["Part", "Cost", "Year"], *([f"Tank {at}", *cells[1:]] for at in range(count)))
    [paragraph] = paragraphs_of("s", [row for row, _ in rows_of(text)])
    head, rule, *lines = shown(paragraph, language)
    assert paragraph.kind == "table"
    assert len(lines) == count
    assert set(rule) <= set("|- ")
    for line in (head, *lines):
        assert line.startswith("| ")
        assert line.count("|") == head.count("|")
    assert all(line.endswith("| [1] |") for line in lines)
    assert [f"Tank {at}" in line for at, line in enumerate(lines)] == [True] * count


def test_rows_of_one_kind_keep_their_columns_and_a_single_one_is_a_line():
    many = table(["Part", "Cost", "Year"], *(["Tank", str(at), "2024"] for at in range(5, 8)))
    few = table(["Pump", "Power", "Maker"], ["North", "5 MW", "Hermann"])
    rows = [row for row, _ in (*rows_of(few, "b"), *rows_of(many, "a"))]
    own, single = paragraphs_of("s", rows)
    assert shown(own)[0] == "| Part | Cost | Year | Source |"
    assert shown(own)[2] == "| Tank | 5 | 2024 | [1] |"
    assert shown(single) == ["Pump: North; Power: 5 MW; Maker: Hermann [1]"]


def test_rows_stand_below_prose_in_the_order_of_their_document():
    text = table(["Part", "Cost", "Year"], ["Tank", "5", "2024"], ["Pump", "6", "2024"], ["Pipe", "7", "2025"])
    rows = [row for row, _ in rows_of(text)]
    prose = piece("The retrofit cost €146 million.", "z")
    first, second = paragraphs_of("s", [*rows[::-1], prose])
    assert (first.kind, second.kind) == ("claim", "table")
    assert [sentence.cells[0][1] for sentence in second.sentences] == ["Tank", "Pump", "Pipe"]


def test_rows_of_two_tables_with_the_same_columns_are_not_mixed():
    one, other = (table(["Part", "Cost", "Year"], *([name, str(at), "2024"] for at in range(3))) for name in "AB")
    rows = [row for document, text in (("a", one), ("b", other)) for row, _ in rows_of(text, document)]
    tables = paragraphs_of("s", rows)
    assert [{sentence.cells[0][1] for sentence in paragraph.sentences} for paragraph in tables] == [{"A"}, {"B"}]
