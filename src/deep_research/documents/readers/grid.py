"""Cells of a sheet → text: where tables begin, their header rows, titles above and remarks below them."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby, takewhile
from statistics import median
from typing import NamedTuple

from deep_research.documents.readers.port import BlockText, is_title_like
from deep_research.text.analyzer import CJK_CHARACTER
from deep_research.text.tables import is_label

_FIGURE = re.compile(r"\d")
_BRACKETS, _STOPS = ("(", "（", "["), ".!?。！？"
_MIN_PHRASE_WORDS, _MIN_REMARK_WORDS = 3, 6
_SAMPLE_ROWS = 100
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
# A table with more cells is not filled up with empty ones: one wide row would make thousands of short ones as wide.
_MAX_FILLED_UP = 200_000


class GridRow(NamedTuple):
    """The cells of one row as they are shown, from the first column on, and the row's number in the sheet."""

    number: int
    cells: tuple[str, ...]


def add_grid(rows: Iterable[GridRow], blocks: BlockText, sheet: str) -> None:
    """Add the tables of a sheet; rows without a value keep them apart."""
    for is_filled, region in groupby(rows, key=lambda row: any(row.cells)):
        if is_filled:
            _add_region(list(region), blocks, sheet)


def _add_region(rows: Sequence[GridRow], blocks: BlockText, sheet: str) -> None:
    """Add rows that stand together: lone cells above and below a table are its title and remarks."""
    above = len(list(takewhile(_is_lone, rows)))
    below = len(rows) - len(list(takewhile(_is_lone, reversed(rows))))
    table = rows[above:below] if above < below else ()
    if not table and len(rows) > 2 and all(is_title_like(max(row.cells, key=len)) for row in rows):
        for row in rows:
            _add_lone(row, blocks, sheet, blocks.item)
        return
    for row in rows[:above]:
        is_title = bool(table) and is_title_like(max(row.cells, key=len))
        _add_lone(row, blocks, sheet, partial(blocks.heading, level=3) if is_title else blocks.paragraph)
    if table:
        _add_table(table, blocks, sheet)
    for row in rows[max(above, below) :]:
        _add_lone(row, blocks, sheet, blocks.paragraph)


def _is_lone(row: GridRow) -> bool:
    return sum(map(bool, row.cells)) == 1


def _add_lone(row: GridRow, blocks: BlockText, sheet: str, add: Callable[[str], None]) -> None:
    column = next(index for index, cell in enumerate(row.cells) if cell)
    _begin_cells(blocks, sheet, [row], [column])
    add(row.cells[column])


def _add_table(rows: Sequence[GridRow], blocks: BlockText, sheet: str) -> None:
    columns = sorted({index for row in rows for index, cell in enumerate(row.cells) if cell})
    # What the first rows are shows in those below them, and a few of these are enough.
    top = [[_cell(row, index) for index in columns] for row in rows[:_SAMPLE_ROWS]]
    head, names = (0, list(map(column_letters, columns))) if _lacks_header(top) else read_header(top)
    body = head
    if head and explains_columns(top[head:]):
        _begin_cells(blocks, sheet, [rows[head]], columns)
        blocks.paragraph(explanation(names, top[head]))
        body += 1
    is_filled_up = len(rows) * len(columns) <= _MAX_FILLED_UP
    blocks.end_place()
    if head:
        _begin_cells(blocks, sheet, rows[:head], columns)
    blocks.row(names)
    for row in rows[body:]:
        _begin_cells(blocks, sheet, [row], columns)
        # Else only the columns that the row reaches to.
        own = columns if is_filled_up else columns[: bisect_left(columns, len(row.cells))]
        blocks.row(_cell(row, index) for index in own)
    blocks.end_block()


def _lacks_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table begins with its first row of values: figures where nearly all rows below hold some."""
    below = [[not is_label(row[at]) for row in rows[1:]] for at, cell in enumerate(rows[0]) if not is_label(cell)]
    return len(rows) > 2 and bool(below) and all(10 * sum(column) >= 9 * len(column) for column in below)


def read_header(rows: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """Return how many of a table's first rows name its columns, and the names: "Group – Column" where two rows do.

    A second row of names stands under a first with gaps; one of units leaves the first column empty.
    """
    are_names = [all(map(is_label, row)) for row in rows[:3]] == [True, True, False]
    if not are_names or (all(rows[0][1:]) and rows[1][0]):
        return 1, list(rows[0])
    # Each name stands above the columns without one that follow it, as far as they are named below.
    upper, lower = list(rows[0]), rows[1]
    for at in range(1, len(upper)):
        if not upper[at] and lower[at] and lower[at - 1]:
            upper[at] = upper[at - 1]
    if all(rows[0][1:]):
        units = (unit if unit.startswith(_BRACKETS) else f"({unit})" if unit else "" for unit in lower)
        return 2, [f"{name} {unit}".strip() for name, unit in zip(upper, units, strict=True)]
    return 2, [" – ".join(dict.fromkeys(filter(None, pair))) for pair in zip(upper, lower, strict=True)]


def explains_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row under a header says what the columns hold: phrases, over columns of figures too.

    One remark on all of them stands alone in its row.
    """
    if len(rows) < 2:
        return False
    lengths = [len(cell.split()) + len(CJK_CHARACTER.findall(cell)) / 2 for cell in rows[0] if cell]
    below = [(cell, [row[at] for row in rows[1:] if row[at]]) for at, cell in enumerate(rows[0])]
    has_figures = any(2 * sum(map(bool, map(_FIGURE.search, cells))) > len(rows) - 1 for _, cells in below)
    is_longer = [len(cell) > 2 * median(map(len, cells)) for cell, cells in below if cell and cells]
    if len(lengths) == 1:
        return has_figures and lengths[0] >= _MIN_REMARK_WORDS and all(is_longer)
    are_phrases = min(lengths) >= 2 and median(lengths) >= _MIN_PHRASE_WORDS
    return has_figures and are_phrases and 2 * sum(is_longer) > len(lengths)


def explanation(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return what the columns hold as one list, each behind its column's name, or the remark on all of them as it is.

    A list is no sentence: what explains a column is searched, but is no finding of its own.
    """
    filled = [(name, cell) for name, cell in zip(names, cells, strict=True) if cell]
    if len(filled) == 1:
        return filled[0][1]
    return "; ".join(f"{name}: {cell.rstrip(_STOPS)}" if name else cell.rstrip(_STOPS) for name, cell in filled)


def _cell(row: GridRow, index: int) -> str:
    return row.cells[index] if index < len(row.cells) else ""


def _begin_cells(blocks: BlockText, sheet: str, rows: Sequence[GridRow], columns: Sequence[int]) -> None:
    """Let what follows stand in the range of these rows, named as sheet programs write it, such as Costs!A5:C5."""
    if sheet and not _PLAIN_NAME.fullmatch(sheet):
        sheet = "'" + sheet.replace("'", "''") + "'"
    prefix = f"{sheet}!" if sheet else ""
    first, last = f"{column_letters(columns[0])}{rows[0].number}", f"{column_letters(columns[-1])}{rows[-1].number}"
    blocks.begin_place("cells", prefix + (first if first == last else f"{first}:{last}"))


def column_letters(column: int) -> str:
    """Return the letters of a column counted from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
