"""Cells of a sheet → text: where tables begin, their header rows, titles above and remarks below them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from deep_research.readers.blocks import BlockText, looks_like_title
from deep_research.text.tables import is_label

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
# A table with more cells is not filled up with empty ones: one wide row would make thousands of short ones as wide.
_MAX_FILLED_UP = 200_000


class Row(NamedTuple):
    """The cells of one row as they are shown, from the first column on, and the row's number in the sheet."""

    number: int
    cells: tuple[str, ...]


def add_grid(rows: Iterable[Row], blocks: BlockText, sheet: str) -> None:
    """Add the tables of a sheet; rows without a value keep them apart."""
    for is_filled, region in groupby(rows, key=lambda row: any(row.cells)):
        if is_filled:
            _add_region(list(region), blocks, sheet)


def _add_region(rows: Sequence[Row], blocks: BlockText, sheet: str) -> None:
    """Add rows that stand together: lone cells above and below a table are its title and remarks."""
    above = len(list(takewhile(_is_lone, rows)))
    below = len(rows) - len(list(takewhile(_is_lone, reversed(rows))))
    table = rows[above:below] if above < below else ()
    for row in rows[:above]:
        _add_lone(row, blocks, sheet, is_title=bool(table))
    if table:
        _add_table(table, blocks, sheet)
    for row in rows[max(above, below) :]:
        _add_lone(row, blocks, sheet)


def _is_lone(row: Row) -> bool:
    return sum(map(bool, row.cells)) == 1


def _add_lone(row: Row, blocks: BlockText, sheet: str, *, is_title: bool = False) -> None:
    column = next(index for index, cell in enumerate(row.cells) if cell)
    blocks.begin_place("cells", _range(sheet, row.number, row.number, [column]))
    text = row.cells[column]
    if is_title and looks_like_title(text):
        blocks.heading(text, 3)
    else:
        blocks.paragraph(text)


def _add_table(rows: Sequence[Row], blocks: BlockText, sheet: str) -> None:
    columns = sorted({index for row in rows for index, cell in enumerate(row.cells) if cell})
    head = _header_rows(rows, columns)
    names = [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*_spread(rows[:head], columns), strict=True)]
    is_filled_up = len(rows) * len(columns) <= _MAX_FILLED_UP
    blocks.begin_place("cells", _range(sheet, rows[0].number, rows[head - 1].number, columns))
    blocks.row(names)
    for row in rows[head:]:
        blocks.begin_place("cells", _range(sheet, row.number, row.number, columns))
        # Else only the columns that the row reaches to.
        own = columns if is_filled_up else columns[: bisect_left(columns, len(row.cells))]
        blocks.row(_cell(row, index) for index in own)
    blocks.end_block()


def _header_rows(rows: Sequence[Row], columns: Sequence[int]) -> int:
    """Return how many rows the header has: a second one under a first with gaps, if both hold labels only."""
    is_double = (
        len(rows) > 2
        and not all(_cell(rows[0], index) for index in columns[1:])
        and [all(map(is_label, row.cells)) for row in rows[:3]] == [True, True, False]
    )
    return 2 if is_double else 1


def _spread(rows: Sequence[Row], columns: Sequence[int]) -> list[list[str]]:
    """Return header rows with each label of an upper row repeated over the columns it stands above."""
    spread = [[_cell(row, index) for index in columns] for row in rows]
    for upper in spread[:-1]:
        for position in range(2, len(upper)):
            upper[position] = upper[position] or upper[position - 1]
    return spread


def _cell(row: Row, index: int) -> str:
    return row.cells[index] if index < len(row.cells) else ""


def _range(sheet: str, top: int, bottom: int, columns: Sequence[int]) -> str:
    """Return a range as sheet programs write it, such as Costs!A5:C5."""
    if sheet and not _PLAIN_NAME.fullmatch(sheet):
        sheet = "'" + sheet.replace("'", "''") + "'"
    prefix = f"{sheet}!" if sheet else ""
    first, last = f"{column_letters(columns[0])}{top}", f"{column_letters(columns[-1])}{bottom}"
    return prefix + (first if first == last else f"{first}:{last}")


def column_letters(column: int) -> str:
    """Return the letters of a column counted from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
