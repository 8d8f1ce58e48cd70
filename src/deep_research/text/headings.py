"""The headings that a place in a text stands under."""

import re
from bisect import bisect_left
from functools import lru_cache

_HEADING = re.compile(r"(?m)^[ \t]{0,3}(#{1,6})[ \t]+(.+)$")


def headings_above(text: str, at: int) -> str:
    """Return the headings that a place in a text stands under, the highest first."""
    starts, paths = _heading_paths(text)
    before = bisect_left(starts, at) - 1
    return paths[before] if before >= 0 else ""


@lru_cache(maxsize=8)
def _heading_paths(text: str) -> tuple[list[int], list[str]]:
    path: list[tuple[int, str]] = []
    starts, paths = [], []
    for match in _HEADING.finditer(text):
        level = len(match[1])
        path = [*(each for each in path if each[0] < level), (level, match[2].rstrip())]
        starts.append(match.start())
        paths.append(" › ".join(title for _, title in path))
    return starts, paths
