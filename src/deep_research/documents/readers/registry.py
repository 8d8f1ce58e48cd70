"""The known formats: what each is recognised by, and the module that reads it.

A new format is one module of its name with `read(raw, name)`, one line here, one in `versions` and, if content shows
it, one in `sniff`.
A program that has a format of its own adds it with `add_format`.
"""

from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, cast

from deep_research.documents.readers.children import read_in_child
from deep_research.documents.readers.encoding import decode, in_utf8
from deep_research.documents.readers.finishing import cleaned, finished
from deep_research.documents.readers.port import MAX_FILE_BYTES, Reader, Reading, failed
from deep_research.documents.readers.sniff import sniff
from deep_research.documents.readers.versions import EXTRACTOR_VERSIONS, extractor_of
from deep_research.errors import SourceDamaged, SourceError

# A text file above this is read in another process, which has limits of time and memory.
MAX_BYTES_HERE = 1_000_000


class FileFormat(NamedTuple):
    """A format that can be read. Modules load on first use, those of binary formats in a process of their own.

    Large text files are read there too.

    `module` has the format's `read`; not given, it is the reader of this name here.
    """

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    is_text: bool
    module: str = ""

    def read(self, raw: bytes, name: str, media_type: str) -> Reading:
        """Return what the format's module gives, finished."""
        module = self.module or f"deep_research.documents.readers.{self.name}"
        raw = in_utf8(raw, media_type) if self.is_text else raw
        if not self.is_text or len(raw) > MAX_BYTES_HERE:
            # What a child says is cleaned again: the file may have taken it over.
            return cleaned(read_in_child(module, raw, name))
        return finished(cast(Reader, import_module(module).read)(raw, name), name)


_OFFICE = "application/vnd.openxmlformats-officedocument"
FORMATS = {
    name: FileFormat(name, tuple(suffixes.split()), tuple(media_types.split()), is_text)
    for name, suffixes, media_types, is_text in (
        ("text", ".txt .text .log", "text/plain", True),
        ("markdown", ".md .markdown .mdown", "text/markdown", True),
        ("html", ".html .htm .xhtml", "text/html application/xhtml+xml", True),
        ("pdf", ".pdf", "application/pdf", False),
        ("docx", ".docx .docm", f"{_OFFICE}.wordprocessingml.document", False),
        ("pptx", ".pptx .pptm", f"{_OFFICE}.presentationml.presentation", False),
        ("xlsx", ".xlsx .xlsm", f"{_OFFICE}.spreadsheetml.sheet", False),
        ("csv", ".csv .tsv .tab", "text/csv text/tab-separated-values", True),
        ("eml", ".eml", "message/rfc822", True),
        ("mbox", ".mbox .mbx", "application/mbox", True),
        ("epub", ".epub", "application/epub+zip", False),
        ("jsonl", ".jsonl .ndjson .json", "application/jsonl application/x-ndjson application/json", True),
    )
}


def add_format(file_format: FileFormat, *, version: int = 1) -> None:
    """Let files of one more format be read, in this process; another version reads them anew."""
    FORMATS[file_format.name] = file_format
    EXTRACTOR_VERSIONS[file_format.name] = version


def known_suffixes() -> tuple[str, ...]:
    """Return the endings of file names that can be read."""
    return tuple(suffix for file_format in FORMATS.values() for suffix in file_format.suffixes)


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Load what reads pages of the web, once in a process.

    The page is long enough to be taken for an article: the ways tried on very short pages take more memory than all the
    rest.
    """
    paragraph = "<p>Nobody quotes this page – it is read first, so that what reads pages is there for the second.</p>"
    read(f"<html><body><article>{12 * paragraph}</article></body></html>".encode(), name="first.html")


def read(raw: bytes, *, name: str, media_type: str = "") -> Reading:
    """Return the text and places of a file; what it holds decides how it is read, its name only where that is open.

    `media_type` is what a server says of it: it counts after the name, and its charset before the page's own. A file
    that cannot be used raises `SourceError`, whatever went wrong with it.
    """
    try:
        return _read(raw, name, media_type)
    except SourceError:
        raise
    except Exception as exc:
        # Packages that read formats fail in ways nobody has listed; a strange file costs itself and not the run.
        raise failed(name, type(exc).__name__) from exc


def format_of(raw: bytes, *, name: str) -> FileFormat:
    """Return the format that a file would be read as; raise `SourceError` for one that no reader knows.

    The first `sniff.HEAD_BYTES` are enough where `sniff.needs_all` says no. What is wrong further on is met by `read`.
    """
    found = _format_by_content(raw, name, _format_by_name(name, ""))
    if found.is_text:
        decode(raw, name)
    return found


def _read(raw: bytes, name: str, media_type: str) -> Reading:
    if not raw.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise SourceError(f"{name!r} is empty; remove it or save it again with its content.")
    if len(raw) > MAX_FILE_BYTES:
        raise SourceError(f"{name!r} is larger than {MAX_FILE_BYTES // 1_000_000} MB; split it into smaller files.")
    named = _format_by_name(name, media_type)
    file_format = _format_by_content(raw, name, named)
    reading = file_format.read(raw, name, media_type)
    if not reading.text.strip():
        raise SourceError(f"{name!r} holds no text; remove it or save it again with its content.")
    warnings = reading.warnings
    if named is not None and named.name != file_format.name:
        warnings = (f"named like {named.name}, but it holds {file_format.name} and was read as that", *warnings)
    extractor = reading.extractor or extractor_of(file_format.name)
    return reading.replace(extractor=extractor, warnings=warnings)


def _format_by_name(name: str, media_type: str) -> FileFormat | None:
    suffix = PurePath(name).suffix.lower()
    kind = media_type.partition(";")[0].strip().lower()
    by_suffix = (each for each in FORMATS.values() if suffix in each.suffixes)
    by_type = (each for each in FORMATS.values() if kind in each.media_types)
    return next(chain(by_suffix, by_type), None)


def _format_by_content(raw: bytes, name: str, named: FileFormat | None) -> FileFormat:
    found = sniff(raw, name)
    if found == "text" and named is not None:
        # Text may be anything written in text: the name says what, unless it names a format that is not text.
        if named.is_text:
            return named
        try:
            decode(raw, name)
        except SourceError:
            reason = (
                f"{name!r} is damaged: it does not begin as {named.name.upper()} files do; download or save it again."
            )
            raise SourceDamaged(reason) from None
    if found in FORMATS:
        return FORMATS[found]
    raise SourceError(f"{name!r} is {found}, which cannot be read; convert it to one of {' '.join(known_suffixes())}.")
