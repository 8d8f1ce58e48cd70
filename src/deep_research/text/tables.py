"""Tables in plain text: runs of `| a | b |` lines, with the row that names the columns told from the rest."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

_ROW = re.compile(r"^[ \t]*(?P<row>\|.*)$", re.MULTILINE)
_RULE = re.compile(r"\|[\s:|]*-[\s:|-]*")
_CELL_END = re.compile(r"(?<!\\)\|")
_FIGURE = re.compile(r"\d")
# A name may hold these figures: years, quarters, halves, months, versions (2.6.4), and a number next to a letter or
# word ("Plant 3").
_NAMING_FIGURE = re.compile(
    r"(?<!\d)(?:(?:FY|CY)\s?'?\d\d|(?:FY|CY)?\s?(?:19|20)\d\d(?:[-/.]\d{1,4}){0,2}\s?[年EFA]?|1\d\d年|[1-4][QH](?:\d\d){0,2}"
    r"|\d{1,2}\s?[月季])(?!\d|,\d|%)|[QH][1-4]|(?<![\d.])\d{1,3}(?:\.\d{1,3}){2}(?![\d.])"
    r"|(?<=[^\W\d_])[\s_-]?'?\d{1,3}(?:\.\d)?(?![\d.,%])",
    re.IGNORECASE,
)
# A label may say in brackets what its column is measured in: "price (per 250 g)".
_IN_BRACKETS = re.compile(r"[(（\[][^)）\]]*[)）\]]")
_MAX_LABEL_CHARS = 24


class TableRow(NamedTuple):
    """A line of a table by its offsets, and the text of its cells."""

    start: int
    end: int
    cells: tuple[str, ...]


class TextTable(NamedTuple):
    """Rows that stand together; the header is None where no row names the columns."""

    start: int
    end: int
    header: TableRow | None
    rows: tuple[TableRow, ...]


def find_tables(text: str) -> tuple[TextTable, ...]:
    """Return the tables of a text in order."""
    return tuple(table for run in _runs(text) if (table := _table(run)) is not None)


def is_label(cell: str) -> bool:
    """Return whether a cell names something: it holds no figure but a year, a quarter or a running number."""
    return not _FIGURE.search(_NAMING_FIGURE.sub("", cell))


def is_note(row: TableRow) -> bool:
    """Return whether a row explains or parts others: of three columns or more, only one is filled."""
    return len(row.cells) > 2 and sum(map(bool, row.cells)) == 1


def _runs(text: str) -> Iterator[list[TableRow]]:
    """Yield the rows that follow each other line by line."""
    run: list[TableRow] = []
    for match in _ROW.finditer(text):
        if run and text.count("\n", run[-1].end, match.start("row")) != 1:
            yield run
            run = []
        row = match["row"].rstrip(" \t")
        inner = row[1:].removesuffix("|") if not row.endswith("\\|") else row[1:]
        cells = tuple(cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner))
        run.append(TableRow(match.start("row"), match.start("row") + len(row), cells))
    if run:
        yield run


def _table(run: Sequence[TableRow]) -> TextTable | None:
    are_rows = [not _RULE.fullmatch("|" + "|".join(row.cells) + "|") for row in run]
    rows = tuple(compress(run, are_rows))
    if not rows:
        return None
    # What stands alone above the columns is the table's title.
    titles = next((at for at, row in enumerate(rows) if any(row.cells[1:])), 0)
    if titles and _names_columns(rows[titles:]):
        return TextTable(run[0].start, run[-1].end, rows[titles], rows[titles + 1 :])
    has_header = are_rows[:2] == [True, False] or (all(are_rows) and _names_columns(rows))
    header, rows = (rows[0], rows[1:]) if has_header else (None, rows)
    return TextTable(run[0].start, run[-1].end, header, rows)


def _names_columns(rows: Sequence[TableRow]) -> bool:
    """Return whether the first row holds labels for the columns: figures or dates come below it, or other words do."""
    first = rows[0].cells
    names = [_IN_BRACKETS.sub("", cell) for cell in first if cell]
    if len(names) < 2 or not all(map(is_label, names)):
        return False
    below = [cell for row in rows[1:] for cell in row.cells]
    if not all(map(is_label, below)):
        return True
    # The rows may differ much in length, so that the columns are counted without being filled up.
    dated = Counter(index for row in rows[1:] for index, cell in enumerate(row.cells) if _FIGURE.search(cell))
    if any(map(_FIGURE.search, names)) or 2 * max(dated.values(), default=0) > len(rows) - 1:
        return not any(map(_FIGURE.search, names))
    are_short = len(names) == len(first) > 2 and max(map(len, names)) <= _MAX_LABEL_CHARS
    return are_short and len(rows) > 2 and {*first}.isdisjoint(below)
