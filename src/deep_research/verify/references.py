"""Addresses and figures that a sentence names: a reader would look for them, so they must be there."""

import re
from collections.abc import Container, Sequence

from deep_research.text.analyzer import CJK
from deep_research.text.folding import fold_typography

_ADDRESS = rf"[^\s<>\"'，。；、（）「」【】《》{CJK}]+"
# The lengths that the names of hosts may have; of longer ones the end is found.
_HOST = r"(?:[a-z0-9-]{1,63}\.){1,10}[a-z]{2,63}"
# A page, a DOI, a paper's number, an e-mail address, and "[7]", which a reader would take for one of our own markers.
_REFERENCE = re.compile(
    rf"(?:https?|ftp|file)://{_ADDRESS}|\b(?:javascript|data|vbscript):\S+|(?<![:/\w])//{_HOST}\S*"
    rf"|\bwww\.{_ADDRESS}|\b{_HOST}/{_ADDRESS}|\b10\.\d{{4,9}}/{_ADDRESS}|\barXiv:?\s?\d{{4}}\.\d{{4,5}}"
    rf"|[\w.+-]{{1,64}}@(?:[\w-]{{1,63}}\.){{1,10}}[a-z]{{2,63}}|\[\d{{1,4}}\]",
    re.IGNORECASE | re.ASCII,
)
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
# "Table 2 of the annual report" is the source's own.
_FIGURE = re.compile(
    r"\b(?:figure|fig\.|chart|graph|diagram|table)\s?(\d{1,2})\b(?!\s(?:of|in|from)\b)"
    r"|(?:^|[，。；：、（(]|[如见見由据據从從])\s?[图圖表]\s?(\d{1,2})(?!\d)",
    re.IGNORECASE,
)


def missing_figure(text: str, numbers: Container[int]) -> str:
    """Return the first figure or table that a text names and that has none of these numbers, or ""."""
    found = (match for match in _FIGURE.finditer(text) if int(match[1] or match[2]) not in numbers)
    return next((match[0] for match in found), "")


def find_references(text: str) -> list[str]:
    """Return the addresses and markers that a text names, in order."""
    return [match[0].rstrip(".,;:!?)/") for match in _REFERENCE.finditer(text)]


def unknown_reference(text: str, quotes: Sequence[str]) -> str:
    """Return the first address that a text names and no quote holds, or ""."""
    # A line break inside a long address is the page's, and parts nothing.
    known = "\n".join("".join(fold_typography(quote).text.lower().split()) for quote in quotes)
    return next((named for named in find_references(text) if _key(named) not in known), "")


def _key(reference: str) -> str:
    return "".join(_SCHEME.sub("", reference).lower().split())
