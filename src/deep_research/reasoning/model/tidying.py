"""What a model writes, as plain text: without controls, and without the Markdown that models dress prose in.

It makes nothing safe: whatever else looks like markup is text, and is escaped where the report is written.
"""

import re

from deep_research.text.cleaning import clean_text

_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.MULTILINE)
# A model that does not stop may write white space to no end, which patterns here and elsewhere would go over again and
# again.
_BLANK_LINES = re.compile(r"\n\s*\n")
_WIDE_GAP = re.compile(r"[^\S\n]{2,}")


def without_markup(text: str, mark: re.Pattern[str] | None = None) -> str:
    """Return a text without fences, and links and images as their words; a `mark` stays as it is."""
    spaced = _WIDE_GAP.sub(" ", _BLANK_LINES.sub("\n\n", clean_text(text)))

    def words(link: re.Match[str]) -> str:
        is_mark = mark is not None and mark.fullmatch(f"[{link.group(1)}]") is not None
        return f"[{link.group(1)}]" if is_mark else link.group(1)

    return _LINK.sub(words, _FENCE.sub("", spaced))
