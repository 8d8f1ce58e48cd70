"""Tables on a PDF page: by ruled lines where cells have them, else by words that stand in columns under a header.

What is not clearly a table stays text: prose in two columns, lists, forms and contents pages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from ctypes import byref, c_float
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from pypdfium2 import PdfMatrix, PdfPage, PdfTextPage
from pypdfium2 import raw as pdfium

from deep_research.readers.pdf_lines import display_width, needs_no_space
from deep_research.text.tables import is_label

# A hyphen at a line's end is a sign of its own, which swallows the line break.
_WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]?")
_FIGURE = re.compile(r"\d")
# Lines of a table may be drawn as thin boxes, or as boxes around each cell with a little room between them.
_SAME_LINE = 4.0
_MIN_EDGE = 6.0
# A drawing has more edges than any table.
_MAX_EDGES = 4_000
_MIN_RULED_FILLED, _MAX_RULED_CELL_CHARS = 0.4, 600
# In heights of the line: the gap between two columns, what parts the lines of one cell, and what ends a table.
_COLUMN_GAP, _CELL_LEADING, _TABLE_GAP = 0.9, 1.45, 3.5
_MAX_HEADER_WIDTH, _MAX_MEAN_WIDTH, _MAX_FIGURE_WIDTH = 40, 40, 24
_MIN_FILLED = 0.6
# Columns stand apart by at least so many heights of a line; a page's table goes on within so many lines of the next.
_ROOM, _MAX_LINES_ABOVE = 0.2, 4


class Box(NamedTuple):
    """A word, or several in a row: its characters in the page's text, and where it stands (y grows upwards)."""

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


def find_page_tables(page: PdfPage, content: PdfTextPage, text: str, above: PageTable | None) -> list[PageTable]:
    """Return the tables of a page; `above` is the table that ended the page before."""
    words = _words(content, text)
    tables = list(_ruled_tables(page, content, text, words))
    taken = {word.start for table in tables for word in table.words}
    left = [word for word in words if word.start not in taken]
    return tables + list(_aligned_tables(_lines(left), text, None if taken else above))


def _words(content: PdfTextPage, text: str) -> list[Box]:
    words = (_box(content, match.start(), match.end()) for match in _WORD.finditer(text))
    return [word for word in words if word.top > word.bottom]


def _box(content: PdfTextPage, start: int, end: int) -> Box:
    """Return where characters of one line stand, by the first and the last of them."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(content.raw, start, box)
    left, bottom, top = box.left, box.bottom, box.top
    pdfium.FPDFText_GetLooseCharBox(content.raw, end - 1, box)
    return Box(start, end, left, bottom, box.right, top)


def _cell_text(words: Iterable[Box], text: str) -> str:
    """Return words in reading order, without spaces where Chinese needs none, and with cut words mended."""
    cell = ""
    end = -1
    for word in words:
        following = text[word.start : word.end]
        if cell[-1:] in ("\x02", "\ufffe"):
            cell = cell[:-1] + following
        elif not cell or word.start == end or needs_no_space(cell, following):
            cell += following
        else:
            cell += " " + following
        end = word.end
    return cell.replace("\x02", "-").replace("\ufffe", "-")


# Ruled tables


def _ruled_tables(page: PdfPage, content: PdfTextPage, text: str, words: Sequence[Box]) -> Iterator[PageTable]:
    lying, upright = _edges(page)
    for rows_at, columns_at in _grids(lying, upright):
        left, right, bottom, top = columns_at[0], columns_at[-1], rows_at[-1], rows_at[0]
        inside = [
            part
            for word in words
            if bottom < word.middle < top and left - 1 < (word.left + word.right) / 2 < right + 1
            for part in _cut_at(word, columns_at, content)
        ]
        rows = _ruled_rows(inside, text, rows_at, columns_at, lying, upright)
        rows = [row for row in rows if any(row)]
        filled = sum(any(row[column] for row in rows) for column in range(len(columns_at) - 1))
        cells = [cell for row in rows for cell in row]
        is_table = len(rows) > 1 and filled > 1 and sum(map(bool, cells)) > _MIN_RULED_FILLED * len(cells)
        if is_table and max(map(len, cells)) <= _MAX_RULED_CELL_CHARS:
            yield PageTable(rows, tuple(pairwise(columns_at)), inside)


def _edges(page: PdfPage) -> tuple[list[_Edge], list[_Edge]]:
    """Return the lines that lie and those that stand upright, each joined from its parts."""
    lying: list[_Edge] = []
    upright: list[_Edge] = []
    for drawn in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=1):
        for (x, y), (to_x, to_y) in _segments(drawn.raw, drawn.get_matrix()):
            if abs(y - to_y) < 1 and abs(x - to_x) > 1:
                lying.append(_Edge(y, min(x, to_x), max(x, to_x)))
            elif abs(x - to_x) < 1 and abs(y - to_y) > 1:
                upright.append(_Edge(x, min(y, to_y), max(y, to_y)))
        if len(lying) + len(upright) > _MAX_EDGES:
            return [], []
    return _joined(lying), _joined(upright)


def _segments(path: object, matrix: PdfMatrix) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    x, y = c_float(), c_float()
    first = last = (0.0, 0.0)
    for index in range(min(pdfium.FPDFPath_CountSegments(path), _MAX_EDGES)):
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


def _joined(edges: list[_Edge]) -> list[_Edge]:
    """Return edges with those on one line put together where they touch."""
    places = _clustered(edge.at for edge in edges)
    joined: list[_Edge] = []
    for edge in sorted(edge._replace(at=_nearest(places, edge.at)) for edge in edges):
        last = joined[-1] if joined else None
        if last and last.at == edge.at and edge.start <= last.end + _SAME_LINE:
            joined[-1] = last._replace(end=max(last.end, edge.end))
        else:
            joined.append(edge)
    return [edge for edge in joined if edge.end - edge.start >= _MIN_EDGE]


def _clustered(places: Iterable[float]) -> list[float]:
    clusters: list[list[float]] = []
    for place in sorted(places):
        if clusters and place - clusters[-1][0] < _SAME_LINE:
            clusters[-1].append(place)
        else:
            clusters.append([place])
    return [sum(cluster) / len(cluster) for cluster in clusters]


def _nearest(places: Sequence[float], at: float) -> float:
    return min(places, key=lambda place: abs(place - at))


def _grids(lying: Sequence[_Edge], upright: Sequence[_Edge]) -> Iterator[tuple[list[float], list[float]]]:
    """Yield where the rows (downwards) and columns of each grid are bounded: lines that cross or touch."""
    lying_left = list(lying)
    while lying_left:
        own_lying, own_upright = [lying_left.pop()], list[_Edge]()
        grew = True
        while grew:
            met = [one for one in upright if one not in own_upright and any(_touch(two, one) for two in own_lying)]
            own_upright += met
            also = [one for one in lying_left if any(_touch(one, two) for two in own_upright)]
            own_lying += also
            lying_left = [one for one in lying_left if one not in also]
            grew = bool(met or also)
        rows_at, columns_at = _clustered(e.at for e in own_lying)[::-1], _clustered(e.at for e in own_upright)
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
        return [_box(content, at, at + 1) for at in range(word.start, word.end)]
    return [word]


def _ruled_rows(
    words: Sequence[Box],
    text: str,
    rows_at: Sequence[float],
    columns_at: Sequence[float],
    lying: Sequence[_Edge],
    upright: Sequence[_Edge],
) -> list[list[str]]:
    """Return the text of each cell; a cell over several rows is repeated in each, one over several columns is not."""
    bands, columns = list(pairwise(rows_at)), list(pairwise(columns_at))
    # The cell that a cell is part of: itself, the one to its left, or the one above it.
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (top, bottom) in enumerate(bands):
        for column, (left, right) in enumerate(columns):
            middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
            if column and not _is_drawn(upright, left, middle_y):
                owner[row, column] = owner[row, column - 1]
            elif row and not _is_drawn(lying, top, middle_x):
                owner[row, column] = owner[row - 1, column]
            else:
                owner[row, column] = (row, column)
    held: dict[tuple[int, int], list[Box]] = {}
    for word in words:
        row = next((at for at, (_, bottom) in enumerate(bands) if word.middle > bottom), len(bands) - 1)
        center = (word.left + word.right) / 2
        column = next((at for at, (_, right) in enumerate(columns) if center < right), len(columns) - 1)
        held.setdefault(owner[row, column], []).append(word)
    return [
        [
            _cell_text(held.get(own, ()), text) if own[1] == column else ""
            for column in range(len(columns))
            for own in [owner[row, column]]
        ]
        for row in range(len(bands))
    ]


def _is_drawn(edges: Sequence[_Edge], at: float, through: float) -> bool:
    return any(abs(edge.at - at) < _SAME_LINE and edge.start <= through <= edge.end for edge in edges)


# Aligned tables


def _lines(words: Sequence[Box]) -> list[list[Box]]:
    """Return the lines of a page from the top, each as stretches that stand apart."""
    stretches: list[Box] = []
    for word in words:
        last = stretches[-1] if stretches else None
        if (
            last
            and _is_beside(last, word)
            and 0 <= word.left - last.right + word.height < (1 + _COLUMN_GAP) * word.height
        ):
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


class _Column:
    """A column as it grows: its bounds, and what stands in it by line."""

    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right
        self.cells: dict[int, list[Box]] = {}

    def add(self, number: int, stretch: Box) -> None:
        self.cells.setdefault(number, []).append(stretch)
        self.left, self.right = min(self.left, stretch.left), max(self.right, stretch.right)

    def meets(self, stretch: Box) -> bool:
        room = _ROOM * stretch.height
        return stretch.left - room < self.right and self.left < stretch.right + room


def _aligned_tables(lines: Sequence[list[Box]], text: str, above: PageTable | None) -> Iterator[PageTable]:
    at = 0
    while at < len(lines):
        found = _aligned_at(lines, at, text, None)
        if found is None and above is not None and at < _MAX_LINES_ABOVE:
            found = _aligned_at(lines, at, text, above)
        if found is None:
            at += 1
        else:
            table, at = found
            yield table


def _aligned_at(
    lines: Sequence[list[Box]], at: int, text: str, above: PageTable | None
) -> tuple[PageTable, int] | None:
    """Return the table whose header is a line, or that goes on with the rows of `above`, and the line after it."""
    if above is not None:
        columns = [_Column(left, right) for left, right in above.columns]
    elif _is_header(lines[at], text):
        columns = [_Column(stretch.left, stretch.right) for stretch in lines[at]]
    else:
        return None
    end = at
    while end < len(lines) and (end == at or _distance(lines, end) < _TABLE_GAP * lines[end][0].height):
        if not _take_line(lines[end], end, columns, may_widen=above is None):
            break
        end += 1
    while end > at and sum(end - 1 in column.cells for column in columns) < 2:
        end -= 1
    columns = [column for column in _with_headers(columns, at) if any(number < end for number in column.cells)]
    numbered = _rows_of_lines(lines, at, end, columns)
    rows = [[_cell_text(_boxes(column, numbers, end), text) for column in columns] for numbers in numbered]
    if not _looks_like_table(rows if above is None else [[], *rows], len(columns)):
        return None
    start = at
    if above is None and at > 0 and _add_names_above(lines, at, columns, text, rows):
        start -= 1
    words = [stretch for line in lines[start:end] for stretch in line]
    return PageTable(rows, tuple((column.left, column.right) for column in columns), words), end


def _is_header(line: Sequence[Box], text: str) -> bool:
    names = [text[stretch.start : stretch.end] for stretch in line]
    return len(names) > 1 and all(is_label(name) and display_width(name) <= _MAX_HEADER_WIDTH for name in names)


def _distance(lines: Sequence[list[Box]], number: int) -> float:
    """Return how far a line stands under the one before it."""
    return lines[number - 1][0].middle - lines[number][0].middle


def _take_line(line: Sequence[Box], number: int, columns: list[_Column], *, may_widen: bool) -> bool:
    """Put each stretch of a line into its column; return False, with nothing done, where one runs over two."""
    placed: list[tuple[Box, _Column]] = []
    for stretch in line:
        met = [column for column in columns if column.meets(stretch)]
        if len(met) > 1 or not (met or may_widen):
            return False
        placed.append((stretch, met[0] if met else _Column(stretch.left, stretch.right)))
    for stretch, column in placed:
        column.add(number, stretch)
        if column not in columns:
            columns.append(column)
    columns.sort(key=lambda column: column.left)
    return True


def _with_headers(columns: Sequence[_Column], header: int) -> list[_Column]:
    """Return the columns, a header that stands beside its cells and not above them put together with them."""
    kept: list[_Column] = []
    for column in columns:
        before = kept[-1] if kept else None
        if (
            before
            and ({header} in (set(before.cells), set(column.cells)))
            and before.cells.keys().isdisjoint(column.cells)
        ):
            for number, stretches in column.cells.items():
                for stretch in stretches:
                    before.add(number, stretch)
        else:
            kept.append(column)
    return kept


def _boxes(column: _Column, numbers: Iterable[int], end: int) -> list[Box]:
    return [box for number in numbers if number < end for box in column.cells.get(number, ())]


def _rows_of_lines(lines: Sequence[list[Box]], at: int, end: int, columns: Sequence[_Column]) -> list[list[int]]:
    """Return the lines of each row: one without the first cell belongs to the nearest row if it stands close to it."""
    full = [
        number in columns[0].cells and sum(number in column.cells for column in columns) > 1
        for number in range(at, end)
    ]
    full[:1] = [True]
    pitches = [_distance(lines, at + index) for index in range(1, end - at) if full[index - 1] and full[index]]
    closest = min((0.8 * median(pitches) if pitches else 1e9), _CELL_LEADING * lines[at][0].height)
    rows = [[at]]
    starts_next = False
    for index in range(1, end - at):
        number = at + index
        above = _distance(lines, number)
        below = _distance(lines, number + 1) if number + 1 < end else 1e9
        if starts_next or (not full[index] and above < closest and above <= below):
            rows[-1].append(number)
        else:
            rows.append([number])
        starts_next = not full[index] and below < closest and below < above
    return rows


def _looks_like_table(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether rows under a header are a table: no prose, few empty cells, and a column of short figures."""
    body = rows[1:]
    if width < 2 or len(body) < (2 if rows[0] else 1):
        return False
    filled = [[cell for row in body if (cell := row[column])] for column in range(width)]
    is_prose = any(sum(map(display_width, cells)) > _MAX_MEAN_WIDTH * len(cells) for cells in filled)
    has_figures = any(
        2 * sum(bool(_FIGURE.search(cell)) and display_width(cell) <= _MAX_FIGURE_WIDTH for cell in cells) > len(body)
        for cells in filled[1:]
    )
    return has_figures and not is_prose and sum(map(len, filled)) >= _MIN_FILLED * width * len(body)


def _add_names_above(
    lines: Sequence[list[Box]], at: int, columns: Sequence[_Column], text: str, rows: list[list[str]]
) -> bool:
    """Add the line above a header if it is part of it: names over some columns, or the first lines of wrapped names."""
    line = lines[at - 1]
    if _distance(lines, at) > _TABLE_GAP / 2 * line[0].height:
        return False
    names: dict[int, str] = {}
    covered = 0
    for stretch in line:
        over = [index for index, column in enumerate(columns) if column.meets(stretch)]
        name = text[stretch.start : stretch.end]
        if not over or 0 in over or not is_label(name) or over[0] in names:
            return False
        names[over[0]] = name
        covered += len(over)
    row = [names.get(index, "") for index in range(len(columns))]
    if covered == len(names):
        rows[0] = [f"{upper} {lower}".strip() for upper, lower in zip(row, rows[0], strict=True)]
    else:
        rows.insert(0, row)
    return True
