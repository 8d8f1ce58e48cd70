"""The text of a structured file put together block by block, in the plain form every reading has."""

import re
from collections.abc import Iterable

from deep_research.documents.readers.places import heading_places
from deep_research.report.sources.document import Place, PlaceKind
from deep_research.text.cleaning import clean_text

_SPACES = re.compile(r"\s+")
_MAX_TITLE_CHARS = 120
_NO_TITLE = re.compile(
    r"(?i)untitled|\(?anonymous\)?|无标题|無標題|microsoft (?:word|powerpoint|excel) ?-.*"
    r"|.*\.(?:docx?|pdf|indd|tex|pptx?|xlsx?|odt|rtf|txt|md|html?|epub)"
)


class BlockText:
    """Collects headings, paragraphs, items and rows in reading order, and knows the place each stands in."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._last_kind = ""
        self._headings: list[tuple[int, str]] = []
        self._places: list[Place] = []
        self._place: tuple[PlaceKind, str, int] | None = None

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
        self._add("verbatim", clean_text(text).strip("\n"))

    def end_block(self) -> None:
        """Keep the next item or row apart from the last, because another list or table begins."""
        self._last_kind = ""

    def begin_place(self, kind: PlaceKind, label: str) -> None:
        """Let what follows stand in this place, until the next one begins; a place without text is none."""
        self.end_place()
        self._place = (kind, one_line(label), -1)

    def end_place(self) -> None:
        """Let what follows stand in no place but under its heading."""
        if self._place is not None and self._place[2] >= 0:
            kind, label, start = self._place
            self._places.append(Place(kind=kind, label=label, start=start, end=self._length))
        self._place = None

    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._parts)

    def places(self) -> tuple[Place, ...]:
        """Return the places so far in order, headings among them; the open place is ended."""
        self.end_place()
        return tuple(sorted((*self._places, *heading_places(self._headings, self._length)), key=lambda p: p.start))

    def _add(self, kind: str, block: str) -> None:
        if not block.strip():
            return
        if self._parts:
            gap = "\n" if kind == self._last_kind and kind in ("item", "row") else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        if self._place is not None and self._place[2] < 0:
            self._place = (*self._place[:2], self._length)
        self._parts.append(block)
        self._length += len(block)
        self._last_kind = kind


def is_title_like(line: str) -> bool:
    """Return whether a line is short and no sentence."""
    return 0 < len(line) <= _MAX_TITLE_CHARS and not line.endswith(tuple(".。！？!?,，;；"))


def is_no_title(title: str) -> bool:
    """Return whether a title is none: the name of a file, or what a program writes where it has none."""
    return bool(_NO_TITLE.fullmatch(title.strip()))


def one_line(text: str) -> str:
    """Return text with every run of white space as one space, and without what is not shown."""
    return _SPACES.sub(" ", clean_text(text)).strip()
