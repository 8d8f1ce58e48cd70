"""Tables as text, the cells apart by commas, semicolons, tabs or bars: each row with its range of cells as place."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from deep_research.documents.readers.encoding import decode
from deep_research.documents.readers.grid import GridRow, add_grid
from deep_research.documents.readers.port import MAX_COLUMNS, MAX_ROWS, BlockText, Reading, one_line
from deep_research.errors import SourceError

_DELIMITERS = (",", "\t", ";", "|")
_STATED = re.compile(r"\Asep=([,;|\t])\n", re.IGNORECASE)
_LINE = re.compile(r".+\n?|\n")
_SAMPLE_CHARS, _SAMPLE_ROWS = 20_000, 100
# Far more than fits the columns that are read.
_MAX_LINE_CHARS = 1_000_000


def read(raw: bytes, name: str) -> Reading:
    """Return the rows of the file as tables; blank lines keep tables apart."""
    text, encoding = decode(raw, name)
    try:
        records = _records(_STATED.sub("", text), _delimiter(text))
        # One column more than is read tells that there are more.
        rows = [cells[: MAX_COLUMNS + 1] for cells in islice(records, MAX_ROWS + 1)]
    except csv.Error as exc:
        raise SourceError(
            f"{name!r} cannot be read as a table ({exc}); look for a quotation mark that is never closed."
        ) from exc
    blocks = BlockText()
    shown = (tuple(map(one_line, cells[:MAX_COLUMNS])) for cells in rows[:MAX_ROWS])
    add_grid((GridRow(number, cells) for number, cells in enumerate(shown, start=1)), blocks, "")
    warnings = [f"some characters could not be read as {encoding}"] if "\ufffd" in text else []
    if len(rows) > MAX_ROWS:
        warnings.append(f"only the first {MAX_ROWS} rows were read; split the file into smaller ones")
    if any(len(cells) > MAX_COLUMNS for cells in rows):
        warnings.append(f"only the first {MAX_COLUMNS} columns were read")
    if any(len(line[0]) > _MAX_LINE_CHARS for line in _LINE.finditer(text)):
        warnings.append(f"only the first {_MAX_LINE_CHARS} characters of a line were read")
    return Reading(text=blocks.text(), places=blocks.places(), warnings=tuple(warnings))


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    lines = (_shortened(line[0], delimiter) for line in _LINE.finditer(text))
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def _shortened(line: str, delimiter: str) -> str:
    """Return a line as far as it is read, without a cell that would be cut in two."""
    if len(line) <= _MAX_LINE_CHARS:
        return line
    start = line[:_MAX_LINE_CHARS].rpartition(delimiter)[0]
    return start + '"' * (start.count('"') % 2) + "\n"


def _delimiter(text: str) -> str:
    """Return the sign that the first line states as Excel does, or that cuts most rows into equally many cells."""
    if stated := _STATED.match(text):
        return stated[1]

    def evenness(delimiter: str) -> tuple[int, int]:
        try:
            rows = list(islice(_records(text[:_SAMPLE_CHARS], delimiter), _SAMPLE_ROWS))
        except csv.Error:
            return 0, 0
        widths = Counter(len(row) for row in rows if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return max(_DELIMITERS, key=evenness)
