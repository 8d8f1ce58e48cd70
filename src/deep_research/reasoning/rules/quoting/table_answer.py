"""Which rows of a table answer a question: all of a small table, those that meet its condition, or the extreme one."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from deep_research.reasoning.values import QuestionAnalysis
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates, find_months
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import find_quantities
from deep_research.text.tables import Table, TableRow

# A table of at most so many rows is shown whole.
SMALL_TABLE = 12
# A cell with more terms than this is prose, not a value.
_MAX_VALUE_TERMS = 5
# How well a table suits a question whose bound, whose names or whose period choose among its rows.
_BOUND_FIT, _VALUE_FIT, _DATE_FIT = 1.0, 0.5, 0.2
_COUNTERS = re.compile("[天人次公斤吨元亩箱件台年]")
_TOTAL = re.compile(r"\b(?:total|sum|all)\b|合计|总计|总数|共计", re.IGNORECASE)
_NUMBER_CELL = re.compile(r"[-+]?(?:[€$£¥]|[A-Z]{3})?\s?\d[\d,. ]*\s?[^\W\d]{0,8}\.?%?")
_MONTH_CELL = re.compile(r"(\d{4})[-/.年](\d{1,2})月?")
_DAYS = {"week": 7.0, "month": 30.0, "year": 365.0}
_MORE = re.compile(
    r"(?:\b(?:more|longer|later|greater|higher|larger|older|bigger|heavier) than|\bover|\babove|\bexceed\w*|\bbeyond"
    r"|\bat least|\bsince|\bafter|\bfrom|超过|多于|高于|大于|长于|不低于|不少于|至少|晚于|逾)"
    r"\s?(?:about |roughly )?[€$£¥]?$"
)
_LESS = re.compile(
    r"(?:\b(?:less|fewer|shorter|lower|smaller|earlier|cheaper|younger) than|\bunder|\bbelow|\bat most|\bup to"
    r"|\bno more than|\bbefore|\buntil|\bwithin|低于|少于|小于|短于|不足|不到|不超过|至多|早于|未满|未达)"
    r"\s?(?:about |roughly )?[€$£¥]?$"
)
_MORE_BEHIND = re.compile(r"\s?\S{0,2}(?:or more|以上|之后|后|起)")
_LESS_BEHIND = re.compile(r"\s?\S{0,2}(?:or (?:less|fewer)|以下|以内|之前|前)")
_GREATEST = re.compile(
    r"\b(?:most|largest|biggest|highest|longest|latest|newest|greatest|oldest|heaviest|last|top|best|deepest|busiest)\b"
    r"|最(?:多|高|大|晚|新|近|贵|长|重|好|严重|常)"
)
_SMALLEST = re.compile(
    r"\b(?:least|smallest|lowest|shortest|earliest|cheapest|fewest|first|lightest|worst|quietest|youngest)\b"
    r"|最(?:少|低|小|早|便宜|短|轻|差)"
)
_TO = re.compile(r"\s?(?:to|and|until|through|till|–|-|—|~|至|到|和)\s?(?:the end of )?", re.IGNORECASE)
_THIS_YEAR = re.compile(r"\bthis year\b|今年|本年", re.IGNORECASE)
_LAST_YEAR = re.compile(r"\blast year\b|去年|上年", re.IGNORECASE)
_BY_DATE = re.compile(r"\b(?:latest|newest|oldest|earliest|first|last|most recent(?:ly)?)\b|最(?:早|晚|新|近)")


class Chosen(NamedTuple):
    """The rows of a table that answer; `fit` is how well the table suits the question, 0 to 1."""

    rows: tuple[TableRow, ...]
    fit: float


@dataclass(frozen=True)
class Column:
    """A column: its label and its cells, read as numbers and dates."""

    label: str
    cells: tuple[str, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return the terms of the label."""
        return frozenset(content_terms(self.label.replace("_", " ")))

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """Return the cells' numbers."""
        return tuple(map(_number, self.cells))

    @cached_property
    def dates(self) -> tuple[str, ...]:
        """Return the cells' dates, "" where there is none."""
        return tuple(map(_date, self.cells))

    @property
    def is_numeric(self) -> bool:
        """Return whether most cells are numbers."""
        return 2 * sum(number is not None for number in self.numbers) > sum(bool(cell) for cell in self.cells)

    @property
    def is_dated(self) -> bool:
        """Return whether most cells are dates."""
        return 2 * sum(map(bool, self.dates)) > sum(bool(cell) for cell in self.cells)


def _number(cell: str) -> float | None:
    if not _NUMBER_CELL.fullmatch(cell.strip()):
        return None
    if found := find_quantities(cell):
        return found[0].value
    digits = re.sub(r"[^\d.+-]", "", cell)
    return float(digits) if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", digits) else None


def _date(cell: str) -> str:
    if match := _MONTH_CELL.fullmatch(cell.strip()):
        return f"{match[1]}-{int(match[2]):02}"
    return next((mention.iso for mention in find_dates(cell)), "")


def columns_of(table: Table) -> list[Column]:
    """Return the columns of a table."""
    labels = table.header.cells if table.header else ()
    return [
        Column(label, tuple(row.cells[at] if at < len(row.cells) else "" for row in table.rows))
        for at, label in enumerate(labels)
    ]


def choose_rows(table: Table, question: str, analysis: QuestionAnalysis) -> Chosen | None:
    """Return the rows that answer; None where the table has no row that meets the question's condition."""
    columns = columns_of(table)
    asked = frozenset(content_terms(question))
    bounds, values = _within_bounds(columns, question, asked), _with_values(columns, asked)
    meeting = [*bounds, *values, *_in_periods(columns, question, analysis)]
    kept = sorted(set(range(len(table.rows))).intersection(*meeting))
    if not kept:
        return None
    fit = _BOUND_FIT if bounds else _VALUE_FIT if values else _DATE_FIT if meeting else 0.0
    if analysis.kind == "extreme":
        kept = _extreme(columns, kept, question, asked)
    if analysis.kind == "trend" and any(column.is_dated for column in columns[:2]):
        fit = 1.0
    if len(kept) == len(table.rows) > SMALL_TABLE:
        return None
    return Chosen(tuple(table.rows[at] for at in kept), fit)


def _with_values(columns: Sequence[Column], asked: frozenset[str]) -> list[set[int]]:
    """Return, for each column in which the question names a cell, the rows that have such a cell."""
    found = []
    for column in columns:
        values = {cell: frozenset(content_terms(cell)) for cell in column.cells if cell and not cell.strip().isdigit()}
        named = {
            cell
            for cell, terms in values.items()
            if 0 < len(terms) <= _MAX_VALUE_TERMS and terms <= asked and not terms <= column.terms
        }
        if named and len(named) < len(values):
            found.append({at for at, cell in enumerate(column.cells) if cell in named})
    return found


def _within_bounds(columns: Sequence[Column], question: str, asked: frozenset[str]) -> list[set[int]]:
    """Return the rows within each bound that a question sets on a number."""
    simple = to_simplified(question).lower()
    amounts = [(each.start, each.end, each.value, each.unit, each.raw) for each in find_quantities(simple)]
    amounts += [(each.start, each.end, *each.values[0], each.raw) for each in find_worded(simple)]
    found = []
    for start, end, value, unit, raw in amounts:
        sign = _bound(simple[max(0, start - 30) : start], simple[end:])
        column = _measured(columns, asked, f"{unit} {raw} {simple[end : end + 12]} {'day' if unit in _DAYS else ''}")
        if column is not None and sign:
            is_counted = bool(column.terms & set(content_terms(f"{unit} {raw}")))
            limit = value if is_counted else value * _DAYS.get(unit, 1.0)
            numbers = enumerate(column.numbers)
            found.append({at for at, number in numbers if number is not None and sign * (number - limit) > 0})
    return found


def _bound(before: str, behind: str) -> int:
    """Return 1 where the words around a figure ask for more, -1 where they ask for less, else 0."""
    if _LESS.search(before) or _LESS_BEHIND.match(behind):
        return -1
    return 1 if _MORE.search(before) or _MORE_BEHIND.match(behind) else 0


def _measured(columns: Sequence[Column], asked: frozenset[str], unit: str) -> Column | None:
    """Return the numeric column that a question speaks of."""
    named = frozenset(content_terms(unit))
    shared = Counter(term for column in columns for term in column.terms)
    ranked = [
        (
            2 * (len(column.terms & named) + any(sign in column.label for sign in _COUNTERS.findall(unit)))
            + sum(1 / shared[term] for term in column.terms & asked) / max(len(column.terms), 1) ** 0.5,
            -at,
            column,
        )
        for at, column in enumerate(columns)
        if column.is_numeric and not column.is_dated
    ]
    best = max(ranked, default=None, key=lambda each: each[:2])
    if best and (best[0] > 0 or len(ranked) == 1):
        return best[2]
    return next((column for *_, column in ranked if _TOTAL.search(to_simplified(column.label))), None)


def _in_periods(columns: Sequence[Column], question: str, analysis: QuestionAnalysis) -> list[set[int]]:
    """Return the rows of each period that the question names, by the column of dates."""
    asked = frozenset(content_terms(question))
    dates = max(
        (column for column in columns if column.is_dated),
        key=lambda column: len(column.terms & asked),
        default=Column("", ()),
    ).dates
    simple = to_simplified(question)
    low, high = _range(simple, dates)
    if low:
        return [{at for at, date in enumerate(dates) if low <= date[: len(low)] and date[: len(high)] <= high}]
    found = []
    for mention in find_dates(simple) if dates else ():
        sign = _bound(simple[max(0, mention.start - 30) : mention.start].lower(), simple[mention.end :])
        own = {at for at, date in enumerate(dates) if date.startswith(mention.iso)}
        later = {at for at, date in enumerate(dates) if date >= mention.iso}
        found.append(own if not sign else later if sign > 0 else set(range(len(dates))) - later)
    if not found and (year := _relative_year(simple, dates)):
        found.append({at for at, date in enumerate(dates) if date.startswith(year)})
    months = (
        set()
        if any(period[0].isdigit() for period in analysis.periods)
        else {mention.iso[5:7] for mention in find_months(simple)}
    )
    if months and dates:
        found.append({at for at, date in enumerate(dates) if date[5:7] in months})
    return found


def _range(question: str, dates: Sequence[str]) -> tuple[str, str]:
    """Return the first and last period of a range that a question names, "" where it names none."""
    found = [(mention.start, mention.end, mention.iso) for mention in find_dates(question)]
    if len(found) < 2:
        year = _relative_year(question, dates) or (found[0][2][:4] if found else "")
        months = find_months(question) if year else []
        found = [(mention.start, mention.end, year + mention.iso[4:]) for mention in months]
    for (_, end, low), (start, _, high) in pairwise(found):
        if _TO.fullmatch(question[end:start]):
            return low, high
    return "", ""


def _relative_year(question: str, dates: Sequence[str]) -> str:
    """Return the year that "this year" or "last year" means in a table: its last one is this year."""
    newest = max(dates, default="")[:4]
    if not newest.isdigit():
        return ""
    if _THIS_YEAR.search(question):
        return newest
    return str(int(newest) - 1) if _LAST_YEAR.search(question) else ""


def _extreme(columns: Sequence[Column], kept: list[int], question: str, asked: frozenset[str]) -> list[int]:
    """Return the row with the greatest or smallest value of the column that the question speaks of."""
    simple = to_simplified(question).lower()
    is_least = _SMALLEST.search(simple) is not None and not _GREATEST.search(simple)
    dated = [column for column in columns if column.is_dated]
    measured = _measured(columns, asked, simple)
    if dated and (_BY_DATE.search(simple) or measured is None):
        keys: Sequence[str | float | None] = dated[0].dates
    elif measured is not None:
        keys = measured.numbers
    else:
        return kept
    filled = [at for at in kept if keys[at] not in (None, "")]
    if not filled:
        return kept
    best = (min if is_least else max)(keys[at] for at in filled)  # type: ignore[type-var]
    return [at for at in filled if keys[at] == best]
