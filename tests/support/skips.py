"""What a run of the tests left out: for want of a program, and of the floors of quality."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from evals.shared import DEFAULT_DATA

_WANTED = re.compile(r"(\S+) is not installed: (.+)")


def wanting(skipped: Iterable[Any]) -> list[str]:
    """Return a line for each program or font that tests were skipped without, and how to get it."""
    found = Counter(match.groups() for each in skipped if (match := _WANTED.search(_reason(each))))
    return [f"{count} tests were skipped without {name}: {how}" for (name, how), count in sorted(found.items())]


def floors_skipped(skipped: Sequence[Any]) -> list[str]:
    """Return the floors that were skipped, unless it was because none of the sets is here."""
    floors = [each for each in skipped if each.nodeid.startswith("tests/evals/")]
    is_here = DEFAULT_DATA.exists()
    return [each.nodeid.rpartition("::")[2] for each in floors if is_here or str(DEFAULT_DATA) not in _reason(each)]


def _reason(skipped: Any) -> str:
    return str(skipped.longrepr[2] if isinstance(skipped.longrepr, tuple) else skipped.longrepr)
