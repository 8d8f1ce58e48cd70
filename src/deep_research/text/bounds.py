"""Bounds that words set on figures and dates: "more than 20", "since 2023", "from April to June", 三千以上."""

import operator
import re
from collections.abc import Iterator
from itertools import pairwise

from deep_research.text.dates import ANY_YEAR, ends_of, find_dates, find_months, lies_in

_OPPOSITE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}
# Words that set a bound, named as the module `operator` names it.
_SIGN = re.compile(
    r"(?P<no>(?:\b(?:no|not|never)\b|n't\b)\s(?:\w+ )?|没有?|未|不)?(?:"
    r"(?P<ge>\bat least|\breach(?:ed)?|\bsince|\bfrom|\bbetween"
    # "至少睡得下四个人": what can be so many stands between.
    r"|[至最]少[^\d一二两三四五六七八九十百千万，。、]{0,4}|达到|[从自])"
    r"|(?P<le>\bat most|\bup to|\buntil|\bwithin|[至最]多|截至)"
    r"|(?P<lt>\b(?:less|fewer|shorter|lower|smaller|earlier|cheaper|younger|lighter)(?: \w+){0,4}? than"
    r"|\bunder|\bbelow|\bbefore|\bshort of|[低少小短早]于|不[足到满]|未[满达])"
    r"|(?P<gt>\b(?:more|\w+er)(?: \w+){0,4}? than|\bover|\babove|\bexceed\w*|\bbeyond|\bafter"
    r"|超[过出]|[多高大长晚]于|逾))了?\s?(?:about |roughly |the )?"
)
_BEHIND = re.compile(
    r"\s?\S{0,2}(?:(?P<ge>or (?:more|later)|以[上来]|起)|(?P<le>or (?:less|fewer|earlier)|以[下内]|为?止)"
    r"|(?P<gt>[之以]?后)|(?P<lt>[之以]?前))"
)
_TO = re.compile(r"(?:\b(?:to|until|through|till)|[–—~至到-])\s?(?:the end of )?$")
_BETWEEN = re.compile(r"\bbetween \S+(?: \S+)? and $")
_HALF = re.compile(r"\b(?:(first)|second) half of (?P<en>\d{4})|(?P<zh>\d{4})年?的?(?:(上)|下)半年", re.IGNORECASE)
# A year that ends in a later one: "2024-25".
YEARS = re.compile(r"\d{4}[-/–](?:1[3-9]|[2-9]\d)(?!\d)")


def bounds_in(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the words that set a bound, each with the comparison that it asks for."""
    for match in _SIGN.finditer(text):
        name = match.lastgroup or ""
        yield match, _OPPOSITE[name] if match["no"] else name


def bound_at(text: str, start: int, end: int) -> str:
    """Return the comparison that the words before or behind a figure or a date ask for, "" for none."""
    if _BETWEEN.search(text[:start]):
        return "le"
    behind = _BEHIND.match(text, end)
    before = (name for match, name in bounds_in(text) if match.end() == start)
    return next(before, (behind.lastgroup if behind else "") or "")


def bounded_periods(text: str, *, are_years: bool = False) -> list[tuple[str, str]]:
    """Return the periods of a text, each behind the comparison that it is named with, "" for none.

    Where years are counted like "2024-25" (`are_years`), such a year is one; elsewhere it has parts of two.
    """
    cased = _HALF.sub(_quarters, text)
    text = cased.lower()
    periods = [(start, end, iso) for iso, start, end, _ in find_dates(text)]
    if not are_years:
        periods = [
            (start, end, f"{iso}/{iso[:2]}{years.group()[-2:]}" if (years := YEARS.match(text, end - 4)) else iso)
            for start, end, iso in periods
        ]
    if len(periods) < 2:
        # Months that name no year are of the one year that is named: "from May to August 2024", "in May and in 2024".
        year, dated = periods[0][2][:4] if periods else ANY_YEAR, [each for each in periods if len(each[2]) > 4]
        months = [
            (month.start, month.end, year + month.iso[4:])
            for month in find_months(cased)
            if not any(start <= month.start < end for start, end, _ in dated)
        ]
        periods = sorted([*dated, *months]) if months else periods
    ends: dict[str, str] = {}
    for (*_, low), (start, _, high) in pairwise(periods):
        ends |= {low: "ge", high: "le"} if _TO.search(text[:start]) else {}
    return [(ends.get(iso) or bound_at(text, start, end), iso) for start, end, iso in periods]


def meets_bound(date: str, name: str, period: str) -> bool:
    """Return whether a date lies in a period, or before or after it."""
    if not name:
        return lies_in(date, period)
    limit, skipped = ends_of(period)[name in ("gt", "le")], 4 * period.startswith(ANY_YEAR)
    return bool(getattr(operator, name)(ends_of(date)[0][skipped : len(limit)], limit[skipped:]))


def _quarters(half: re.Match[str]) -> str:
    """Return the first or the second half of a year as its quarters."""
    year, is_first = half["en"] or half["zh"], half[1] or half[4]
    return f"{year}-Q1 to {year}-Q2" if is_first else f"{year}-Q3 to {year}-Q4"
