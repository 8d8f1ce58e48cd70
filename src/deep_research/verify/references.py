"""Addresses in a sentence: what a reader would follow must come from a source, never from whoever wrote it."""

import re
from collections.abc import Sequence

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
