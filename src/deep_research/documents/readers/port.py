"""What a reader gives, and the bounds every reader keeps.

A reading's text is plain: paragraphs apart by a blank line, headings as `## Heading`, list items as `- item`, table
rows as `| a | b |`. Text and Markdown files keep their own lines, so that line numbers hold.
"""

from collections.abc import Callable

from deep_research.errors import SourceError
from deep_research.report.sources.document import DocumentLink, DocumentPicture, Place
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
