"""A row of a source is accepted with all or some of its columns; a row that says anything else is not."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, row
from deep_research.text.tables import TableRow, find_tables
from deep_research.verify.quote import words_of
from deep_research.verify.row import check_cells, check_row
from tests.unit.verify.corruptions import CORRUPTIONS
from tests.unit.verify.test_corruption import TEXTS

HEADER, LINE = "| Part | Cost (EUR million) | Share | Year |", "| Tank | 11.7 | 8 % | 2024 |"
REAL = [(table.header, table.rows) for text in TEXTS for table in find_tables(text) if table.header]
Cells = list[tuple[str, str]]


def piece(id_: str, quote: str, start: int, document: str = "d") -> Evidence:
    return Evidence(id=id_, document=document, start=start, end=start + len(quote), quote=quote, finding="", section="")


def is_held(cells: Cells, header: str = HEADER, line: str = LINE) -> bool:
    return check_row(cells, header, line)


def piped(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def pairs_of(header: TableRow, line: TableRow) -> Cells:
    return [(label, value) for label, value in zip(header.cells, line.cells, strict=True) if value]


@pytest.mark.parametrize(
    "cells",
    [
        [("Part", "Tank"), ("Cost (EUR million)", "11.7"), ("Share", "8 %"), ("Year", "2024")],
        [("Part", "Tank"), ("Year", "2024")],
        [("Part", "Tank"), ("Share", "8%")],
        [("Part", "Tank")],
    ],
)
def test_row_may_leave_columns_out_but_not_its_label(cells):
    assert is_held(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [("Cost (EUR million)", "11.7")],
        [("Part", "Pump"), ("Cost (EUR million)", "11.7")],
        [("Part", "Tank"), ("Cost (EUR million)", "8 %"), ("Share", "11.7")],
        [("Part", "Tank"), ("Share", "8 %"), ("Cost (EUR million)", "11.7")],
        [("Part", "Tank"), ("Share", "11.7"), ("Cost (EUR million)", "8 %")],
        [("Part", "Tank"), ("Cost (USD million)", "11.7")],
        [("Part", "Tank"), ("Cost", "11.7")],
        [("Part", "Tank"), ("Cost (EUR million)", "11.70")],
        [("Part", "Tank"), ("Cost (EUR million)", "-11.7")],
        [("Part", "Tank"), ("Cost (EUR million)", "117")],
        [("Part", "Tank"), ("Cost (EUR million)", "11.7 in 2024")],
        [("Part", "Tank"), ("Cost (EUR million)", "")],
        [("Part", "Tank"), ("Colour", "")],
        [("Part", "Tank"), ("Colour", "green")],
        [("Part", "Tank"), ("Part", "Tank")],
        [("", "Tank"), ("Year", "2024")],
        [],
    ],
)
def test_row_with_other_cells_is_refused(cells):
    assert not is_held(cells)


def test_typography_does_not_matter_but_figures_do():
    header, line = "| 名称 | 容积（万m³） | total_cost |", "| “东渡”调蓄池 | 9.0–9.5 | 10² |"
    assert is_held([("名称", '"东渡"调蓄池'), ("容积(万m³)", "9.0-9.5"), ("total cost", "10²")], header, line)
    assert not is_held([("名称", '"东渡"调蓄池'), ("total cost", "102")], header, line)
    assert not is_held([("名称", '"东渡"调蓄池'), ("容积(万m3)", "9.0-9.5")], header, line)


def test_columns_of_one_name_are_shown_together_or_not_at_all():
    header, line = "| Part | 2024 | 2025 | 2024 |", "| Tank | 5 | 6 | 7 |"
    assert is_held([("Part", "Tank"), ("2024", "5"), ("2025", "6"), ("2024", "7")], header, line)
    assert is_held([("Part", "Tank"), ("2025", "6")], header, line)
    assert not is_held([("Part", "Tank"), ("2024", "5")], header, line)
    assert not is_held([("Part", "Tank"), ("2024", "7"), ("2024", "5")], header, line)


def test_label_may_stand_under_an_empty_header():
    header, line = "| | 2024 | 2025 |", "| Tank | 5 | |"
    assert is_held([("", "Tank"), ("2024", "5")], header, line)
    assert not is_held([("2024", "5")], header, line)
    assert not is_held([("", "Tank"), ("2025", "5")], header, line)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("| Part | Cost |", "| Tank | 5 | 6 |"),
        ("| Part | Cost | Share |", "| Tank | 5 |"),
        ("| --- | --- |", "| Tank | 5 |"),
        ("", "| Tank | 5 |"),
        ("| Part | Cost |", ""),
        ("Part, Cost", "Tank, 5"),
        ("| Part | Cost |\n| Pump | 6 |", "| Tank | 5 |"),
        ("| Part | Cost |", "| Tank | 5 |\n| Pump | 6 |"),
    ],
)
def test_merged_cells_and_what_is_no_single_line_carry_nothing(header, line):
    assert not is_held([("Part", "Tank"), ("Cost", "5")], header, line)


def test_verdict_names_the_row_and_needs_its_header_above_it_in_the_same_document():
    told = row((("Part", "Tank"), ("Year", "2024")), ("h", "r"))
    header, line = piece("h", HEADER, 10), piece("r", LINE, 200)
    verdict = check_cells(told, (line, header))
    assert (verdict.kind, verdict.evidence, verdict.start, verdict.end) == ("supported", "r", 200, 200 + len(LINE))
    for passages in ((line,), (header,), (piece("h", HEADER, 300), line), (piece("h", HEADER, 10, "other"), line), ()):
        assert check_cells(told, passages).kind == "not_found"


def test_text_that_tells_something_else_than_the_cells_is_refused():
    told = row((("Part", "Tank"), ("Year", "2024")), ("h", "r"))
    passages = (piece("h", HEADER, 10), piece("r", LINE, 200))
    assert check_cells(told.model_copy(update={"text": "Part: Tank; Year: 2025"}), passages).kind == "not_found"
    assert check_cells(Sentence(text="x", evidence=("h", "r")), passages).kind == "not_found"


def test_there_are_real_tables_to_judge_by():
    assert len(REAL) > 5
    assert any(not label.isascii() for header, _ in REAL for label in header.cells)


@given(data=st.data())
def test_any_columns_of_a_real_row_are_accepted(data):
    header, rows = data.draw(st.sampled_from(REAL))
    line = data.draw(st.sampled_from(rows))
    cells = pairs_of(header, line)
    shown = [cell for cell in cells[1:] if data.draw(st.booleans())]
    assert is_held([cells[0], *shown], piped(header.cells), piped(line.cells))


@given(data=st.data())
def test_no_corrupted_real_row_is_accepted(data):
    header, rows = data.draw(st.sampled_from(REAL))
    line = data.draw(st.sampled_from(rows))
    cells = pairs_of(header, line)
    corrupt = data.draw(st.sampled_from([swap_values, swap_labels, take_from_another_row, change_text, reorder, move]))
    said = corrupt(cells, [pairs_of(header, other) for other in rows], data.draw)
    assume(words_in(said) != words_in(cells))
    assert not is_held(said, piped(header.cells), piped(line.cells))


def words_in(cells: Cells) -> list:
    return [(words_of(label), words_of(value)) for label, value in cells]


def two_of(cells: Cells, draw) -> tuple[int, int]:
    first, second = draw(st.lists(st.sampled_from(range(len(cells))), min_size=2, max_size=2, unique=True))
    return first, second


def swap_values(cells: Cells, rows: list[Cells], draw) -> Cells:
    one, two = two_of(cells, draw)
    said = list(cells)
    said[one], said[two] = (cells[one][0], cells[two][1]), (cells[two][0], cells[one][1])
    return said


def swap_labels(cells: Cells, rows: list[Cells], draw) -> Cells:
    one, two = two_of(cells, draw)
    said = list(cells)
    said[one], said[two] = (cells[two][0], cells[one][1]), (cells[one][0], cells[two][1])
    return said


def take_from_another_row(cells: Cells, rows: list[Cells], draw) -> Cells:
    other = dict(draw(st.sampled_from(rows)))
    at = draw(st.sampled_from(range(len(cells))))
    label, value = cells[at]
    return [*cells[:at], (label, other.get(label, value)), *cells[at + 1 :]]


def change_text(cells: Cells, rows: list[Cells], draw) -> Cells:
    """Change one cell or label as a sentence is changed."""
    at, is_label = draw(st.sampled_from(range(len(cells)))), draw(st.booleans())
    text = cells[at][0 if is_label else 1]
    changed = [said for kind in sorted(CORRUPTIONS) for said, held in CORRUPTIONS[kind](text, text) if held == text]
    said = draw(st.sampled_from(changed)) if changed else text
    return [*cells[:at], (said, cells[at][1]) if is_label else (cells[at][0], said), *cells[at + 1 :]]


def reorder(cells: Cells, rows: list[Cells], draw) -> Cells:
    return draw(st.permutations(cells))


def move(cells: Cells, rows: list[Cells], draw) -> Cells:
    """Put every value under the next label."""
    return [(label, cells[at - 1][1]) for at, (label, _) in enumerate(cells)]
