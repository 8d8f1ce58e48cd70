"""The text of a structured file put together block by block, in the plain form every reading has."""

import re
from collections.abc import Iterable

from deep_research.readers.places import heading_places
from deep_research.sources.document import Place

_SPACES = re.compile(r"\s+")


class BlockText:
    """Collects headings, paragraphs, items and rows in reading order, and knows where each heading begins."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._last_kind = ""
        self._headings: list[tuple[int, str]] = []

    def heading(self, label: str, level: int) -> None:
        """Add a heading of level 1 to 6."""
        label = one_line(label)
        if label:
            self._add("heading", f"{'#' * min(max(level, 1), 6)} {label}")
            self._headings.append((self._length - len(self._parts[-1]), label))

    def paragraph(self, text: str) -> None:
        """Add a paragraph; line breaks in it become spaces."""
        self._add("paragraph", one_line(text))

    def item(self, text: str, depth: int = 0) -> None:
        """Add a list item, indented by its depth."""
        text = one_line(text)
        self._add("item", "  " * depth + "- " + text if text else "")

    def row(self, cells: Iterable[str]) -> None:
        """Add a table row."""
        labels = [one_line(cell).replace("|", "/") for cell in cells]
        self._add("row", "| " + " | ".join(labels) + " |" if any(labels) else "")

    def verbatim(self, text: str) -> None:
        """Add text whose line breaks mean something, such as code."""
        self._add("verbatim", text.strip("\n"))

    def end_block(self) -> None:
        """Keep the next item or row apart from the last, because another list or table begins."""
        self._last_kind = ""

    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._parts)

    def places(self) -> tuple[Place, ...]:
        """Return the headings as places."""
        return heading_places(self._headings, self._length)

    def _add(self, kind: str, block: str) -> None:
        if not block.strip():
            return
        if self._parts:
            gap = "\n" if kind == self._last_kind and kind in ("item", "row") else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        self._parts.append(block)
        self._length += len(block)
        self._last_kind = kind


def one_line(text: str) -> str:
    """Return text with every run of white space as one space."""
    return _SPACES.sub(" ", text).strip()
