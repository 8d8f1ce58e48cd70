"""Stretches of time as people write them: `30m`, `12h`, `7d`, `2w`."""

import re
from datetime import timedelta

_DURATION = re.compile(r"([1-9][0-9]{0,4}) ?([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration_of(text: str) -> timedelta:
    """Return the stretch of time that a text names; `ValueError` says what fits."""
    parts = _DURATION.fullmatch(text.strip().lower())
    if parts is None:
        raise ValueError("write a number with m, h, d or w, such as 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[parts[2]]: int(parts[1])})
