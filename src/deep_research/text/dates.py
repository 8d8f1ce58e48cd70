"""Dates, months, quarters and years in English and Chinese text, as ISO 8601 prefixes (quarters as 2024-Q3)."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from deep_research.text.folding import to_simplified

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "一": "1", "二": "2", "三": "3", "四": "4"}
_CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")

_MONTH = (
    r"(?P<name>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])"
_MONTH_NUMBER = r"(?P<month>1[0-2]|0?[1-9])"
_YEAR = r"(?P<year>1[6-9]\d\d|20\d\d|21\d\d)"
_ALONE, _WHOLE = r"(?<![\w.,$€£¥-])", r"(?![\w%]|[.,]\d)"
_UNIT_NEXT = r"(?!\s?(?:%|percent|people|million|billion|kg|km|MW|GW|tons?|tonnes?|units?|users?|元|万|亿|人|个))"

# Longer forms first: a later pattern never takes a stretch that an earlier one has taken. Before each, what a text in
# lower case must hold one of to be worth looking at.
_PATTERNS = tuple(
    (hints.split(), re.compile(pattern, re.IGNORECASE))
    for hints, pattern in (
        ("- / .", rf"(?<![A-Za-z\d_.,$-]){_YEAR}([-/.]){_MONTH_NUMBER}\2{_DAY}(?![\d.]\d|\d)"),
        (_MONTHS, rf"\b{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}\b"),
        (_MONTHS, rf"\b{_DAY}(?:(?:st|nd|rd|th)?\s+(?:of\s+)?|-){_MONTH}(?:,?\s+|-){_YEAR}\b"),
        (_MONTHS, rf"\b{_MONTH},?\s+{_YEAR}\b"),
        ("-", rf"(?<![\w.,$-]){_YEAR}-(?P<month>0[1-9]|1[0-2])(?![\w%-]|[.,]\d)"),
        ("q", rf"\bQ(?P<quarter>[1-4])[\s,-]*(?:FY\s?)?{_YEAR}\b"),
        (
            "quarter",
            rf"\b(?P<quarter>first|second|third|fourth)[\s-]quarter(?:\s+of)?,?\s+(?:fiscal\s+)?{_YEAR}\b",
        ),
        ("q", rf"\b(?:FY\s?)?{_YEAR}[\s-]?Q(?P<quarter>[1-4])\b"),
        ("年", rf"(?<!\d){_YEAR}\s?年\s?{_MONTH_NUMBER}\s?月(?:\s?{_DAY}\s?[日号])?"),
        ("季", rf"(?<!\d){_YEAR}\s?年?\s?(?:第?(?P<quarter>[一二三四1-4])季度?)"),
        ("年", rf"(?<!\d){_YEAR}(?:\s?年|(?=[上下]半年|全年))"),
        ("年", r"(?P<year>[一二][〇零一二三四五六七八九]{3})年"),
        ("/ .", rf"(?<![\w/.]){_DAY}[/.](?P<other>3[01]|[12]\d|0?[1-9])[/.]{_YEAR}\b"),
        ("fy fiscal", rf"\b(?:FY|fiscal(?:\s+year)?)\s?(?:{_YEAR}|(?P<short>\d\d))\b"),
        ("1 2", rf"{_ALONE}{_YEAR}{_WHOLE}{_UNIT_NEXT}"),
        # The second year of a range ("2020-2024"), which the rule before rejects for its dash.
        ("- – —", rf"(?<=\d{{4}}[-–—])(?<![A-Za-z]-\d{{4}}[-–—]){_YEAR}{_WHOLE}"),
    )
)
# No date without one of these.
_DATED = re.compile(r"1[6-9]\d\d|2[01]\d\d|[一二][〇零一二三四五六七八九]{3}年|fy|fiscal", re.IGNORECASE)


class DateMention(NamedTuple):
    """A date in a text: `iso` is YYYY, YYYY-MM, YYYY-MM-DD or YYYY-Qn."""

    iso: str
    start: int
    end: int
    raw: str


# The same sentences are looked at again and again: chosen, ranked, compared, checked.
@lru_cache(maxsize=2_048)
def find_dates(text: str) -> tuple[DateMention, ...]:
    """Return the dates of a text in order, none overlapping."""
    plain = to_simplified(text)
    if not _DATED.search(plain):
        return ()
    taken: dict[int, DateMention] = {}
    covered: set[int] = set()
    lowered = plain.lower()
    for hints, pattern in _PATTERNS:
        for match in pattern.finditer(plain) if any(hint in lowered for hint in hints) else ():
            start, end = match.span()
            if start in covered or end - 1 in covered:
                continue
            taken[start] = DateMention(_iso(match.groupdict().get), start, end, text[start:end])
            covered.update(range(start, end))
    return tuple(taken[start] for start in sorted(taken))


# Stands for the year in the date of a month that names none.
ANY_YEAR = "????"
_CHINESE_MONTHS = "一 二 三 四 五 六 七 八 九 十 十一 十二".split()
# Of several days of a month, the month is the period.
_RANGE = r"\s?(?:[-–—~到至]|to\b|and\b)\s?\d{1,2}(?!\d|月)"
_MONTH_NUMERAL = rf"(?:\d{{1,2}}|{'|'.join(reversed(_CHINESE_MONTHS))})"
_CHINESE_DAY = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_ANY_MONTH = re.compile(
    rf"(?:(?<![-–—\d])(?<!to )(?<!and )\b{_DAY}(?:st|nd|rd|th)?\s(?:of\s)?)?\b{_MONTH}(?!\w)"
    rf"(?:\s(?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!{_RANGE}))?"
    rf"|(?<![\d.])(?P<number>{_MONTH_NUMERAL})"
    rf"(?:(?=[-–—~到至]{_MONTH_NUMERAL}月)|月(?:份|(?P<of>{_CHINESE_DAY})[日号號](?!{_RANGE}))?)"
)


def find_months(text: str) -> list[DateMention]:
    """Return the months and days of a text in order, with or without a year, as dates of any year ("????-06-19")."""
    found = []
    for match in _ANY_MONTH.finditer(text):
        name, day = match["name"], match["day"] or match["after"] or match["of"]
        month = _month_of(name) if name else _number(match["number"])
        iso = f"{ANY_YEAR}-{month:02}" + (f"-{_number(day):02}" if day else "")
        found.append(DateMention(iso, match.start(), match.end(), match.group()))
    return found


def ends_of(iso: str) -> tuple[str, str]:
    """Return the first and the last month of a quarter, the two years of "2024/2025", or the date itself twice."""
    year, _, quarter = iso.partition("-Q")
    if quarter:
        return f"{year}-{3 * int(quarter) - 2:02}", f"{year}-{3 * int(quarter):02}"
    return iso[:4] if "/" in iso else iso, iso.rpartition("/")[2]


def lies_in(date: str, period: str) -> bool:
    """Return whether a date is a part of a period; that of a month without a year is that month of any year."""
    (begin, end), (low, high) = ends_of(date), ends_of(period)
    skipped = 4 * period.startswith(ANY_YEAR)
    return low[skipped:] <= begin[skipped : len(low)] and end[skipped : len(high)] <= high[skipped:]


def _number(text: str) -> int:
    """Return a number below 100 in digits or in Chinese."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    digits = (each.translate(_CHINESE_DIGITS) for each in (tens or "一" * bool(ten), ones))
    return int("".join(each or "0" for each in digits))


def _month_of(name: str) -> int:
    return _MONTHS.split().index(name[:3].lower()) + 1


def _iso(part: Callable[[str], str | None]) -> str:
    year = (part("year") or f"20{part('short')}").translate(_CHINESE_DIGITS)
    quarter = part("quarter")
    if quarter:
        return f"{year}-Q{_ORDINALS.get(quarter.lower(), quarter)}"
    day, other = part("day"), part("other")
    if other:
        return _from_two_numbers(year, int(day or 0), int(other))
    name = part("name")
    month = _month_of(name) if name else int(part("month") or 0)
    if not month:
        return year
    return f"{year}-{month:02d}-{int(day):02d}" if day else f"{year}-{month:02d}"


def _from_two_numbers(year: str, first: int, second: int) -> str:
    # 05/06/2024 is May or June depending on the country: only the year is certain.
    if first > 12 >= second:
        return f"{year}-{second:02d}-{first:02d}"
    return f"{year}-{first:02d}-{second:02d}" if second > 12 >= first or first == second else year
