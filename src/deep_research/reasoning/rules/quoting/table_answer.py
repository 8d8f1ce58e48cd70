"""Which rows of a table answer a question: all of a small table, those that meet its condition, or the extreme one."""

import operator
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from deep_research.reasoning.values import QuestionAnalysis
from deep_research.text.analyzer import CJK, CJK_CHARACTER, content_terms
from deep_research.text.bounds import YEARS, bound_at, bounded_periods, bounds_in, meets_bound
from deep_research.text.columns import TextColumn, columns_of, read_date
from deep_research.text.dates import ANY_YEAR, find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import find_quantities
from deep_research.text.tables import TableRow, TextTable, is_note

# A table of at most so many rows is shown whole, and so many rows at most share an extreme.
SMALL_TABLE, _MAX_WINNERS = 12, 5
# A cell with more terms than this is prose, not a value.
_MAX_VALUE_TERMS = 5
# How well a table suits a question, by what of it chooses among the rows.
_BOUND_FIT, _VALUE_FIT, _DATE_FIT = 1.0, 0.5, 0.2
_COUNTERS = re.compile(r"[天人次公斤吨元亩箱件台]|(?<!\d\d)(?<![今去半本上])年")
_VERY = re.compile("最不?(.)")
_TOTAL = re.compile(r"\b(?:total|sum|all|quantity)\b|合计|总计|总数|共计|数量", re.IGNORECASE)
_DAYS = {"week": 7.0, "周": 7.0, "星期": 7.0, "month": 30.0, "个月": 30.0, "year": 365.0, "年": 365.0}
_NEGATED = re.compile(r"(?:\b(?:not|never|without)\b|n't\b)([^,.?;]{1,24})|(?:没有?|尚?未)([^，。？、]{1,4})")
_CLAUSE = re.compile(r"[^,;?，。？；]{1,40}")
_NONE = {"", "-", "–", "—", "no", "No", "none", "否", "无", "無", "未"}
# What did not pass failed, however a table says so.
_PASSED = re.compile("pass|过关|合格|达标|通过|及格")
_FAILED = re.compile(r"[不未没]|fail|not?\b|non", re.IGNORECASE)
_OTHER = re.compile(r"\bother|其他|其它|别的|外")
_SMALLEST = re.compile(
    r"\b(?:least|smallest|lowest|shortest|earliest|cheapest|fewest|first|oldest|lightest|quietest)\b"
    r"|最(?:少|低|小|早|便宜|短|轻|差|不)"
)
_BY_DATE = re.compile(r"\b(?:latest|newest|oldest|earliest|first|last(?! year)|most recent(?:ly)?)\b|最(?:早|晚|新|近)")
# What ends is told by the later of two columns of dates.
_ENDS = re.compile(r"\b(?:expir|laps|end|run(?:s|ning)? out)|到期|届满|期满|结束|截止|终止")
# What joins a year to the words before it in the name of a file or a sheet.
_BEFORE_YEAR = re.compile(rf"_|(?<=[{CJK}])(?=\d{{4}}(?!\d))")
# Of the months, one is asked for.
_WHICH_MONTH = re.compile(r"\b(?:which|what|\w+est) month\b|哪一?个?月")
_RELATIVE = re.compile(r"(\blast year\b|去年|上年)|\bthis year\b|今年|本年", re.IGNORECASE)
# What is dear or cheap is told by a column of money.
_DEAR = re.compile("expensive|dear|cheap|cost|贵|便宜")
_MONEY = re.compile(r"[$€£¥]|\b(?:eur|usd|gbp|cny|rmb)\b|cost|price|fee|[元价费款]", re.IGNORECASE)


class Chosen(NamedTuple):
    """The rows of a table that answer; `fit` is how well the table suits the question, 0 to 1."""

    rows: tuple[TableRow, ...]
    fit: float


class _Asks:
    """A question as tables are asked: in small letters and simplified characters, with what it denies."""

    def __init__(self, question: str, analysis: QuestionAnalysis) -> None:
        self.cased = to_simplified(question)
        self.text = self.cased.lower()
        self.terms = frozenset(content_terms(self.text))
        self.names = [frozenset(content_terms(name)) for name in analysis.names]
        self.periods = analysis.periods
        self.denial = " ".join(map("".join, _NEGATED.findall(self.text)))
        self.denied = frozenset(content_terms(self.denial))


def choose_rows(table: TextTable, question: str, analysis: QuestionAnalysis, around: str = "") -> Chosen | None:
    """Return the rows that answer; None where the table has no row that meets the question's condition.

    `around` is the title and the headings that the table stands under.
    """
    is_extreme = analysis.kind == "extreme"
    rows = [row for row in table.rows if not is_note(row) and not (is_extreme and _is_total(row))]
    around = _BEFORE_YEAR.sub(" ", around)
    year = next((mention.iso[:4] for mention in reversed(find_dates(around))), ANY_YEAR)
    columns = columns_of(table.header.cells if table.header else (), [row.cells for row in rows], year)
    left_out = set[int]()
    for text in analysis.excluded:
        question = question.replace(text, " ")
        left_out |= _left_out(columns, _Asks(text, QuestionAnalysis()))
    asks = _Asks(question, analysis)
    values = []
    for column in columns:
        if named := _named_cells(column, asks):
            values.append(column.rows_with(named))
            # What names a row names no column.
            asks.terms = asks.terms.difference(*map(content_terms, named))
    bounds = [*_within_bounds(columns, asks), *_denied(columns, asks)]
    if analysis.kind != "trend":
        bounds += _against_each_other(columns, asks)
    periods = _in_periods(columns, asks)
    asked_year, own_year = YEARS.findall(question), YEARS.findall(around)[-1:]
    if not set[int]().union(*periods[:1]):
        # The table is of the period that is asked for; its own dates tell something else.
        periods = [] if read_date(around).startswith(analysis.periods) else periods
    elif asked_year and own_year:
        periods = [] if own_year[0] in asked_year else [set()]
    if analysis.kind == "comparison" and len(set[int]().union(*values)) < 2:
        # One thing alone is not compared.
        values = []
    kept = sorted(set(range(len(rows))).intersection(*bounds, *values, *periods) - left_out)
    has_months = any("-" in date for column in columns for date in column.dates)
    if not kept or (is_extreme and _WHICH_MONTH.search(asks.text) and not has_months):
        return None
    fit = _BOUND_FIT if bounds else _VALUE_FIT if values else _DATE_FIT if periods else 0.0
    if is_extreme and (ranked := _ranked_by(columns, asks)):
        keys: Sequence[Any] = ranked.dates if ranked.cell_type == "date" else ranked.numbers
        filled = [at for at in kept if keys[at] not in (None, "")]
        best = (min if _SMALLEST.search(asks.text) else max)((keys[at] for at in filled), default=None)
        kept = [at for at in filled if keys[at] == best] or kept
        fit += _VALUE_FIT
    if analysis.kind == "trend" and any(column.cell_type == "date" for column in columns[:2]):
        fit = 1.0
    if len(kept) == len(rows) > SMALL_TABLE:
        return None
    return Chosen(tuple(rows[at] for at in kept), min(fit, 1.0))


def _is_total(row: TableRow) -> bool:
    return any(_TOTAL.fullmatch(to_simplified(cell).strip()) for cell in row.cells[:2])


def _named_cells(column: TextColumn, asks: _Asks, *, is_denied: bool = False) -> set[str]:
    """Return the cells of a column that the question names, unless it names them all; the longest name counts."""
    values = {cell for cell in column.cells if cell and not cell.strip().isdigit() and column.cell_type == "text"}
    # In Chinese, what ends all cells alike need not be said: "上坪和下坪" are the villages 上坪村 and 下坪村.
    is_shortened = len(values) > 1 and len({cell.strip()[-1:] for cell in values}) == 1
    rest, named = asks.text, set()
    for cell in sorted(values, key=lambda cell: (-len(cell), cell)):
        terms, plain = frozenset(content_terms(cell)), to_simplified(cell).lower().strip()
        if not 0 < len(terms) <= _MAX_VALUE_TERMS or terms <= column.terms or is_denied != bool(terms & asks.denied):
            continue
        own = plain[:-1] if is_shortened else plain
        # A word may be bent in the question, but "in service" is not what it says of a service.
        is_bent = not CJK_CHARACTER.search(cell) and len(terms) == len(plain.split())
        is_said = terms.issubset(content_terms(rest)) if is_bent else len(own) > 1 and own in rest
        if is_said or any(name and name <= terms for name in asks.names):
            named.add(cell)
            rest = rest.replace(plain, " ")
    return named if len(named) < len(values) else set()


def _denied(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows that lack what a question says not to be so: without that value, or with an empty cell."""
    for column in columns:
        empty = column.rows_with(_NONE)
        if named := _named_cells(column, asks, is_denied=True):
            denied = {cell for cell in column.cells if any(name in cell for name in named)}
            yield set(range(len(column.cells))) - column.rows_with(denied) - empty
        elif asks.denied & column.terms and 0 < len(empty) < len(column.cells):
            yield empty
        elif _PASSED.search(asks.denial) and any(map(_PASSED.search, column.cells)):
            yield {at for at, cell in enumerate(column.cells) if _FAILED.match(cell)}


def _left_out(columns: Sequence[TextColumn], asks: _Asks) -> set[int]:
    """Return the rows that a question leaves out; "other" things are all but the one that most rows have."""
    found = set[int]()
    for column in columns:
        found |= column.rows_with(_named_cells(column, asks))
        if asks.terms & column.terms and _OTHER.search(asks.text) and column.cell_type == "text":
            [(most, _)] = Counter(column.cells).most_common(1)
            found |= column.rows_with({*column.cells} - {most})
    return found


def _within_bounds(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows within each bound that a question sets on a number."""
    text = asks.text
    amounts = [(each.start, each.end, each.value, each.unit) for each in find_quantities(text)]
    amounts += [(each.start, each.end, *each.values[0]) for each in find_worded(text)]
    for start, end, value, unit in amounts:
        name = bound_at(text, start, end)
        days = next((days for word, days in _DAYS.items() if unit == word or text.startswith(word, end)), 0.0)
        column = _measured(columns, asks, f"{unit} {text[start : end + 12]}{' day' * bool(days)}") if name else None
        if column is not None:
            is_counted = not days or bool(column.terms.intersection(content_terms(text[start:end])))
            yield _meeting(column.numbers, name, [value if is_counted else value * days] * len(column.cells))


def _meeting(numbers: Sequence[float | None], name: str, limits: Sequence[float | None]) -> set[int]:
    compare = getattr(operator, name)
    pairs = enumerate(zip(numbers, limits, strict=True))
    return {at for at, (own, limit) in pairs if own is not None and limit is not None and compare(own, limit)}


def _against_each_other(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows in which one column is more, or less, than another that the question holds against it."""
    for match, name in bounds_in(asks.text):
        behind = _CLAUSE.match(asks.text, match.end())
        # "From", "since" and "at least" stand before figures.
        if behind is None or find_quantities(behind.group()[:8]) or not (match["no"] or name in ("gt", "lt")):
            continue
        limit = _measured(columns, asks, behind.group(), is_sure=True)
        others = [column for column in columns if column.cell_type == "number" and column is not limit]
        if limit is not None and others:
            before = [column for column in others if columns.index(column) < columns.index(limit)]
            own = _measured(others, asks, asks.text[: match.start()], is_sure=True) or (before or others)[-1]
            yield _meeting(own.numbers, name, limit.numbers)


def _measured(columns: Sequence[TextColumn], asks: _Asks, near: str, *, is_sure: bool = False) -> TextColumn | None:
    """Return the numeric column that a question speaks of, by the words near a figure, then by all of its words."""
    numeric = [column for column in columns if column.cell_type == "number"]
    named = content_terms(near)
    shared = Counter(term for column in columns for term in column.terms)
    is_money = not is_sure and _DEAR.search(near)
    ranked: list[tuple[float, bool, int, int]] = []
    for column in numeric:
        own = column.terms & ({*named} if is_sure else {*named} | asks.terms)
        worth = sum((1 + (term in named)) / shared[term] for term in own) / max(len(column.terms), 1) ** 0.5
        label = to_simplified(column.label)
        worth += 2 * any(sign in label for sign in _COUNTERS.findall(near))
        worth += 0.5 * any(sign in label for sign in _VERY.findall(near))
        worth += bool(is_money and _MONEY.search(label))
        is_other_period = column.terms.isdisjoint(asks.periods)
        first = min((named.index(term) for term in own if term in named), default=0)
        ranked.append((-worth, is_other_period, first, len(ranked)))
    if ranked and (min(ranked)[0] < 0 or (len(ranked) == 1 and not is_sure)):
        return numeric[min(ranked)[-1]]
    totals = (column for column in numeric if _TOTAL.search(to_simplified(column.label)) and not is_sure)
    return next(totals, None)


def _by_date(columns: Sequence[TextColumn], asks: _Asks) -> list[TextColumn]:
    """Return the columns of dates, the one that a question speaks of first."""
    is_end = _ENDS.search(asks.text) is not None
    return sorted(
        (column for column in columns if column.cell_type == "date"),
        key=lambda column: (len(column.terms & asks.terms), is_end and max(column.dates)),
        reverse=True,
    )


def _ranked_by(columns: Sequence[TextColumn], asks: _Asks) -> TextColumn | None:
    """Return the column that an extreme is sought in."""
    dated = _by_date(columns, asks) if _BY_DATE.search(asks.text) else []
    return dated[0] if dated else _measured(columns, asks, asks.text)


def _in_periods(columns: Sequence[TextColumn], asks: _Asks) -> list[set[int]]:
    """Return the rows of the periods that the question names, by the first column of dates that has some."""
    dated = _by_date(columns, asks)
    alike = [column for column in dated if column.terms & asks.terms == dated[0].terms & asks.terms]
    found = [_of_periods(column, asks) for column in alike]
    return next(filter(any, found), found[0] if found else [])


def _of_periods(column: TextColumn, asks: _Asks) -> list[set[int]]:
    """Return the rows of each period by a column; the last year of a table is this year."""
    newest, text = max(column.dates)[:4], asks.cased
    if newest != ANY_YEAR:
        text = _RELATIVE.sub(lambda match: f" {int(newest) - bool(match[1])} ", text)
    are_years = any(map(YEARS.search, column.cells))
    # Periods that are only named add up; each bound must be met.
    found: dict[str, set[int]] = {}
    for name, iso in bounded_periods(text, are_years=are_years):
        # A month of a table without a year may be of any.
        wanted = f"{ANY_YEAR}{iso[4:]}" if newest == ANY_YEAR else iso
        own = {at for at, date in enumerate(column.dates) if date and meets_bound(date, name, wanted)}
        found[name and iso] = own | found.get(name and iso, set())
    return list(found.values())


def summary_of(rows: Sequence[Sequence[tuple[str, str]]], question: str, analysis: QuestionAnalysis) -> str:
    """Return which rows are the extreme and by what value, or how a trend went from its first period to its last."""
    labels = list(dict.fromkeys(label for row in rows for label, _ in row))
    columns = columns_of(labels, [[dict(row).get(label, "") for label in labels] for row in rows])
    asks = _Asks(question, analysis)
    if analysis.kind == "extreme" and len(rows) <= _MAX_WINNERS and (column := _ranked_by(columns, asks)):
        naming = [each for each in columns[:2] if each is not column and each.cell_type != "number"]
        names = (" · ".join(each.cells[at] for each in naming if each.cells[at]) for at in range(len(rows)))
        return "; ".join(f"{name}: {column.label} {cell}" for name, cell in zip(names, column.cells, strict=True))
    dated, column = _by_date(columns[:2], asks), _measured(columns, asks, asks.text)
    if analysis.kind != "trend" or not dated or column is None:
        return ""
    named = [each for each in columns if each.cell_type == "number" and each.terms and each.terms <= asks.terms]
    trends = [_trend(each, dated[0]) for each in (named if column in named else [column])]
    return "; ".join(filter(None, trends))


def _trend(column: TextColumn, times: TextColumn) -> str:
    cells = zip(times.dates, column.numbers, column.cells, times.cells, strict=True)
    points = sorted((date, number, cell, told) for date, number, cell, told in cells if date and number)
    if len(points) < 2:
        return ""
    (_, low, first, begin), (_, high, last, end) = points[0], points[-1]
    change = f"{100 * (high / low - 1):+.1f} %" if "%" not in column.label + first else f"{high - low:+.1f}"
    return f"{column.label}: {first} ({begin}) → {last} ({end}), {change}"
