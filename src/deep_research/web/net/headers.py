"""What headers say: who we are to services and sites, and how long a server asks to wait before the next call.

We are the program, its version and somebody to turn to, as Wikimedia asks.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# The project's own address, as in pyproject.toml.
PROJECT_ADDRESS = "https://github.com/deep-research/deep-research"


def user_agent(contact: str) -> str:
    """Return the value of the header User-Agent; `contact` is a mail address or a web address."""
    return f"deep-research/0.1 (research agent; {contact})"


def mail_of(contact: str) -> str:
    """Return the contact where it is a mail address, "" where it is a web address, for services that take only mail."""
    return "" if "://" in contact else contact


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return how many seconds a server asks to wait, given in milliseconds, seconds or as a date."""
    values = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(values[name]) * unit_s
        except (KeyError, ValueError):
            continue
        # Also where it is not a number or has no end.
        return wait_s if 0 <= wait_s < float("inf") else None
    try:
        until = parsedate_to_datetime(values["retry-after"])
    except (KeyError, ValueError):
        return None
    # A date without a zone is meant as UTC (RFC 9110).
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
