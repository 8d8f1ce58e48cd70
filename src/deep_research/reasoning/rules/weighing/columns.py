"""Series in tables: columns by the names or times of their rows, columns that are times, rows that two names part."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from deep_research.reasoning.rules.quoting.units import cells_of
from deep_research.reasoning.rules.weighing.series import MAX_LINES, MIN_POINTS, Series, unit_of
from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import DataRow
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates, find_months
from deep_research.text.quantities import Quantity, find_quantities

_MAX_POINTS, _MAX_BARS, _MAX_LABEL_CHARS = 40, 15, 60
_ID_DIGITS = 3
# Of a column's cells, so many are figures.
_MIN_SHARE = 0.6
# "Less than 5" is no point of a line.
_LIMIT = re.compile(r"(?i)[<>≤≥~≈]|\b(?:less|more|under|over|up to|at (?:least|most))\b|不足|超过|超過|以[上下]")
_TOTAL = re.compile(
    r"(?i)\W*(?:(?:grand|sub)[ -]?)?(?:total|sum|overall|average|mean|median|all)\b"
    r"|.{0,6}(?:合计|总计|小计|共计|平均|合計|總計|小計|共計)"
)
_SUM_ROUNDING = 0.005
# What only numbers the rows is no value.
_NUMBERING = re.compile(
    r"(?i)(?:no|nr|number|#|rank|row|page|slide|index|year|month|week|day)\.?|.*\b(?:id|code)"
    r"|.*(?:序号|编号|页码|排名|代码|年份|序號|編號|頁碼|代碼)"
)
_YES_OR_NO = re.compile(r"(?i)true|false|yes|no|n/a|是|否|有|无|無|-")
_UNIT = re.compile(r"\s*[(（\[]([^)）\]]+)[)）\]]")


@dataclass(frozen=True)
class FigureColumn:
    """The cells of a table under one label, "" where a row has none."""

    label: str
    cells: tuple[str, ...]

    @cached_property
    def figures(self) -> list[Quantity | None]:
        """Return the figure of each cell that is one figure and nothing else."""
        return [_figure(cell) for cell in self.cells]

    @cached_property
    def dates(self) -> list[str]:
        """Return the time that each cell is, "" for one that is none."""
        return [_date(cell) for cell in self.cells]

    @property
    def name(self) -> str:
        """Return what is measured."""
        return _UNIT.sub("", self.label).strip()

    @property
    def unit(self) -> str:
        """Return what it is measured in, in the table's own words."""
        told = {unit_of(figure) for figure in self.figures if figure}
        named = _UNIT.search(self.label)
        return named[1].strip() if named and told == {""} else min(told)

    @property
    def is_value(self) -> bool:
        """Return whether it holds values of one unit that differ, and does not just number the rows."""
        found = [figure for figure in self.figures if figure]
        if len(found) < max(1, _MIN_SHARE * len(self.cells)) or _NUMBERING.fullmatch(self.name):
            return False
        values = [figure.value for figure in found]
        steps = {after - before for before, after in pairwise(values)}
        is_numbering = not found[0].unit and not _UNIT.search(self.label) and steps in ({1.0}, {-1.0})
        return len({figure.unit for figure in found}) == 1 and len({*values}) > 1 and not is_numbering

    @property
    def is_name(self) -> bool:
        """Return whether it tells rows apart: by short words, none of them a remark, a figure or a yes or no."""
        return (
            all(cell and len(cell) <= _MAX_LABEL_CHARS and cell[-1] not in ".。!！" for cell in self.cells)
            and not all(map(_YES_OR_NO.fullmatch, self.cells))
            and len({*self.cells}) > 1
            and not any(self.figures)
            and not all(self.dates)
        )


def _figure(cell: str) -> Quantity | None:
    found = find_quantities(cell)
    if len(found) != 1 or _LIMIT.search(cell) or content_terms(cell.replace(found[0].raw, "")):
        return None
    return found[0]


def _date(cell: str) -> str:
    found = find_dates(cell)
    return found[0].iso if len(found) == 1 and not content_terms(cell.replace(found[0].raw, "")) else ""


def series_of_table(rows: Sequence[Evidence], *, subject: str, when: str) -> Iterator[Series]:
    """Yield the series of a table by its rows; `subject` is the heading above it, `when` a period that it names."""
    cells = [dict(cells_of(piece.finding)) for piece in rows]
    labels = list(dict.fromkeys(label for row in cells for label in row))
    columns = [FigureColumn(label, tuple(row.get(label, "") for row in cells)) for label in labels]
    totals = _totals(columns)
    kept = [at for at in range(len(rows)) if at not in totals]
    if kept:
        parts = [FigureColumn(each.label, tuple(each.cells[at] for at in kept)) for each in columns]
        table = _FigureTable([rows[at] for at in kept], parts, subject, when)
        yield from table.by_columns()
        yield from table.by_rows()


def _totals(columns: Sequence[FigureColumn]) -> set[int]:
    """Return which rows are totals or means of the others: they say so, or the first or last is the sum of the rest."""
    count = len(columns[0].cells)
    found = {at for each in columns if each.is_name for at, cell in enumerate(each.cells) if _TOTAL.match(cell)}
    for each in columns:
        values = [figure.value for figure in each.figures if figure]
        if each.is_value and len(values) == count > MIN_POINTS:
            ends = (0, count - 1)
            found |= {at for at in ends if abs(sum(values) - 2 * values[at]) < _SUM_ROUNDING * abs(values[at])}
    return found


@dataclass(frozen=True)
class _FigureTable:
    """Rows without totals, with what stands above them."""

    rows: Sequence[Evidence]
    columns: Sequence[FigureColumn]
    subject: str
    when: str

    def by_columns(self) -> Iterator[Series]:
        """Yield the series of columns that differ only in their time: "2021", "2022"; "Share in 2020", "in 2025"."""
        names = next((each for each in self.columns if each.is_name), None)
        if not names or len({*names.cells}) < len(self.rows):
            return
        measures: dict[str, dict[str, FigureColumn]] = {}
        for each in self.dated:
            date = find_dates(each.label)[0]
            measures.setdefault(" ".join(each.name.replace(date.raw, " ").split()), {})[date.iso] = each
        for measure, columns in measures.items():
            figures = [[one.figures[at] for one in columns.values()] for at in range(len(self.rows))]
            told = [{unit_of(figure) for figure in row if figure} for row in figures]
            for unit in sorted({min(each) for each in told if len(each) == 1}):
                places = [at for at, each in enumerate(told) if each == {unit}]
                yield from self._of_columns(measure, unit, dict(sorted(columns.items())), names, places)

    @cached_property
    def dated(self) -> list[FigureColumn]:
        """Return the columns of figures that name a time."""
        return [each for each in self.columns if all(each.figures) and len(find_dates(each.label)) == 1]

    def _of_columns(
        self, measure: str, unit: str, columns: dict[str, FigureColumn], names: FigureColumn, places: Sequence[int]
    ) -> Iterator[Series]:
        """Yield a line for each row; of two times, or of many rows, bars."""
        is_line = len(columns) >= MIN_POINTS and len(places) <= MAX_LINES
        if not is_line and len(columns) > 2:
            columns = dict(list(columns.items())[-1:])
        if len(columns) < 2 or not (is_line or MIN_POINTS <= len(places) <= _MAX_BARS):
            return
        rows = []
        for at in places:
            for date, column in columns.items():
                label, series = (date, names.cells[at]) if is_line else (names.cells[at], date)
                series = "" if is_line and len(places) == 1 else series
                if figure := column.figures[at]:
                    rows.append(DataRow(label=label, value=figure.value, evidence=self.rows[at].id, series=series))
        unit = unit or next((found[1] for each in columns.values() if (found := _UNIT.search(each.label))), "")
        if is_line and len(places) == 1:
            measure = names.cells[places[0]]
        elif not measure:
            measure = self.subject or names.name
        when = "" if is_line else "–".join((min(columns), max(columns)))
        yield Series(measure, unit, tuple(rows), is_line, self.subject, when=when, origin=self.rows[0].header)

    def by_rows(self) -> Iterator[Series]:
        """Yield the series of columns of figures, each by the names or times of its rows."""
        times = self.times
        names = [each for each in self.columns if each.is_name]
        first = next((each for each in self.columns if each is times or each in names), None)
        for column in self.columns:
            if not first or not column.is_value or (column in self.dated and len(self.dated) > 1):
                continue
            # Days and months beside names tell of them; years and quarters say what the figures are of.
            are_long = times and all(len(date) == len("2024") or "Q" in date for date in times.dates)
            if times and (times not in self.columns or first is times or are_long):
                yield from self._by_time(column, times, [each for each in names if each.label not in times.label])
            elif len({*first.cells}) == len(first.cells):
                yield from self._bars(column, first, range(len(self.rows)), self.when)

    @property
    def times(self) -> FigureColumn | None:
        """Return the column of times; a column of years and one of months or quarters are one."""
        found = next((each for each in self.columns if all(each.dates)), None)
        if found and all(len(date) == 4 for date in found.dates):
            for each in self.columns:
                parts = [_part_of_year(cell) for cell in each.cells]
                if all(parts):
                    joined = tuple(f"{year}-{part}" for year, part in zip(found.dates, parts, strict=True))
                    return FigureColumn(f"{found.label} {each.label}", joined)
        return found

    def _by_time(self, column: FigureColumn, times: FigureColumn, names: Sequence[FigureColumn]) -> Iterator[Series]:
        """Yield the line of a column; where rows are of several things, a line for each, or the bars of one time."""
        if not names:
            yield from self._line(column, times, [""] * len(self.rows))
        for name in names[:1]:
            counts = Counter(name.cells)
            is_only = all(len({*zip(name.cells, each.cells, strict=True)}) == len(counts) for each in names)
            if is_only and len(counts) <= MAX_LINES and min(counts.values()) >= MIN_POINTS:
                yield from self._line(column, times, name.cells)
                continue
            for date in sorted({*times.dates}, reverse=True):
                places = [at for at, each in enumerate(times.dates) if each == date]
                if len(places) >= MIN_POINTS:
                    yield from self._bars(column, name, places, date)
                    break

    def _line(self, column: FigureColumn, times: FigureColumn, series: Sequence[str]) -> Iterator[Series]:
        rows = [
            DataRow(label=times.dates[at], value=figure.value, evidence=self.rows[at].id, series=series[at])
            for at, figure in enumerate(column.figures)
            if figure
        ]
        labels = {(row.series, row.label) for row in rows}
        if len(labels) == len(rows) <= _MAX_POINTS and len({row.label for row in rows}) >= MIN_POINTS:
            rows.sort(key=lambda row: row.label)
            yield Series(column.name, column.unit, tuple(rows), True, self.subject, origin=self.rows[0].header)

    def _bars(self, column: FigureColumn, names: FigureColumn, places: Sequence[int], when: str) -> Iterator[Series]:
        rows = [
            DataRow(label=names.cells[at], value=figure.value, evidence=self.rows[at].id)
            for at in places
            if (figure := column.figures[at])
        ]
        # Numbers of one length that only grow from row to row are those of rooms, telephones, customers.
        values, lengths = [row.value for row in rows], {len(f"{row.value:g}") for row in rows}
        if not column.unit and values == sorted(values) and len(lengths) == 1 and min(lengths) >= _ID_DIGITS:
            return
        if MIN_POINTS <= len({row.label for row in rows}) == len(rows) <= _MAX_BARS:
            dates = find_dates(f"{column.label} {names.label}")
            when = dates[0].iso if len(dates) == 1 else when
            yield Series(
                column.name, column.unit, tuple(rows), False, self.subject, names.name, when, self.rows[0].header
            )


def _part_of_year(cell: str) -> str:
    """Return a quarter as Q2 or a month as 07, "" for what is neither."""
    if re.fullmatch(r"Q[1-4]", cell):
        return cell
    months = find_months(cell)
    return months[0].iso[5:] if len(months) == 1 and months[0].raw == cell else ""
