"""Publication dates: the days that one may mean, and the day that a text itself gives as its own.

A source that only names a year was published on one of 365 days.
"""

import re
from calendar import monthrange
from datetime import date

from deep_research.text.dates import find_dates

# A dateline stands above the first paragraph and is no sentence of it.
_LINES = 5
_LONGEST_LINE = 200
_HEADING = re.compile(r"#{2,6}\s")
# What stands before the date: nothing, the end of a name, or a word that says what the date is. "On 3 May" tells of
# something else.
_BEFORE = re.compile(
    r"(?:^|[.,;:，。；：、|·*_(（\u3000–—-])\s*$"
    r"|\b(?:date|dated|issued|published|updated|released)(?: on)?:?\s*$"
    r"|(?:日期|发布|發布|更新|发表|發表|编制|編製)(?:于|於)?\s*$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"\s*(?:$|[.;。；|·*_)）\u3000–—]|更新|发布|發布|印发|印發)")
_ISO = re.compile(r"\d{4}(?:-\d\d){0,2}")
_WHOLE_DAY = len("2026-01-31")


def days_of(published: str) -> tuple[date, date] | None:
    """Return first and last day of a date given as YYYY, YYYY-MM or YYYY-MM-DD (a time behind it is ignored)."""
    try:
        year, month, day = ([int(part) for part in published[:10].split("-")] + [0, 0])[:3]
        if day:
            return date(year, month, day), date(year, month, day)
        first, last = month or 1, month or 12
        return date(year, first, 1), date(year, last, monthrange(year, last)[1])
    except (ValueError, OverflowError):
        return None


def may_be_within(published: str, since: date | None, until: date | None) -> bool:
    """Return whether something may have been published in a time; what bears no date may."""
    days = days_of(published)
    return days is None or not ((since and days[1] < since) or (until and days[0] > until))


def period_named(text: str) -> tuple[date, date]:
    """Return first and last day of the date that is all of a text, as 2025, 2025-03, March 2025 or 2025年3月1日."""
    text = text.strip()
    dates = [text] if _ISO.fullmatch(text) else [found.iso for found in find_dates(text) if found.raw == text]
    days = days_of(dates[0]) if dates else None
    if not days:
        raise ValueError(f"{text!r} is no date")
    return days


def day_of(published: str, text: str, *, is_page: bool) -> str:
    """Return the date by which a source goes, "" where it bears none.

    A file's own date is often that of its last export: there, what the text says comes first.
    """
    days = (published[:10], dateline_of(text))
    return next(filter(None, days if is_page else reversed(days)), "")


def dateline_of(text: str) -> str:
    """Return the day that stands alone in a text's first lines as YYYY-MM-DD, "" where none or more than one does."""
    found: set[str] = set()
    lines = [line.strip() for line in text[: _LINES * _LONGEST_LINE].splitlines() if line.strip()]
    for line in lines[1:_LINES]:
        if _HEADING.match(line):
            break
        if len(line) <= _LONGEST_LINE:
            found |= {
                date.iso
                for date in find_dates(line)
                if len(date.iso) == _WHOLE_DAY
                and _BEFORE.search(line[: date.start])
                and _BEHIND.match(line[date.end :])
            }
    return found.pop() if len(found) == 1 else ""
