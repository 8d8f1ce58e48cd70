"""Tables on a PDF page: by ruled lines where cells have them, else by words that stand in columns under a header.

What is not clearly a table stays text: prose in two columns, lists, forms and contents pages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from ctypes import byref, c_float
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from pypdfium2 import PdfMatrix, PdfPage, PdfTextPage
from pypdfium2 import raw as pdfium

from deep_research.documents.readers.pdf_lines import display_width, needs_no_space, with_whole_characters
from deep_research.documents.readers.port import is_title_like
from deep_research.text.tables import is_label

# A hyphen at a line's end is a sign of its own, which swallows the line break.
_WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]?")
# Not the number in an identifier, such as y2.
_FIGURE = re.compile(r"(?<![A-Za-z_\d])\d")
# Lines of a table may be drawn as thin boxes, or as boxes around each cell with a little room between them.
_SAME_LINE = 4.0
_MIN_EDGE = 6.0
# A drawing has more edges than any table, and a page of text not so many lines.
_MAX_PARTS, _MAX_EDGES, _MAX_LINES, _MAX_COLUMNS = 20_000, 600, 250, 30
_MIN_RULED_FILLED, _MAX_RULED_CELL_CHARS = 0.4, 600
# In heights of the line: the gap between two columns, what parts the lines of one cell, and what ends a table.
_COLUMN_GAP, _CELL_LEADING, _TABLE_GAP = 0.9, 1.45, 4
_MAX_HEADER_WIDTH, _MAX_MEAN_WIDTH, _MAX_FIGURE_WIDTH = 40, 40, 24
_MIN_FILLED = 0.6
# Columns stand apart by at least so many heights of a line; a page's table goes on within so many lines of the next.
_MARGIN, _MAX_LINES_ABOVE = 0.2, 4
_FAR = 1e9


class Box(NamedTuple):
    """A word, or several in a row: its characters in the page's text, and where it stands (y grows upwards)."""

    page_text: str
    start: int
    end: int
    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> float:
        """Return the height at which it stands."""
        return (self.bottom + self.top) / 2

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2

    @property
    def text(self) -> str:
        return self.page_text[self.start : self.end]


class PageTable(NamedTuple):
    """The cells of a table by row, where its columns stand, and the words it is made of."""

    rows: list[list[str]]
    columns: tuple[tuple[float, float], ...]
    words: list[Box]

    def continues(self, above: "PageTable") -> bool:
        """Return whether a table has the columns of the one before it."""
        return len(self.columns) == len(above.columns) and all(
            left < end and start < right
            for (left, right), (start, end) in zip(self.columns, above.columns, strict=True)
        )


class _Edge(NamedTuple):
    """A straight line: `at` is its x if it is upright and its y if it lies, `start` and `end` are where it reaches."""

    at: float
    start: float
    end: float


_Edges = Sequence[_Edge]
# Those of a page from the top, each as stretches that stand apart.
_Lines = Sequence[list[Box]]


def find_page_tables(page: PdfPage, content: PdfTextPage, text: str, above: PageTable | None) -> list[PageTable]:
    """Return the tables of a page; `above` is the last table of the page before."""
    words = _words(content, text)
    lying, upright = _edges(page)
    tables = list(_ruled_tables(content, words, lying, upright))
    taken = {word.start for table in tables for word in table.words}
    lines = _lines([word for word in words if word.start not in taken])
    return tables + _aligned_tables(lines, lying, None if taken else above)


def _words(content: PdfTextPage, text: str) -> list[Box]:
    words = (_box(content, text, match.start(), match.end()) for match in _WORD.finditer(text))
    return [word for word in words if word.top > word.bottom]


def _box(content: PdfTextPage, text: str, start: int, end: int) -> Box:
    """Return where characters of one line stand, by the first and the last of them."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(content.raw, start, box)
    left, bottom, top = box.left, box.bottom, box.top
    pdfium.FPDFText_GetLooseCharBox(content.raw, end - 1, box)
    return Box(text, start, end, left, bottom, box.right, top)


def _cell_text(words: Iterable[Box]) -> str:
    """Return words in reading order, without spaces where Chinese needs none, and with cut words mended."""
    cell = ""
    end = -1
    for word in words:
        if cell[-1:] in ("\x02", "\ufffe"):
            cell = cell[:-1]
        elif cell and word.start != end and not needs_no_space(cell, word.text):
            cell += " "
        cell += word.text
        end = word.end
    return with_whole_characters(cell.replace("\x02", "-").replace("\ufffe", "-"))


# Ruled tables


def _ruled_tables(content: PdfTextPage, words: Sequence[Box], lying: _Edges, upright: _Edges) -> Iterator[PageTable]:
    for rows_at, columns_at in _grids(lying, upright):
        inside = [
            part
            for word in words
            if rows_at[-1] < word.middle < rows_at[0] and columns_at[0] - 1 < word.center < columns_at[-1] + 1
            for part in _cut_at(word, columns_at, content)
        ]
        rows = list(filter(any, _ruled_rows(inside, rows_at, columns_at, lying, upright)))
        cells = [cell for row in rows for cell in row]
        filled_columns = sum(map(any, zip(*rows, strict=True)))
        is_table = len(rows) > 1 and filled_columns > 1 and sum(map(bool, cells)) > _MIN_RULED_FILLED * len(cells)
        if is_table and max(map(len, cells)) <= _MAX_RULED_CELL_CHARS:
            yield PageTable(rows, tuple(pairwise(columns_at)), inside)


def _edges(page: PdfPage) -> tuple[list[_Edge], list[_Edge]]:
    """Return the lines that lie and those that stand upright, each joined from its parts."""
    lying: list[_Edge] = []
    upright: list[_Edge] = []
    for drawn in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=1):
        for (x, y), (to_x, to_y) in _segments(drawn.raw, drawn.get_matrix()):
            if abs(y - to_y) < 1 < abs(x - to_x):
                lying.append(_Edge(y, min(x, to_x), max(x, to_x)))
            elif abs(x - to_x) < 1 < abs(y - to_y):
                upright.append(_Edge(x, min(y, to_y), max(y, to_y)))
        if len(lying) + len(upright) > _MAX_PARTS:
            return [], []
    lying, upright = _joined(lying), _joined(upright)
    return (lying, upright) if len(lying) + len(upright) <= _MAX_EDGES else ([], [])


def _segments(path: object, matrix: PdfMatrix) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    x, y = c_float(), c_float()
    first = last = (0.0, 0.0)
    for index in range(min(pdfium.FPDFPath_CountSegments(path), _MAX_PARTS)):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        pdfium.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
        point = matrix.on_point(x.value, y.value)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield last, point
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield point, first
        last = point


def _joined(parts: list[_Edge]) -> list[_Edge]:
    """Return edges with those on one line put together where they touch."""
    lines: list[list[_Edge]] = []
    for part in sorted(parts):
        if lines and part.at - lines[-1][0].at < _SAME_LINE:
            lines[-1].append(part)
        else:
            lines.append([part])
    joined: list[_Edge] = []
    for line in lines:
        at = sum(part.at for part in line) / len(line)
        for _, start, end in sorted(line, key=lambda part: part.start):
            if joined and joined[-1].at == at and start <= joined[-1].end + _SAME_LINE:
                joined[-1] = _Edge(at, joined[-1].start, max(joined[-1].end, end))
            else:
                joined.append(_Edge(at, start, end))
    return [edge for edge in joined if edge.end - edge.start >= _MIN_EDGE]


def _grids(lying: _Edges, upright: _Edges) -> Iterator[tuple[list[float], list[float]]]:
    """Yield where the rows (downwards) and columns of each grid are bounded: lines that cross or touch."""
    grids: list[tuple[set[_Edge], set[_Edge]]] = []
    for edge in lying:
        rows, columns = {edge}, {one for one in upright if _touch(edge, one)}
        for met in [grid for grid in grids if not columns.isdisjoint(grid[1])]:
            grids.remove(met)
            rows |= met[0]
            columns |= met[1]
        grids.append((rows, columns))
    for rows, columns in reversed(grids):
        rows_at = sorted({edge.at for edge in rows}, reverse=True)
        columns_at = sorted({edge.at for edge in columns})
        if len(rows_at) > 2 and len(columns_at) > 2:
            yield rows_at, columns_at


def _touch(lies: _Edge, stands: _Edge) -> bool:
    return (
        lies.start - _SAME_LINE <= stands.at <= lies.end + _SAME_LINE
        and stands.start - _SAME_LINE <= lies.at <= stands.end + _SAME_LINE
    )


def _cut_at(word: Box, columns_at: Sequence[float], content: PdfTextPage) -> list[Box]:
    """Return a word, or its characters where it runs over the line between two cells."""
    if any(word.left + 1 < at < word.right - 1 for at in columns_at):
        return [_box(content, word.page_text, at, at + 1) for at in range(word.start, word.end)]
    return [word]


def _ruled_rows(
    words: Sequence[Box],
    rows_at: Sequence[float],
    columns_at: Sequence[float],
    lying: _Edges,
    upright: _Edges,
) -> list[list[str]]:
    """Return the text of each cell; a cell over several rows is repeated in each, one over several columns is not."""
    # The cell that a cell is part of: itself, the one to its left, or the one above it.
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (top, bottom) in enumerate(pairwise(rows_at)):
        for column, (left, right) in enumerate(pairwise(columns_at)):
            if column and not _is_drawn(upright, left, (top + bottom) / 2):
                owner[row, column] = owner[row, column - 1]
            elif row and not _is_drawn(lying, top, (left + right) / 2):
                owner[row, column] = owner[row - 1, column]
            else:
                owner[row, column] = (row, column)
    words_of: dict[tuple[int, int], list[Box]] = {}
    for word in words:
        row = sum(word.middle <= at for at in rows_at[1:-1])
        column = sum(word.center >= at for at in columns_at[1:-1])
        words_of.setdefault(owner[row, column], []).append(word)
    rows: list[list[str]] = [[] for _ in rows_at[1:]]
    for (row, column), own in owner.items():
        rows[row].append(_cell_text(words_of.get(own, ())) if own[1] == column else "")
    return rows


def _is_drawn(edges: _Edges, at: float, through: float) -> bool:
    return any(abs(edge.at - at) < _SAME_LINE and edge.start <= through <= edge.end for edge in edges)


# Aligned tables


def _lines(words: Sequence[Box]) -> list[list[Box]]:
    """Return the lines of a page from the top, each as stretches that stand apart."""
    stretches: list[Box] = []
    for word in words:
        last = stretches[-1] if stretches else None
        if last and _is_beside(last, word) and -1 < (word.left - last.right) / word.height < _COLUMN_GAP:
            stretches[-1] = last._replace(end=word.end, right=word.right)
        else:
            stretches.append(word)
    lines: list[list[Box]] = []
    for stretch in sorted(stretches, key=lambda one: -one.middle):
        if lines and _is_beside(lines[-1][0], stretch):
            lines[-1].append(stretch)
        else:
            lines.append([stretch])
    return [sorted(line, key=lambda one: one.left) for line in lines]


def _is_beside(one: Box, other: Box) -> bool:
    return abs(one.middle - other.middle) < 0.4 * min(one.height, other.height)


class _ColumnBox:
    """A column as it grows: its bounds, and what stands in it by line."""

    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right
        self.cells: dict[int, list[Box]] = {}

    def add(self, number: int, stretch: Box) -> None:
        self.cells.setdefault(number, []).append(stretch)
        self.left, self.right = min(self.left, stretch.left), max(self.right, stretch.right)

    def meets(self, stretch: Box) -> bool:
        margin = _MARGIN * stretch.height
        return stretch.left - margin < self.right and self.left < stretch.right + margin


def _aligned_tables(lines: _Lines, rules: _Edges, above: PageTable | None) -> list[PageTable]:
    tables: list[PageTable] = []
    if len(lines) > _MAX_LINES:
        return tables
    at, first = 0, len(lines)
    while at < len(lines):
        if found := _aligned_at(lines, at, rules, None):
            table, start, at = found
            tables.append(table)
            first = min(first, start)
        else:
            at += 1
    for at in range(min(first, _MAX_LINES_ABOVE) if above else 0):
        if found := _aligned_at(lines[:first], at, rules, above):
            return [found[0], *tables]
    return tables


def _aligned_at(lines: _Lines, at: int, rules: _Edges, above: PageTable | None) -> tuple[PageTable, int, int] | None:
    """Return the table whose header is a line, or that goes on with the rows of `above`; its first line, the next."""
    if above is not None:
        columns = [_ColumnBox(left, right) for left, right in above.columns]
    elif _is_header(lines[at]):
        columns = [_ColumnBox(stretch.left, stretch.right) for stretch in lines[at]]
    else:
        return None
    end = at
    while (
        end < len(lines)
        and (end == at or _distance(lines, end) < _TABLE_GAP * lines[end][0].height)
        and _take_line(lines[end], end, columns, None if above else at)
    ):
        end += 1
    columns = _with_headers(columns, at)
    bands = [sum(rule.at > line[0].middle and _spans(rule, columns) for rule in rules) for line in lines[at:end]]
    numbered = _rows_of_lines(lines, at, columns, bands)
    while numbered and sum(bool(_boxes(column, numbered[-1])) for column in columns) < 2:
        numbered.pop()
    columns = [column for column in columns if any(_boxes(column, numbers) for numbers in numbered)]
    cells = [[_boxes(column, numbers) for column in columns] for numbers in numbered]
    rows = [list(map(_cell_text, row)) for row in cells]
    names_most = above is not None or 2 * len(lines[at]) > len(columns)
    if len(columns) < 2 or not (names_most and _follow_each_other(cells)):
        return None
    has_figures = _has_figures(rows, above is None, may_be_prose=len(set(bands)) > 2)
    if not has_figures and (above is not None or not _has_even_words(cells, rows, len(set(bands)) > 1)):
        return None
    start = at
    top = lines[at][0].middle
    closest = top + 0.8 * (top - lines[numbered[-1][0]][0].middle) / max(1, len(numbered) - 1)
    while (
        above is None
        and start > max(0, at - 2)
        and _distance(lines, start) <= _TABLE_GAP / 2 * lines[start - 1][0].height
        and _add_names(lines[start - 1], columns, rows, closest)
    ):
        start -= 1
    end = numbered[-1][-1] + 1
    words = [stretch for line in lines[start:end] for stretch in line]
    return PageTable(rows, tuple((column.left, column.right) for column in columns), words), start, end


def _spans(rule: _Edge, columns: Sequence[_ColumnBox]) -> bool:
    return rule.start < columns[0].left + _SAME_LINE and columns[-1].right - _SAME_LINE < rule.end


def _is_header(line: Sequence[Box]) -> bool:
    return 1 < len(line) <= _MAX_COLUMNS and all(
        is_label(name.text) and display_width(name.text) <= _MAX_HEADER_WIDTH for name in line
    )


def _distance(lines: _Lines, number: int) -> float:
    """Return how far a line stands under the one before it."""
    return lines[number - 1][0].middle - lines[number][0].middle


def _take_line(line: Sequence[Box], number: int, columns: list[_ColumnBox], header: int | None) -> bool:
    """Put each stretch of a line into its column; return False, with nothing done, where one runs over two.

    Under a header, columns that it does not name may be added.
    """
    assigned: list[tuple[Box, _ColumnBox]] = []
    for stretch in line:
        met = [column for column in columns if column.meets(stretch)]
        if len(met) == 2 and header is not None and len(_with_headers(met, header)) == 1:
            columns.remove(met.pop())
        if len(met) > 1 or not (met or header is not None):
            return False
        assigned.append((stretch, met[0] if met else _ColumnBox(stretch.left, stretch.right)))
    for stretch, column in assigned:
        column.add(number, stretch)
        if column not in columns:
            columns.append(column)
    columns.sort(key=lambda column: column.left)
    return True


def _with_headers(columns: Sequence[_ColumnBox], header: int) -> list[_ColumnBox]:
    """Return the columns, a header that stands beside its cells and not above them put together with them."""
    merged: list[_ColumnBox] = []
    for column in columns:
        before = merged[-1] if merged else None
        if (
            before
            and ({header} in (set(before.cells), set(column.cells)))
            and before.cells.keys().isdisjoint(column.cells)
        ):
            for number, stretches in column.cells.items():
                for stretch in stretches:
                    before.add(number, stretch)
        else:
            merged.append(column)
    return merged


def _boxes(column: _ColumnBox, numbers: Iterable[int]) -> list[Box]:
    return [box for number in numbers for box in column.cells.get(number, ())]


def _rows_of_lines(lines: _Lines, at: int, columns: Sequence[_ColumnBox], bands: Sequence[int]) -> list[list[int]]:
    """Return the lines of each row, by the rules between them, or else by where the first cells stand.

    A line without the first cell, or with it alone, belongs to the nearest row if it stands close to it.
    """
    numbers = range(at, at + len(bands))
    if len(set(bands)) > 2:
        return [list(row) for _, row in groupby(numbers, lambda number: bands[number - at])]
    full = [
        number == at or (number in columns[0].cells and sum(number in column.cells for column in columns) > 1)
        for number in numbers
    ]
    distances = [_distance(lines, number) for number in numbers[1:]] + [_FAR]
    pitches = [distance for distance, both in zip(distances, pairwise(full), strict=False) if all(both)]
    closest = min(0.8 * median(pitches or [_FAR]), _CELL_LEADING * lines[at][0].height)
    rows = [[at]]
    starts_next = False
    for number, is_full, before, behind in zip(numbers[1:], full[1:], distances, distances[1:], strict=False):
        if starts_next or (not is_full and before < closest and before <= behind):
            rows[-1].append(number)
        else:
            rows.append([number])
        starts_next = not is_full and behind < closest and behind < before
    return rows


def _follow_each_other(cells: Sequence[_Lines]) -> bool:
    """Return whether the text goes from row to row; that of prose in columns goes down one before the next."""
    starts = [min(box.start for boxes in row for box in boxes) for row in cells]
    ends = [max(box.end for boxes in row for box in boxes) for row in cells]
    return all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def _has_figures(rows: Sequence[Sequence[str]], has_header: bool, *, may_be_prose: bool) -> bool:
    """Return whether rows hold a column of short figures, few empty cells and no prose."""
    body = rows[has_header:]
    filled = [list(filter(None, column)) for column in zip(*body, strict=True)]
    is_prose = any(sum(map(display_width, cells)) > _MAX_MEAN_WIDTH * len(cells) for cells in filled)
    has_figures = any(
        2 * sum(bool(_FIGURE.search(cell)) and display_width(cell) <= _MAX_FIGURE_WIDTH for cell in cells) > len(body)
        for cells in filled[1:]
    )
    is_filled = sum(map(len, filled)) >= _MIN_FILLED * len(filled) * len(body)
    return len(body) > has_header and has_figures and is_filled and (may_be_prose or not is_prose)


def _has_even_words(cells: Sequence[_Lines], rows: Sequence[Sequence[str]], has_rules: bool) -> bool:
    """Return whether rows without figures are a table all the same: none has an empty cell, all begin at one place."""
    lefts = zip(*([boxes[0].left for boxes in row] for row in cells[1:] if all(row)), strict=True)
    return (
        len(rows) > 3
        and all(map(all, rows))
        and (
            has_rules
            or (len(rows[0]) > 2 and max(display_width(cell) for row in rows for cell in row) <= _MAX_MEAN_WIDTH)
        )
        and all(max(column) - min(column) < _SAME_LINE for column in lefts)
    )


def _add_names(line: Sequence[Box], columns: Sequence[_ColumnBox], rows: list[list[str]], closest: float) -> bool:
    """Add the line above a header if it is part of it: names over several columns, or the first lines of wrapped names.

    These stand lower than `closest`.
    """
    overlaps: list[list[int]] = []
    for name in line:
        met = [index for index, column in enumerate(columns) if column.meets(name)]
        overlaps.append(met or [max(0, sum(column.left < name.left for column in columns) - 1)])
        is_taken = 0 in overlaps[-1] and (rows[0][0] or not is_title_like(name.text))
        if is_taken or not is_label(name.text):
            return False
    row = [""] * len(columns)
    if all(len(over) == 1 for over in overlaps) and (line[0].middle < closest or overlaps == [[0]]):
        for (over,), name in zip(overlaps, line, strict=True):
            row[over] = name.text
        rows[0] = [f"{upper} {lower}".strip() for upper, lower in zip(row, rows[0], strict=True)]
        return True
    if len(line) == 1 and not {len(columns) - 2, len(columns) - 1} <= set(overlaps[0]):
        return False
    first = 1 if len(line) > 1 else overlaps[0][0]
    before = None
    for index, column in enumerate(columns[first:], start=first):
        nearest = min(line, key=lambda name: abs(name.left + name.right - column.left - column.right))
        if nearest is not before:
            row[index] = nearest.text
        before = nearest
    rows.insert(0, row)
    return True
