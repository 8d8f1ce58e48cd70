"""The days that a publication date may mean: a source that only names a year was published on one of 365."""

from calendar import monthrange
from datetime import date


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
    """Say whether something may have been published in a time; what bears no date may."""
    days = days_of(published)
    return days is None or not ((since and days[1] < since) or (until and days[0] > until))
