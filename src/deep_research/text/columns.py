"""Columns of a table, their cells read as numbers and dates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deep_research.text.analyzer import content_terms
from deep_research.text.dates import ANY_YEAR, find_dates, find_months
from deep_research.text.quantities import find_quantities

_NUMBER_CELL = re.compile(r"[-+]?(?:[€$£¥]|[A-Z]{3})?\s?\d[\d,. ]*\s?[^\W\d]{0,8}\.?%?")
_MONTH_CELL = re.compile(r"((?:19|20)\d\d)[-/.年](1[0-2]|0?[1-9])月?")
_DAY_CELL = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
# British and American endings: "litre", "liter".
_RE = re.compile(r"(?<=[^\W\daeiou])re(?=s?\b)")
OF_YEARS = re.compile(r"year|season|\bfy|年|季", re.IGNORECASE)


@dataclass(frozen=True)
class TextColumn:
    """A column: its label and its cells, read as numbers and dates."""

    label: str
    cells: tuple[str, ...]
    # Of this year are months that name none.
    year: str = ANY_YEAR

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return the terms of the label."""
        return label_terms(self.label)

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """Return the cells' numbers."""
        return tuple(map(_number, self.cells))

    @cached_property
    def dates(self) -> tuple[str, ...]:
        """Return the cells' dates, "" where there is none; four digits are a year where the label says so."""
        has_years = OF_YEARS.search(self.label) is not None
        # 07/04/2025 is in April if another cell is 22/04/2025.
        found = [(int(match[1]), int(match[2])) for match in map(_DAY_CELL.match, self.cells) if match]
        orders = {r"\3-\2-\1": any(day > 12 for day, _ in found), r"\3-\1-\2": any(day > 12 for _, day in found)}
        order = next((order for order, is_sure in orders.items() if is_sure), r"\g<0>")
        return tuple(
            "" if cell.isdigit() and not has_years else read_date(_DAY_CELL.sub(order, cell), self.year)
            for cell in self.cells
        )

    @cached_property
    def cell_type(self) -> str:
        """Return what most cells are: "date", "number" or "text"."""
        half = sum(map(bool, self.cells)) / 2
        if sum(map(bool, self.dates)) > half:
            return "date"
        return "number" if sum(number is not None for number in self.numbers) > half else "text"

    def rows_with(self, cells: set[str]) -> set[int]:
        """Return the rows that have one of these cells."""
        return {at for at, cell in enumerate(self.cells) if cell in cells}


def label_terms(text: str) -> frozenset[str]:
    """Return the terms of a label, or of a question that is held against labels, in one spelling."""
    return frozenset(content_terms(_RE.sub("er", text.replace("_", " ").lower())))


def _number(cell: str) -> float | None:
    if not _NUMBER_CELL.fullmatch(cell.strip()):
        return None
    if found := find_quantities(cell):
        return found[0].value
    digits = re.sub(r"[^\d.+-]", "", cell)
    return float(digits) if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", digits) else None


def read_date(text: str, year: str = "") -> str:
    """Return the first date of a text, or the month that a cell is, of this year if it names none; "" for none."""
    if match := _MONTH_CELL.fullmatch(text.strip()):
        return f"{match[1]}-{int(match[2]):02}"
    months = [f"{year}{month.iso[4:]}" for month in find_months(text) if year and month.raw == text.strip()]
    return next((mention.iso for mention in find_dates(text)), "".join(months))


def columns_of(labels: Sequence[str], rows: Sequence[Sequence[str]], year: str = ANY_YEAR) -> list[TextColumn]:
    """Return the columns of a table; months that name no year are of this one."""
    return [
        TextColumn(label, tuple(row[at] if at < len(row) else "" for row in rows), year)
        for at, label in enumerate(labels)
    ]
