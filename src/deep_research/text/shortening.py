"""Text cut to a length: for titles, subjects and lists, where the whole stands elsewhere."""

import re

_SENTENCE_END = re.compile(r"(?:[.!?]\s|[。！？])")
_CLAUSE_END = re.compile(r"[\s,;:，、；：]")


def shortened(text: str, most: int) -> str:
    """Return a text on one line with at most so many characters: its first sentences, or as many words as fit."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    ends = [found.end() for found in _SENTENCE_END.finditer(line[:most])]
    if ends and 3 * ends[-1] >= most:
        return line[: ends[-1]].rstrip()
    cut = [found.start() for found in _CLAUSE_END.finditer(line[:most])]
    return line[: cut[-1] if cut and 3 * cut[-1] >= most else most - 1].rstrip() + "…"
