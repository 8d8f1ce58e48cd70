"""Series in tables: a column by its rows' names or times, columns that are times, and rows that two names tell apart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from deep_research.evidence.passage import Evidence
from deep_research.reasoning.rules.quoting.units import cells_of
from deep_research.reasoning.rules.weighing.series import MIN_POINTS, Series, unit_of
from deep_research.report.figure import DataRow
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates
from deep_research.text.quantities import Quantity, find_quantities

_MAX_POINTS, _MAX_BARS, _MAX_SERIES, _MAX_LABEL_CHARS = 40, 15, 6, 60
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
class Column:
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
        steps = {after - before for before, after in zip(values, values[1:], strict=False)}
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


def series_of_table(rows: Sequence[Evidence], *, subject: str = "", when: str = "") -> Iterator[Series]:
    """Yield the series of a table, given by its rows; `subject` is the heading above it, `when` a period named there."""
    cells = [dict(cells_of(piece.finding)) for piece in rows]
    labels = list(dict.fromkeys(label for row in cells for label in row))
    columns = [Column(label, tuple(row.get(label, "") for row in cells)) for label in labels]
    totals = _totals(columns)
    keep = [at for at in range(len(rows)) if at not in totals]
    columns = [Column(each.label, tuple(each.cells[at] for at in keep)) for each in columns]
    table = _Table([rows[at] for at in keep], columns, subject, when)
    if MIN_POINTS <= len(keep) <= _MAX_POINTS or len(table.dated) >= MIN_POINTS:
        yield from table.wide()
        yield from table.long()


def _totals(columns: Sequence[Column]) -> set[int]:
    """Return which rows are totals or means of the others: they say so, or the first or last is the sum of the rest."""
    count = len(columns[0].cells) if columns else 0
    found = {at for each in columns if each.is_name for at, cell in enumerate(each.cells) if _TOTAL.match(cell)}
    for each in columns:
        values = [figure.value for figure in each.figures if figure]
        if each.is_value and len(values) == count > MIN_POINTS and not find_dates(each.label):
            rest = {at: sum(values) - values[at] for at in (0, count - 1)}
            found |= {at for at, total in rest.items() if abs(values[at] - total) < _SUM_ROUNDING * abs(total)}
    return found


@dataclass(frozen=True)
class _Table:
    rows: Sequence[Evidence]
    columns: Sequence[Column]
    subject: str
    when: str

    @property
    def origin(self) -> str:
        return self.rows[0].header

    @cached_property
    def dated(self) -> list[Column]:
        """Return the columns of figures that are times: "2021", "Share in 2025"."""
        values = [each for each in self.columns if any(each.figures) and len(find_dates(each.label)) == 1]
        return [each for each in values if sum(map(bool, each.figures)) >= _MIN_SHARE * len(each.cells)]

    def wide(self) -> Iterator[Series]:
        """Yield the series of columns that differ only in their time."""
        named = next((each for each in self.columns if each.is_name), None)
        kinds: dict[str, list[Column]] = {}
        for each in self.dated:
            date = find_dates(each.label)[0]
            kinds.setdefault(" ".join(each.name.replace(date.raw, " ").split()), []).append(each)
        for measure, columns in kinds.items():
            dates = [find_dates(each.label)[0].iso for each in columns]
            if len(columns) < 2 or len({*dates}) < len(dates) or named is None or len({*named.cells}) < len(self.rows):
                continue
            units = [
                {unit_of(each.figures[at]) for each in columns if each.figures[at]} for at in range(len(self.rows))
            ]
            for unit in sorted({min(each) for each in units if len(each) == 1}):
                places = [at for at, each in enumerate(units) if each == {unit}]
                in_words = _UNIT.search(columns[0].label)
                unit = unit or (in_words[1] if in_words else "")
                yield from self._by_time(measure, unit, columns, dates, named, places)

    def _by_time(
        self,
        measure: str,
        unit: str,
        columns: Sequence[Column],
        dates: Sequence[str],
        named: Column,
        places: Sequence[int],
    ) -> Iterator[Series]:
        is_line = len(columns) >= MIN_POINTS and len(places) <= _MAX_SERIES
        if not is_line and not (MIN_POINTS <= len(places) <= _MAX_BARS):
            return
        if not is_line:
            latest = sorted(zip(dates, columns, strict=True), key=lambda each: each[0])[-2:]
            dates, columns = zip(*(latest if len(columns) == 2 else latest[-1:]), strict=True)
        rows = []
        for at in places:
            for date, column in zip(dates, columns, strict=True):
                if figure := column.figures[at]:
                    name = named.cells[at]
                    is_one = len(places if is_line else columns) == 1
                    label, series = (date, name) if is_line else (name, date)
                    rows.append(
                        DataRow(
                            label=label, value=figure.value, evidence=self.rows[at].id, series="" if is_one else series
                        )
                    )
        if is_line and len(places) == 1:
            measure = named.cells[places[0]]
        when = "" if is_line else "–".join(dict.fromkeys((min(dates), max(dates))))
        made = Series(
            measure or named.name,
            unit,
            tuple(sorted(rows, key=lambda row: row.label) if is_line else rows),
            is_line,
            self.subject,
            "" if is_line or not measure else named.name,
            when,
            self.origin,
        )
        yield made

    def long(self) -> Iterator[Series]:
        """Yield the series of columns of figures, each by the names or times of its rows."""
        periods = next((each for each in self.columns if all(each.dates)), None)
        names = [each for each in self.columns if each.is_name]
        first = next((each for each in self.columns if each is periods or each in names), None)
        for column in self.columns:
            if not column.is_value or (column in self.dated and len(self.dated) > 1) or first is None:
                continue
            # Days and months beside names tell something about them; years and quarters say what the figure is of.
            is_of_period = periods is not None and (
                first is periods or all(len(date) < 8 and (len(date) == 4 or "Q" in date) for date in periods.dates)
            )
            if periods is not None and is_of_period:
                yield from self._pivoted(column, periods, names)
            elif len({*first.cells}) == len(first.cells):
                yield from self._bars(column, first, range(len(self.rows)), self.when)

    def _pivoted(self, column: Column, periods: Column, names: Sequence[Column]) -> Iterator[Series]:
        """Yield the lines of a column by time; where rows are of several things, one for each, or those of one time."""
        if not names:
            if len({*periods.dates}) == len(periods.dates):
                yield from self._line(column, periods, [""] * len(self.rows))
            return
        for name in names:
            if len({*zip(periods.dates, name.cells, strict=True)}) < len(self.rows):
                continue
            if len(names) == 1 or all(
                len({*zip(name.cells, other.cells, strict=True)}) == len({*name.cells}) for other in names
            ):
                often = {each for each in name.cells if name.cells.count(each) >= MIN_POINTS}
                if len(often) == len({*name.cells}) <= _MAX_SERIES:
                    yield from self._line(column, periods, name.cells)
                    return
            for date in sorted({*periods.dates}, reverse=True):
                places = [at for at, each in enumerate(periods.dates) if each == date]
                if len(places) >= MIN_POINTS and len({name.cells[at] for at in places}) == len(places):
                    yield from self._bars(column, name, places, date)
                    return

    def _line(self, column: Column, periods: Column, series: Sequence[str]) -> Iterator[Series]:
        rows = [
            DataRow(label=periods.dates[at], value=figure.value, evidence=self.rows[at].id, series=series[at])
            for at, figure in enumerate(column.figures)
            if figure
        ]
        if len({row.label for row in rows}) >= MIN_POINTS and len({row.value for row in rows}) > 1:
            rows.sort(key=lambda row: row.label)
            yield Series(column.name, column.unit, tuple(rows), True, self.subject, "", "", self.origin)

    def _bars(self, column: Column, names: Column, places: Sequence[int], when: str) -> Iterator[Series]:
        rows = [
            DataRow(label=names.cells[at], value=figure.value, evidence=self.rows[at].id)
            for at in places
            if (figure := column.figures[at])
        ]
        if MIN_POINTS <= len(rows) <= _MAX_BARS and len({row.value for row in rows}) > 1:
            dates = find_dates(f"{column.label} {names.label}")
            when = dates[0].iso if len(dates) == 1 else when
            yield Series(column.name, column.unit, tuple(rows), False, self.subject, names.name, when, self.origin)
