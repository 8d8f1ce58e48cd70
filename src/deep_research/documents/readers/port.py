"""What a reader gives, put together block by block where a file has structure, and the bounds every reader keeps.

A reading's text is plain: paragraphs apart by a blank line, headings as `## Heading`, list items as `- item`, table
rows as `| a | b |`. Text and Markdown files keep their own lines, so that line numbers hold.
"""

import re
from collections.abc import Callable, Iterable

from deep_research.documents.readers.places import heading_places
from deep_research.errors import SourceError
from deep_research.report.sources.document import DocumentLink, DocumentPicture, Place, PlaceKind
from deep_research.text.cleaning import clean_text
from deep_research.value import Value

MAX_FILE_BYTES = 100_000_000
# What a file gives that is read in a process of its own, with its places.
MAX_TEXT_BYTES = 50_000_000
MAX_PAGES = 2_000
MAX_MESSAGES = 20_000
# More elements of a page are not searched for its main text: trafilatura alone takes some five seconds for these.
MAX_ELEMENTS = 50_000
MAX_SHEETS, MAX_ROWS, MAX_COLUMNS = 100, 20_000, 200
HIDDEN_LEFT = "it has too many style rules to follow them all; text that a browser hides may have been read"
_SPACES = re.compile(r"\s+")
_MAX_TITLE_CHARS = 120
_NO_TITLE = re.compile(
    r"(?i)untitled|\(?anonymous\)?|无标题|無標題|microsoft (?:word|powerpoint|excel) ?-.*"
    r"|.*\.(?:docx?|pdf|indd|tex|pptx?|xlsx?|odt|rtf|txt|md|html?|epub)"
)


class Reading(Value):
    """The text of one file, where its stretches stand in the original, and what the file says about itself."""

    text: str
    title: str = ""
    author: str = ""
    published: str = ""
    language: str = ""
    # The address a page calls its own.
    canonical: str = ""
    places: tuple[Place, ...] = ()
    pictures: tuple[DocumentPicture, ...] = ()
    links: tuple[DocumentLink, ...] = ()
    # Set by `readers.read`: the name and version of what read the file.
    extractor: str = ""
    warnings: tuple[str, ...] = ()


# A format's reader: raises `SourceError` for a file it cannot use, and nothing else; the name is for messages.
Reader = Callable[[bytes, str], Reading]


def failed(name: str, error: str) -> SourceError:
    """Return the refusal of a file that makes its reader fail in a way nobody foresaw."""
    return SourceError(
        f"{name!r} cannot be read: its content makes the reader fail ({error}); "
        "open it in another program and save it again, or convert it to text."
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
