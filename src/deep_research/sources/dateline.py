"""The day that a text itself gives as its own: in a line below its title, as letters, reports and articles have it."""

import re
from typing import Final

from deep_research.text.dates import find_dates

# A dateline stands above the first paragraph and is no sentence of it.
_LINES: Final = 5
_LONGEST_LINE: Final = 200
_HEADING: Final = re.compile(r"#{2,6}\s")
# What stands before the date: nothing, the end of a name, or a word that says what the date is. "On 3 May" tells of
# something else.
_BEFORE: Final = re.compile(
    r"(?:^|[.,;:，。；：、|·*_(（\u3000–—-])\s*$"
    r"|\b(?:date|dated|issued|published|updated|released)(?: on)?:?\s*$"
    r"|(?:日期|发布|發布|更新|发表|發表|编制|編製)(?:于|於)?\s*$",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(r"\s*(?:$|[.;。；|·*_)）\u3000–—]|更新|发布|發布|印发|印發)")
_WHOLE_DAY: Final = len("2026-01-31")


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
