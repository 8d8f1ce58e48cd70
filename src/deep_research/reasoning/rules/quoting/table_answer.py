"""Which rows of a table answer a question: all of a small table, those that meet its condition, or the extreme one."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from deep_research.reasoning.rules.quoting.relevance import CJK_CHARACTER
from deep_research.reasoning.values import QuestionAnalysis
from deep_research.text.analyzer import content_terms
from deep_research.text.dates import find_dates, find_months
from deep_research.text.folding import to_simplified
from deep_research.text.number_words import find_worded
from deep_research.text.quantities import find_quantities
from deep_research.text.tables import Table, TableRow, is_note

# A table of at most so many rows is shown whole.
SMALL_TABLE = 12
# A cell with more terms than this is prose, not a value.
_MAX_VALUE_TERMS = 5
# How well a table suits a question, by what of it chooses among the rows, or names what stands in a column.
_BOUND_FIT, _VALUE_FIT, _DATE_FIT, _HEAD_FIT = 1.0, 0.5, 0.2, 0.3
_COUNTERS = re.compile("[天人次公斤吨元亩箱件台年]")
_TOTAL = re.compile(r"\b(?:total|sum|all)\b|合计|总计|总数|共计", re.IGNORECASE)
_NUMBER_CELL = re.compile(r"[-+]?(?:[€$£¥]|[A-Z]{3})?\s?\d[\d,. ]*\s?[^\W\d]{0,8}\.?%?")
_MONTH_CELL = re.compile(r"(\d{4})[-/.年](\d{1,2})月?")
_DAY_CELL = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})")
_DAYS = {"week": 7.0, "周": 7.0, "星期": 7.0, "month": 30.0, "个月": 30.0, "year": 365.0, "年": 365.0}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt, "ge": operator.ge, "since": operator.ge,
    "lt": operator.lt, "le": operator.le, "until": operator.le,
}  # fmt: skip
_OPPOSITE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}
_SIGN = re.compile(
    r"(?P<no>(?:\b(?:no|not|never)\b|n't\b)\s(?:\w+ )?|没有?|未|不)?(?:(?P<ge>\bat least|\breach(?:ed)?|至少|达到)"
    r"|(?P<since>\bsince|\bfrom|\bbetween|[从自])|(?P<until>\bup to|\buntil|\bwithin|\bbetween \S+ and|截至)"
    r"|(?P<le>\bat most|至多)|(?P<lt>\b(?:less|fewer|shorter|lower|smaller|earlier|cheaper|younger|lighter) than"
    r"|\bunder|\bbelow|\bbefore|\bshort of|[低少小短早]于|不[足到]|未[满达])"
    r"|(?P<gt>\b(?:more|\w+er) than|\bover|\babove|\bexceed\w*|\bbeyond|\bafter|超[过出]|[多高大长晚]于|逾)"
    r")了?\s?(?:about |roughly |the )?[€$£¥]?"
)
_BEHIND = re.compile(
    r"\s?\S{0,2}(?:(?P<ge>or (?:more|later)|以上|起)|(?P<le>or (?:less|fewer|earlier)|以[下内])"
    r"|(?P<gt>之?后)|(?P<lt>之?前))"
)
_NEGATED = re.compile(r"(?:\b(?:not|never|without)\b|n't\b)([^,.?;]{1,24})|(?:没有?|尚?未)([^，。？、]{1,4})")
_CLAUSE = re.compile(r"[^,;?，。？；]{1,40}")
_OTHER = re.compile(r"\bother|其他|其它|别的|外")
_HEAD = re.compile(r"\b(?:which|what)((?: [\w-]+){1,2})|哪(?:[个些几一块种家位本台]*)([一-龥])")
_SMALLEST = re.compile(
    r"\b(?:least|smallest|lowest|shortest|earliest|cheapest|fewest|first|oldest|lightest|quietest)\b"
    r"|最(?:少|低|小|早|便宜|短|轻|差)"
)
_TOP = re.compile(
    r"\b(?:top|the) (two|three|four|five|ten|\d{1,2}) (?=\w+est\b|most|least|[a-z]+s\b)|前([两三四五十]|\d{1,2})"
)
_TOP_COUNTS = dict(zip("two three four five ten 两 三 四 五 十".split(), (2, 3, 4, 5, 10) * 2, strict=True))
# What is the dearest or takes longest is told by a column of money or of time.
_SORTS = (
    (re.compile(r"expensive|dear|cheap|cost|贵|便宜"), re.compile(r"[$€£¥]|\b[A-Z]{3}\b|cost|price|fee|[元价费款]")),
    (re.compile(r"\blong|\bshort|[长短久]"), re.compile(r"hour|day|week|minute|duration|[天时]|分钟", re.IGNORECASE)),
    (re.compile(r"heav|light|[重轻]"), re.compile(r"\bkg\b|\bt\b|weight|重|公斤|吨", re.IGNORECASE)),
)
_BY_DATE = re.compile(r"\b(?:latest|newest|oldest|earliest|first|last|most recent(?:ly)?)\b|最(?:早|晚|新|近)")
_TO = re.compile(r"\s?(?:to|and|until|through|till|–|-|—|~|至|到|和)\s?(?:the end of )?", re.IGNORECASE)
_THIS_YEAR = re.compile(r"\bthis year\b|今年|本年", re.IGNORECASE)
_LAST_YEAR = re.compile(r"\blast year\b|去年|上年", re.IGNORECASE)


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
        """Return whether most cells are numbers, and no dates."""
        filled = sum(map(bool, self.cells))
        return not self.is_dated and 2 * sum(number is not None for number in self.numbers) > filled

    @property
    def is_dated(self) -> bool:
        """Return whether most cells are dates."""
        return 2 * sum(map(bool, self.dates)) > sum(map(bool, self.cells))

    def rows_with(self, cells: set[str]) -> set[int]:
        """Return the rows that have one of these cells."""
        return {at for at, cell in enumerate(self.cells) if cell in cells}


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
    if match := _DAY_CELL.fullmatch(cell.strip()):
        day, month = match[1].zfill(2), match[2].zfill(2)
        return f"{match[3]}-{month}-{day}" if month <= "12" else f"{match[3]}-{day}-{month}"
    return next((mention.iso for mention in find_dates(cell)), "")


def columns_of(labels: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Column]:
    """Return the columns of a table."""
    return [Column(label, tuple(row[at] if at < len(row) else "" for row in rows)) for at, label in enumerate(labels)]


def choose_rows(table: Table, question: str, analysis: QuestionAnalysis, around: str = "") -> Chosen | None:
    """Return the rows that answer; None where the table has no row that meets the question's condition.

    `around` is the title and the headings that the table stands under.
    """
    rows = [row for row in table.rows if not is_note(row)]
    columns = columns_of(table.header.cells if table.header else (), [row.cells for row in rows])
    for text in analysis.excluded:
        question = question.replace(text, " ")
    asks = _Asks(to_simplified(question).lower(), analysis, _date(around))
    bounds = [*_within_bounds(columns, asks), *_against_each_other(columns, asks), *_denied(columns, asks)]
    values = [column.rows_with(named) for column in columns if (named := _named_cells(column, asks))]
    meeting = [*bounds, *values, *_in_periods(columns, asks)]
    left_out = set[int]().union(*_left_out(columns, analysis))
    kept = sorted(set(range(len(rows))).intersection(*meeting) - left_out)
    if not kept:
        return None
    fit = _BOUND_FIT if bounds else _VALUE_FIT if values else _DATE_FIT if meeting else 0.0
    fit += _HEAD_FIT * any(_is_head(column, asks) for column in columns)
    if analysis.kind == "extreme":
        kept, is_named = _extreme(columns, kept, asks)
        fit += _VALUE_FIT * is_named
    if analysis.kind == "trend" and any(column.is_dated for column in columns[:2]):
        fit = 1.0
    if len(kept) == len(rows) > SMALL_TABLE:
        return None
    return Chosen(tuple(rows[at] for at in kept), min(fit, 1.0))


class _Asks:
    """A question as tables are asked: in small letters and simplified characters, with the period of the table."""

    def __init__(self, text: str, analysis: QuestionAnalysis, own_period: str = "") -> None:
        self.text = text
        self.terms = frozenset(content_terms(text))
        self.names = [terms for name in analysis.names if (terms := frozenset(content_terms(name)))]
        self.periods = analysis.periods
        self.is_of_period = any(own_period.startswith(period) for period in analysis.periods)
        self.denied = frozenset(content_terms(" ".join(match[1] or match[2] for match in _NEGATED.finditer(text))))

    def signs(self) -> Iterator[tuple[re.Match[str], str]]:
        """Yield the words that set a bound, each with what it asks for."""
        for match in _SIGN.finditer(self.text):
            name = match.lastgroup or ""
            yield match, _OPPOSITE.get(name, name) if match["no"] else name


def _is_head(column: Column, asks: _Asks) -> bool:
    """Return whether a column holds what a question asks "which" of."""
    return any(
        match[2] in to_simplified(column.label) if match[2] else not column.terms.isdisjoint(content_terms(match[1]))
        for match in _HEAD.finditer(asks.text)
    )


def _named_cells(column: Column, asks: _Asks, *, is_denied: bool = False) -> set[str]:
    """Return the cells of a column that the question names, unless it names them all; the longest name counts."""
    if column.is_numeric:
        return set()
    values = {cell for cell in column.cells if cell and not cell.strip().isdigit()}
    plain = {cell: to_simplified(cell).lower().strip() for cell in values}
    # "The villages Shangping and Xiaping": in Chinese, what ends all cells alike need not be said.
    ends_alike = len(values) > 1 and len({cell[-1:] for cell in plain.values()}) == 1
    rest, named = asks.text, set()
    for cell in sorted(values, key=lambda cell: (-len(cell), cell)):
        terms = frozenset(content_terms(cell))
        if not 0 < len(terms) <= _MAX_VALUE_TERMS or terms <= column.terms or is_denied != bool(terms & asks.denied):
            continue
        own = plain[cell][:-1] if ends_alike else plain[cell]
        is_chinese = CJK_CHARACTER.search(cell) is not None
        is_said = len(own) > 1 and own in rest if is_chinese else terms <= frozenset(content_terms(rest))
        if is_said or any(name <= terms for name in asks.names):
            named.add(cell)
            rest = rest.replace(plain[cell], " ")
    return named if len(named) < len(values) else set()


def _denied(columns: Sequence[Column], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows that lack what a question says not to be so: without that value, or with an empty cell."""
    for column in columns:
        filled = {at for at, cell in enumerate(column.cells) if cell}
        if cells := _named_cells(column, asks, is_denied=True):
            yield filled - column.rows_with(cells)
        elif asks.denied & column.terms and 0 < len(filled) < len(column.cells):
            yield set(range(len(column.cells))) - filled


def _left_out(columns: Sequence[Column], analysis: QuestionAnalysis) -> Iterator[set[int]]:
    """Yield the rows that the question leaves out; "other" things are all but the one that most rows have."""
    for text in analysis.excluded:
        asks = _Asks(to_simplified(text).lower(), QuestionAnalysis())
        for column in columns:
            if named := _named_cells(column, asks):
                yield column.rows_with(named)
            elif asks.terms & column.terms and _OTHER.search(asks.text) and not column.is_numeric:
                [(most, _)] = Counter(column.cells).most_common(1)
                yield {at for at, cell in enumerate(column.cells) if cell != most}


def _within_bounds(columns: Sequence[Column], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows within each bound that a question sets on a number."""
    text = asks.text
    before = {match.end(): name for match, name in asks.signs()}
    amounts = [(each.start, each.end, each.value, each.unit, each.raw) for each in find_quantities(text)]
    taken = {start for start, *_ in amounts}
    worded = [(each.start, each.end, *each.values[0], each.raw) for each in find_worded(text)]
    for start, end, value, unit, raw in [*amounts, *(each for each in worded if each[0] not in taken)]:
        behind = _BEHIND.match(text, end)
        name = before.get(start) or (behind.lastgroup if behind else "")
        days = next((days for word, days in _DAYS.items() if unit == word or text.startswith(word, end)), 0.0)
        column = _measured(columns, asks, f"{unit} {raw} {text[end : end + 12]} {'day' if days else ''}")
        if column is not None and name:
            is_counted = bool(column.terms & set(content_terms(f"{unit} {raw}")))
            limit = value if is_counted else value * (days or 1.0)
            yield {at for at, own in enumerate(column.numbers) if own is not None and _COMPARE[name](own, limit)}


def _against_each_other(columns: Sequence[Column], asks: _Asks) -> Iterator[set[int]]:
    """Yield the rows in which one column is more, or less, than another that the question holds against it."""
    numeric = _of_period([column for column in columns if column.is_numeric], asks)
    for match, name in asks.signs():
        behind = _CLAUSE.match(asks.text, match.end())
        if name in ("since", "until") or behind is None or len(numeric) < 2:
            continue
        limit = _told_by(numeric, behind.group())
        others = [column for column in numeric if column is not limit]
        if limit is None or find_quantities(behind.group()[:8]):
            continue
        own = _told_by(others, asks.text[: match.start()]) or others[max(0, numeric.index(limit) - 1)]
        yield {
            at
            for at, (one, other) in enumerate(zip(own.numbers, limit.numbers, strict=True))
            if one is not None and other is not None and _COMPARE[name](one, other)
        }


def _told_by(columns: Sequence[Column], text: str) -> Column | None:
    """Return the column whose label a text holds, most of it or first."""
    terms = content_terms(text)
    ranked = [
        (-len(shared) / len(column.terms), min(map(terms.index, shared)), at)
        for at, column in enumerate(columns)
        if (shared := column.terms.intersection(terms))
    ]
    return columns[min(ranked)[2]] if ranked else None


def _of_period(columns: Sequence[Column], asks: _Asks) -> Sequence[Column]:
    """Return the columns without those whose label names another period, if any names the one that is asked for."""
    others = [column for column in columns if _date(column.label) and not _date(column.label).startswith(asks.periods)]
    has_own = any(_date(column.label).startswith(asks.periods) for column in columns)
    return [column for column in columns if column not in others] if has_own else columns


def _measured(columns: Sequence[Column], asks: _Asks, unit: str) -> Column | None:
    """Return the numeric column that a question speaks of."""
    named = frozenset(content_terms(unit))
    numeric = _of_period([column for column in columns if column.is_numeric], asks)
    shared = Counter(term for column in numeric for term in column.terms)
    sorts = [label for asked, label in _SORTS if asked.search(unit)]
    ranked = [
        (
            2 * (len(column.terms & named) + any(sign in column.label for sign in _COUNTERS.findall(unit)))
            + sum(1 / shared[term] for term in column.terms & asks.terms) / max(len(column.terms), 1) ** 0.5
            + any(sort.search(to_simplified(column.label)) for sort in sorts),
            -at,
        )
        for at, column in enumerate(numeric)
    ]
    best = max(ranked, default=(0.0, 0))
    if best[0] > 0 or len(ranked) == 1:
        return numeric[-best[1]]
    return next((column for column in numeric if _TOTAL.search(to_simplified(column.label))), None)


def _in_periods(columns: Sequence[Column], asks: _Asks) -> list[set[int]]:
    """Return the rows of the periods that the question names, by the column of dates; a table may be of one period."""
    dated = [column for column in columns if column.is_dated]
    if not dated:
        return []
    dates = max(dated, key=lambda column: len(column.terms & asks.terms)).dates
    text = asks.text
    low, high = _range(text, dates)
    if low:
        return [{at for at, date in enumerate(dates) if low <= date[: len(low)] and date[: len(high)] <= high}]
    before = {match.end(): name for match, name in asks.signs()}
    found, named = [], set[int]()
    mentions = find_dates(text)
    for mention in mentions:
        behind, iso = _BEHIND.match(text, mention.end), mention.iso
        name = before.get(mention.start) or (behind.lastgroup if behind else "")
        if name:
            found.append({at for at, date in enumerate(dates) if date and _COMPARE[name](date[: len(iso)], iso)})
        else:
            named |= {at for at, date in enumerate(dates) if date.startswith(iso)}
    year = "" if mentions else _relative_year(text, dates)
    if year or len(mentions) > len(found):
        found.append({at for at, date in enumerate(dates) if date.startswith(year)} if year else named)
    if not any(period[0].isdigit() for period in asks.periods):
        months = {mention.iso[5:7] for mention in find_months(text)}
        found += [{at for at, date in enumerate(dates) if date[5:7] in months}] if months else []
    return [] if asks.is_of_period and found and not set.intersection(*found) else found


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


def _extreme(columns: Sequence[Column], kept: list[int], asks: _Asks) -> tuple[list[int], bool]:
    """Return the rows with the greatest or smallest value of the column that the question speaks of, if it has one."""
    keys = _ranking(columns, asks)
    filled = [at for at in kept if keys and keys[at] not in (None, "") and not _is_total(columns, at)]
    if not keys or not filled:
        return kept, False
    top = _TOP.search(asks.text)
    count = int(_TOP_COUNTS.get(top[1] or top[2], top[1] or top[2])) if top else 1
    is_least = _SMALLEST.search(asks.text) is not None
    ranked = sorted((keys[at] for at in filled), reverse=not is_least)  # type: ignore[type-var]
    return [at for at in filled if keys[at] in ranked[:count]], True


def _ranking(columns: Sequence[Column], asks: _Asks) -> Sequence[str | float | None]:
    """Return the values that an extreme is sought among."""
    dated = [column for column in columns if column.is_dated]
    measured = _measured(columns, asks, asks.text)
    if dated and (_BY_DATE.search(asks.text) or measured is None):
        return max(dated, key=lambda column: len(column.terms & asks.terms)).dates
    return measured.numbers if measured else ()


def _is_total(columns: Sequence[Column], at: int) -> bool:
    return any(_TOTAL.fullmatch(to_simplified(column.cells[at]).strip()) for column in columns[:2])
