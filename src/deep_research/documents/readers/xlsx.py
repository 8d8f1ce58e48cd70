"""Excel workbooks: each sheet's tables row by row, values as they were last shown, cell ranges as places."""

import io
import re
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

import openpyxl
from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell
from openpyxl.utils.datetime import to_excel
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from deep_research.documents.readers.archive import DAMAGE, checked_names, day_saved
from deep_research.documents.readers.grid import GridRow, add_grid, column_letters
from deep_research.documents.readers.number_format import is_date_format, shown
from deep_research.documents.readers.port import MAX_COLUMNS, MAX_ROWS, MAX_SHEETS, BlockText, Reading, one_line
from deep_research.errors import SourceError

_TOOL_NAMES = frozenset({"openpyxl", "xlsxwriter", "apache poi"})
# A formula that no program has worked out yet: nothing, or an empty value, after it.
_UNCOUNTED = re.compile(rb"(?:</f>|<f/>)\s*(?:(?:<v\s*/>|<v>\s*</v>)\s*)?</c>")
# Programs that write sheets put 12 under a format that shows 0.12 as 12%; so many cells tell it from true multiples.
_MIN_PERCENTS = 3
_SCANNED_BYTES = 20_000_000


def read(raw: bytes, name: str) -> Reading:
    """Return a workbook's sheets as tables, each row with its range of cells as place."""
    entries = checked_names(raw, name)
    blocks = BlockText()
    try:
        with warnings.catch_warnings():
            # openpyxl remarks on what it does not keep; it is only read here.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
            try:
                remarks = [remark for sheet in book.worksheets[:MAX_SHEETS] for remark in _add_sheet(sheet, blocks)]
                properties, sheet_count = book.properties, len(book.worksheets)
            finally:
                book.close()
        uncounted = _uncounted(raw, entries)
    except (*DAMAGE, InvalidFileException) as exc:
        raise SourceError(
            f"{name!r} is damaged: its sheets cannot be read; open it in Excel and save it again."
        ) from exc
    if sheet_count > MAX_SHEETS:
        remarks.append(f"only the first {MAX_SHEETS} of {sheet_count} sheets were read")
    if uncounted:
        remarks.append(f"{uncounted} formulas have no stored value; open the file in Excel and save it to count them")
    author = one_line(properties.creator or "")
    return Reading(
        text=blocks.text(),
        title=one_line(properties.title or ""),
        author="" if author.lower() in _TOOL_NAMES else author,
        published=day_saved(properties.modified, properties.created),
        places=blocks.places(),
        warnings=tuple(remarks),
    )


def _add_sheet(sheet: ReadOnlyWorksheet, blocks: BlockText) -> Iterator[str]:
    """Add a sheet and yield what there is to say about it."""
    rows: list[list[str]] = []
    percents: dict[int, list[tuple[int, float, str]]] = defaultdict(list)
    is_wide = False
    # Sheets may state a size of a million rows by 16,384 columns and hold nothing there: each row tells its own.
    sheet.reset_dimensions()
    for cells in sheet.iter_rows(max_row=MAX_ROWS + 1):
        is_wide = is_wide or any(cell.value is not None for cell in cells[MAX_COLUMNS:])
        rows.append([_shown(cell) for cell in cells[:MAX_COLUMNS]])
        for column, text in enumerate(rows[-1]):
            if text.endswith("%") and isinstance(cells[column].value, int | float):
                percents[column].append((len(rows) - 1, cells[column].value, cells[column].number_format))
    mended = [column for column, found in percents.items() if _are_whole_percents([value for _, value, _ in found])]
    for column in mended:
        for row, value, number_format in percents[column]:
            rows[row][column] = shown(value / 100, number_format)
    blocks.end_place()
    if any(map(any, rows)):
        blocks.heading(sheet.title, 2)
    numbered = (GridRow(number, tuple(cells)) for number, cells in enumerate(rows[:MAX_ROWS], start=1))
    add_grid(numbered, blocks, sheet.title)
    if sheet.sheet_state != "visible":
        yield f"the hidden sheet {sheet.title!r} was read too"
    if len(rows) > MAX_ROWS:
        yield f"only the first {MAX_ROWS} rows of the sheet {sheet.title!r} were read"
    if is_wide:
        yield f"only the first {MAX_COLUMNS} columns of the sheet {sheet.title!r} were read"
    if mended:
        columns = ", ".join(map(column_letters, sorted(mended)))
        yield f"column {columns} of {sheet.title!r} stores 12% as 12, which Excel shows as 1200%; it was read as 12%"


def _are_whole_percents(values: list[float]) -> bool:
    """Return whether a column of percentages was filled with whole numbers: none below 100%, all up to 10,000%."""
    sizes = list(map(abs, values))
    return len(sizes) >= _MIN_PERCENTS and all(not 0 < size < 1 for size in sizes) and 3 < max(sizes) <= 100


def _shown(cell: ReadOnlyCell | EmptyCell) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, str):
        return one_line(value)
    number_format = str(cell.number_format or "")
    if isinstance(value, datetime | date | time | timedelta) and not is_date_format(number_format):
        # In formats such as $0.0M, openpyxl takes the M for a month.
        value = round(float(to_excel(value)), 9)
    return one_line(shown(value, number_format))


def _uncounted(raw: bytes, entries: frozenset[str]) -> int:
    """Return how many formulas hold no value, as far as the beginnings of the sheets show it."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        sheets = (entry for entry in entries if entry.startswith("xl/worksheets/") and entry.endswith(".xml"))
        return sum(len(_UNCOUNTED.findall(archive.open(sheet).read(_SCANNED_BYTES))) for sheet in sheets)
