"""Which rows of a table answer a question: all of a small table, those that meet its condition, or the extreme one."""

import operator
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum
from typing import Any, NamedTuple

from deep_research.reasoning.values import QuestionAnalysis
from deep_research.text.analyzer import CJK, CJK_CHARACTER, content_terms
from deep_research.text.bounds import YEARS, bound_at, bounded_periods, bounds_in, meets_bound
from deep_research.text.columns import TextColumn, columns_of, label_terms, read_date
from deep_research.text.dates import ANY_YEAR, find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import find_quantities
from deep_research.text.tables import TableRow, TextTable, is_note

# A table of at most so many rows is shown whole, and so many rows at most share an extreme.
SMALL_TABLE, _MAX_WINNERS = 12, 5
# A cell with more terms than this is prose, not a value.
_MAX_VALUE_TERMS = 5
_ALIKE = 0.01
# How well a table suits a question, by each condition that chooses among its rows; a bound on a column that the words
# beside it do not name is a guess.
_BOUND_FIT, _GUESSED_FIT, _VALUE_FIT, _DATE_FIT, _MAX_FIT = 0.8, 0.4, 0.5, 0.2, 1.5
_COUNTERS = re.compile(r"[天人次公斤吨元亩箱件台]|(?<!\d\d)(?<![今去半本上])年")
# A longer equation is not checked.
_MAX_BASIS_CHARS = 200
_EACH = re.compile(r"\b(?:per|each|unit|rate)\b|/|[每单]", re.IGNORECASE)
# What a question asks to be computed.
_COMPUTED = re.compile(
    r"(?P<mean>\b(?:average|mean)\b|平均)"
    r"|(?P<less>\bdifference\b|\bhow much (?:more|less|\w+er)\b|[差多少贵高低]了?(?:多少|几))"
    r"|\btotal|\b(?:sum of|all? ?together|in all|add up)\b|[合总共]计|总[共和额数]|一共|加起来|共[有花付收]"
)
_TOTAL = re.compile(r"\b(?:total|sum|all|quantity)\b|合计|总计|总数|共计|数量", re.IGNORECASE)
_TOTAL_ROW = re.compile(
    r"^(?:(?:grand |sub)?totals?|sum|all|average|mean)\b|合计|总[计数]|共计|小计|^全[年部体]$|^平均", re.IGNORECASE
)
# Units of time by their words, and how many minutes each has.
_TIME = re.compile(r"(\bmin(?:s|utes?)?\b|分钟)|(\bh$|hour|小?时)|(\bday|天|日)|(week|周|星期)|(month|个?月)|(year|年)")
_MINUTES = (1.0, 60.0, 1440.0, 10_080.0, 43_200.0, 525_600.0)
_AND_A_HALF = re.compile(r"\b(?:an|one) hour and a half|一个半小时")
_NEGATED = re.compile(r"(?:\b(?:not|never|without)\b|n't\b)([^,.?;]{1,24})|(?:没有?|尚?未)([^，。？、]{1,4})")
_OF_PERIOD = re.compile(r"[年月季]|\b(?:Q[1-4]|[12]\d{3})\b")
# What parts the values of a cell that lists several; and nothing.
_LISTED, _WHOLE = re.compile(r"\s*(?:[、,;，；]| / )\s*"), re.compile("(?!)")
# Where a clause with a condition of its own begins or ends.
_JOINT = re.compile(r",(?!\d)|[;?，。？；、]|\b(?:and|but|or|whose|that|which|who)\b|[且又并而]")
_NONE = {"", "-", "–", "—", "no", "No", "none", "否", "无", "無", "未", "没有", "沒有", "0"}
_YES = {"yes", "Yes", "y", "x", "X", "✓", "√", "是", "有", "已"}
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
_ENDS = re.compile(r"\b(?:expir|laps|end|run(?:s|ning)? out)|\b(?i:due|valid|until)\b|到期|届满|期满|结束|截止|终止")
# What joins a year to the words before it in the name of a file or a sheet.
_BEFORE_YEAR = re.compile(rf"_|(?<=[{CJK}])(?=\d{{4}}(?!\d))")
# Of the months, one is asked for.
_WHICH_MONTH = re.compile(r"\b(?:which|what|\w+est) month\b|哪一?个?月")
_RELATIVE = re.compile(r"(\blast year\b|去年|上年)|\bthis year\b|今年|本年", re.IGNORECASE)
# What is dear or cheap is told by a column of money.
_DEAR = re.compile(
    r"\b(?:eur|gbp|usd|cny|twd)\b|expensive|dear|cheap|cost|money|spen[dt]|paid|[$€£¥]|[贵钱块元花付]|便宜"
)
_MONEY = re.compile(r"[$€£¥]|\b(?:eur|usd|gbp|cny|rmb)\b|cost|price|fee|[元价费款额]", re.IGNORECASE)


# Rows that meet a condition of a question, and how well the table suits the question if not all of its rows do.
Condition = tuple[set[int], float]


class Chosen(NamedTuple):
    """The rows of a table that answer; `fit` is how well the table suits the question."""

    rows: tuple[TableRow, ...]
    fit: float


class _Asks:
    """A question as tables are asked: in small letters and simplified characters, with what it denies."""

    def __init__(self, question: str, analysis: QuestionAnalysis) -> None:
        self.cased = to_simplified(question)
        self.text = _AND_A_HALF.sub("90 min", self.cased.lower())
        self.terms = label_terms(self.text)
        # What names a column of yes and no.
        self.yes = frozenset[str]()
        self.names = [frozenset(content_terms(name)) for name in analysis.names]
        self.periods = analysis.periods
        self.denial = " ".join(map("".join, _NEGATED.findall(self.text)))
        self.denied = label_terms(self.denial)


def choose_rows(table: TextTable, question: str, analysis: QuestionAnalysis, around: str = "") -> Chosen | None:
    """Return the rows that answer; None where the table has no row that meets the question's condition.

    `around` is the title and the headings that the table stands under.
    """
    is_extreme = analysis.kind == "extreme"
    rows = [row for row in table.rows if not is_note(row) and not (is_extreme and _is_total(row.cells[:2]))]
    around = _BEFORE_YEAR.sub(" ", around)
    year = next((mention.iso[:4] for mention in reversed(find_dates(around))), ANY_YEAR)
    columns = columns_of(table.header.cells if table.header else (), [row.cells for row in rows], year)
    left_out = set[int]()
    for text in analysis.excluded:
        question = question.replace(text, " ")
        left_out |= _left_out(columns, _Asks(text, QuestionAnalysis()))
    asks = _Asks(question, analysis)
    conditions = [*_affirmed(columns, asks)]
    values = []
    for column in columns:
        if named := _named_cells(column, asks):
            values.append((column.rows_with(named), _VALUE_FIT))
            # What names a row names no column.
            asks.terms = asks.terms.difference(*map(content_terms, named))
    conditions += [*_within_bounds(columns, asks), *_denied(columns, asks)]
    if analysis.kind != "trend":
        conditions += _against_each_other(columns, asks)
    periods = _in_periods(columns, asks)
    is_own = read_date(around).startswith(analysis.periods)
    asked_year, own_year = YEARS.findall(question), YEARS.findall(around)[-1:]
    if not set[int]().union(*periods[:1]):
        # The table is of the period that is asked for; its own dates tell something else.
        periods = [] if is_own else periods
    elif asked_year and own_year:
        periods = [] if own_year[0] in asked_year else [set()]
    elif is_own:
        # What has no date yet is of that period too.
        dated = [column.dates for column in columns if column.cell_type == "date"]
        undated = {at for at in range(len(rows)) if not any(dates[at] for dates in dated)}
        periods = [met | undated for met in periods]
    if analysis.kind != "comparison" or len(set[int]().union(*(met for met, _ in values))) > 1:
        # One thing alone is not compared.
        conditions += values
    every = set(range(len(rows)))
    kept = sorted(every.intersection(*periods, *(met for met, _ in conditions)) - left_out)
    has_months = any("-" in date for column in columns for date in column.dates)
    if not kept or (is_extreme and _WHICH_MONTH.search(asks.text) and not has_months):
        return None
    # What all rows meet tells no table from others.
    fit = sum(own for met, own in conditions if met < every) + _DATE_FIT * bool(periods)
    if is_extreme and (ranked := _ranked_by(columns, asks)):
        keys: Sequence[Any] = ranked.dates if ranked.cell_type == "date" else ranked.numbers
        filled = [at for at in kept if keys[at] not in (None, "")]
        best = (min if _SMALLEST.search(asks.text) else max)((keys[at] for at in filled), default=None)
        kept = [at for at in filled if keys[at] == best] or kept
        fit += _VALUE_FIT
    if analysis.kind == "trend":
        # Each row is of a period, or each column.
        is_dated = any(column.cell_type == "date" for column in columns[:2])
        fit = 1.0 if is_dated or sum(_OF_PERIOD.search(column.label) is not None for column in columns) > 2 else fit
    if len(kept) == len(rows) > SMALL_TABLE:
        return None
    return Chosen(tuple(rows[at] for at in kept), min(fit, _MAX_FIT))


def _is_total(cells: Sequence[str]) -> bool:
    return any(_TOTAL_ROW.search(to_simplified(cell)) for cell in cells)


def _named_cells(column: TextColumn, asks: _Asks, *, is_denied: bool = False) -> set[str]:
    """Return the cells of a column that the question names, unless it names them all; the longest name counts."""
    pieces = [item for cell in column.cells for item in _LISTED.split(cell)]
    # A cell may list several values, where they are those of other cells too.
    parted = (_LISTED if len({*pieces}) < len({*column.cells}) else _WHOLE).split
    cells = {cell for cell in column.cells if cell and not cell.strip().isdigit() and column.cell_type == "text"}
    values = {item for cell in cells for item in parted(cell)}
    # In Chinese, two characters that tell short names apart are enough: "上坪和下坪" are 上坪村 and 下坪村.
    is_shortened = 1 < len({cell[:2] for cell in values}) == len(values) and all(2 < len(cell) < 7 for cell in values)
    rest, named = asks.text, set()
    for cell in sorted(values, key=lambda cell: (-len(cell), cell)):
        plain, names = to_simplified(cell).lower().strip(), column.terms | asks.yes
        # 通过 is a stop word, and a result.
        terms = frozenset(content_terms(cell) or CJK_CHARACTER.findall(plain))
        if not 0 < len(terms) <= _MAX_VALUE_TERMS or terms <= names or is_denied != bool(terms & asks.denied):
            continue
        own = plain[:2] if is_shortened else plain
        # A word may be bent in the question, but "in service" is not what it says of a service.
        is_bent = not CJK_CHARACTER.search(cell) and len(terms) == len(plain.split())
        is_said = terms.issubset(content_terms(rest)) if is_bent else len(own) > 1 and own in rest
        if is_said or any(name and name <= terms for name in asks.names):
            named.add(cell)
            rest = rest.replace(plain, " ")
    found = {cell for cell in cells if not named.isdisjoint(parted(cell))}
    return found if len(named) < len(values) else set()


def _denied(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[Condition]:
    """Yield the rows that lack what a question says not to be so: without that value, or with an empty cell."""
    for column in columns:
        empty = column.rows_with(_NONE)
        if named := _named_cells(column, asks, is_denied=True):
            denied = {cell for cell in column.cells if any(name in cell for name in named)}
            yield set(range(len(column.cells))) - column.rows_with(denied) - empty, _BOUND_FIT
        elif asks.denied & column.terms and 0 < len(empty) < len(column.cells):
            yield empty, _BOUND_FIT
        elif _PASSED.search(asks.denial) and any(map(_PASSED.search, column.cells)):
            yield {at for at, cell in enumerate(column.cells) if _FAILED.match(cell)}, _BOUND_FIT


def _affirmed(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[Condition]:
    """Yield the rows that say yes under a name that the question has, or have a date; that name names nothing else."""
    shared = Counter(term for column in columns for term in column.terms)
    for column in columns:
        cells, named = {*column.cells}, (column.terms & asks.terms) - asks.denied
        if cells & _YES and cells <= _YES | _NONE and 2 * len(named) >= len(column.terms) > 0:
            yield column.rows_with(_YES), _BOUND_FIT
            asks.terms -= named
            asks.yes |= named
        elif column.cell_type == "date" and "" in cells and any(shared[term] == 1 for term in named):
            yield {at for at, date in enumerate(column.dates) if date}, _BOUND_FIT


def _left_out(columns: Sequence[TextColumn], asks: _Asks) -> set[int]:
    """Return the rows that a question leaves out; "other" things are all but the one that most rows have."""
    found = set[int]()
    for column in columns:
        found |= column.rows_with(_named_cells(column, asks))
        if asks.terms & column.terms and _OTHER.search(asks.text) and column.cell_type == "text":
            [(most, _)] = Counter(column.cells).most_common(1)
            found |= column.rows_with({*column.cells} - {most})
    return found


def _within_bounds(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[Condition]:
    """Yield the rows within each bound that a question sets on a number, and those with as many as it counts."""
    text = asks.text
    amounts = {each.start: (each.end, each.value, each.unit) for each in (*find_worded(text), *find_quantities(text))}
    for start, (end, value, unit) in amounts.items():
        name, behind = bound_at(text, start, end), _JOINT.split(text[end:], maxsplit=1)[0]
        begins = max((joint.end() for joint in _JOINT.finditer(text, 0, start)), default=0)
        near, time = f"{unit.lower()} {text[begins:start]} {behind}", _TIME.match(unit or behind.strip(" -个"))
        timed = [column for column in columns if time and _TIME.search(column.label.lower())]
        able = timed or columns
        if not name:
            # "Three rooms" is a condition where rows have three of them.
            counted = content_terms(behind)[:1]
            able = [each for each in columns if counted and each.terms.issuperset(counted) and value in each.numbers]
        named = _measured(able, asks, near, is_sure=True)
        if column := named or (_measured(able, asks, near) if name else None):
            own = time and _TIME.search(column.label.lower())
            minutes = [_MINUTES[(each.lastindex or 1) - 1] for each in (time, own) if each] or [1.0]
            limits = [value * minutes[0] / minutes[-1]] * len(column.cells)
            yield _meeting(column.numbers, name or "eq", limits), _BOUND_FIT if named or timed else _GUESSED_FIT


def _meeting(numbers: Sequence[float | None], name: str, limits: Sequence[float | None]) -> set[int]:
    compare = getattr(operator, name)
    pairs = enumerate(zip(numbers, limits, strict=True))
    return {at for at, (own, limit) in pairs if own is not None and limit is not None and compare(own, limit)}


def _against_each_other(columns: Sequence[TextColumn], asks: _Asks) -> Iterator[Condition]:
    """Yield the rows in which one column is more, or less, than another that the question holds against it."""
    for match, name in bounds_in(asks.text):
        behind = _JOINT.split(asks.text[match.end() :], maxsplit=1)[0]
        # "From", "since" and "at least" stand before figures.
        is_figure = find_quantities(behind[:8]) or find_worded(behind[:8])
        if is_figure or not (match["no"] or name in ("gt", "lt")):
            continue
        limit = _measured(columns, asks, behind, is_sure=True)
        others = [column for column in columns if column.cell_type == "number" and column is not limit]
        if limit and others:
            before = [column for column in others if columns.index(column) < columns.index(limit)]
            own = _measured(others, asks, asks.text[: match.start()], is_sure=True) or (before or others)[-1]
            yield _meeting(own.numbers, name, limit.numbers), _BOUND_FIT


def _measured(columns: Sequence[TextColumn], asks: _Asks, near: str, *, is_sure: bool = False) -> TextColumn | None:
    """Return the numeric column that a question speaks of, by the words near a figure, then by all of its words."""
    numeric = [column for column in columns if column.cell_type == "number"]
    order, counters = content_terms(near), _COUNTERS.findall(near)
    named = {*order}
    shared = Counter(term for column in columns for term in column.terms)
    is_money, computed = _DEAR.search(near), _COMPUTED.search(asks.text)
    is_sum = computed is not None and not computed["mean"]

    def worth(column: TextColumn) -> float:
        own = column.terms & (named if is_sure else named | asks.terms)
        words: float = fsum((1 + (term in named)) / shared[term] for term in own) / max(len(column.terms), 1) ** 0.5
        label = to_simplified(column.label)
        words += 2 * any(sign in label for sign in counters) + bool(is_money and _MONEY.search(label))
        words += is_sum * (bool(_TOTAL.search(label)) - bool(_EACH.search(label)))
        # Of columns alike, that of the period asked for, then the one that is named first.
        is_of_period = not column.terms.isdisjoint(asks.periods)
        return words + _ALIKE * (is_of_period - min(map(order.index, own & named), default=0) / (len(order) + 1))

    best = max(numeric, key=worth, default=None)
    if best and (worth(best) > _ALIKE or (len(numeric) == 1 and not is_sure)):
        return best
    totals = (column for column in numeric if _TOTAL.search(to_simplified(column.label)) and not is_sure)
    return next(totals, None)


def _by_date(columns: Sequence[TextColumn], asks: _Asks) -> list[TextColumn]:
    """Return the columns of dates, the one that a question speaks of first."""
    is_end = _ENDS.search(asks.text) is not None
    dated = [column for column in columns if column.cell_type == "date"]
    return sorted(dated, key=lambda each: (len(each.terms & asks.terms), is_end and max(each.dates)), reverse=True)


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
    # What ends may end in years to come.
    if newest != ANY_YEAR and not _ENDS.search(column.label):
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


def is_computed(question: str) -> bool:
    """Return whether a question asks for a figure that is computed from rows: a total, a mean or a difference."""
    return _COMPUTED.search(to_simplified(question).lower()) is not None


class ShownRows:
    """Rows that are shown, by their labels and values, and what they come to."""

    def __init__(self, rows: Sequence[Sequence[tuple[str, str]]], question: str, analysis: QuestionAnalysis) -> None:
        labels = list(dict.fromkeys(label for row in rows for label, _ in row))
        self.kind, self.count = analysis.kind, len(rows)
        self.columns = columns_of(labels, [[dict(row).get(label, "") for label in labels] for row in rows])
        self.asks = _Asks(question, analysis)

    @property
    def are_sure(self) -> bool:
        """Return whether they were chosen by a column that the question names: it meets a bound, or is the extreme."""
        if self.kind == "extreme":
            ranked = _ranked_by(self.columns, self.asks)
            return ranked is not None and not ranked.terms.isdisjoint(self.asks.terms)
        conditions = (*_affirmed(self.columns, self.asks), *_within_bounds(self.columns, self.asks))
        return any(len(met) == self.count and own == _BOUND_FIT for met, own in conditions)

    @property
    def computed(self) -> tuple[str, str] | None:
        """Return the total, mean or difference that the question asks for behind its label, and its equation."""
        kind, column = _COMPUTED.search(self.asks.text), _measured(self.columns, self.asks, self.asks.text)
        found = [number for number in column.numbers if number is not None] if column else []
        is_told = any(_is_total(each.cells) for each in self.columns[:2])
        if not kind or not column or is_told or len(found) < 2 or (kind["less"] and len(found) > 2):
            return None
        sign, left, result = "Σ", " + ".join(f"{number:.12g}" for number in found), sum(found)
        if kind["mean"]:
            sign, left, result = "Ø", f"({left}) / {len(found)}", round(result / len(found), 2)
        elif kind["less"]:
            sign, left, result = "Δ", left.replace("+", "-"), found[0] - found[1]
        basis = f"{left} = {result:.12g}"
        return (f"{sign} {column.label}: {result:.12g}", basis) if len(basis) <= _MAX_BASIS_CHARS else None

    @property
    def summary(self) -> str:
        """Return which rows are the extreme and by what value, or how a trend went from first to last."""
        columns, asks = self.columns, self.asks
        if self.kind == "extreme" and self.count <= _MAX_WINNERS and (column := _ranked_by(columns, asks)):
            naming = [each for each in columns[:2] if each is not column and each.cell_type != "number"]
            names = [[each.cells[at] for each in naming if each.cells[at]] for at in range(self.count)]
            told = [f"{column.label} {cell}" for cell in column.cells]
            return "; ".join(
                ": ".join(filter(None, (" · ".join(own), cell))) for own, cell in zip(names, told, strict=True)
            )
        dated, column = _by_date(columns[:2], asks), _measured(columns, asks, asks.text)
        if self.kind != "trend" or not dated or not column:
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
