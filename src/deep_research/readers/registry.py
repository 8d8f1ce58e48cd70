"""The known formats: what each is recognised by, and the module that reads it.

A new format is one module of its name with `read(raw, name)`, one line here and, if content shows it, one in `sniff`.
A program that has a format of its own adds it with `add_format`.
"""

from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, cast

from deep_research.errors import SourceDamaged, SourceError
from deep_research.readers.blocks import names_file, one_line
from deep_research.readers.children import read_in_child
from deep_research.readers.encoding import decode, in_utf8
from deep_research.readers.port import MAX_FILE_BYTES, Reader, Reading, failed
from deep_research.readers.sniff import sniff
from deep_research.readers.versions import EXTRACTOR_VERSIONS, extractor_of
from deep_research.sources.document import Place
from deep_research.text.cleaning import clean_with_offsets
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.text.script import detect_language

PROMPT_INJECTION_FOUND = "it holds text that reads like orders to an AI, which is treated as text and never followed"
_FACTS = ("title", "author", "published", "canonical", "language")


class FileFormat(NamedTuple):
    """A format that can be read. Modules load on first use, those of binary formats in a process of their own.

    `module` has the format's `read`; not given, it is the reader of this name here.
    """

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    is_text: bool
    module: str = ""

    def read(self, raw: bytes, name: str, media_type: str) -> Reading:
        """Return what the format's module gives."""
        module = self.module or f"deep_research.readers.{self.name}"
        if not self.is_text:
            return read_in_child(module, raw, name)
        reader = cast(Reader, import_module(module).read)
        return reader(in_utf8(raw, media_type), name)


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
    reading = _cleaned(reading.model_copy(update={"title": _title(reading) or PurePath(name).stem}))
    if not reading.text.strip():
        raise SourceError(f"{name!r} holds no text; remove it or save it again with its content.")
    warnings = reading.warnings
    if named is not None and named.name != file_format.name:
        warnings = (f"named like {named.name}, but it holds {file_format.name} and was read as that", *warnings)
    if find_prompt_injection(f"{reading.title}\n\n{reading.text}"):
        warnings = (*warnings, PROMPT_INJECTION_FOUND)
    return reading.model_copy(
        update={
            "language": reading.language or detect_language(reading.text),
            "extractor": reading.extractor or extractor_of(file_format.name),
            "warnings": warnings,
        }
    )


def _title(reading: Reading) -> str:
    """Return the title; the first heading where the title is only a file's name."""
    headings = (place.label for place in reading.places if place.kind == "heading" and place.label)
    return next(headings, reading.title) if names_file(reading.title) else reading.title


def _cleaned(reading: Reading) -> Reading:
    """Return a reading without control characters and invisible signs, its places moved along with the text."""
    places = reading.places
    offsets = [offset for place in places for offset in (place.start, place.end)]
    labels = [one_line(place.label) for place in places]
    text, moved = clean_with_offsets(reading.text, offsets)
    if moved != offsets or labels != [place.label for place in places]:
        spans = zip(moved[::2], moved[1::2], strict=True)
        places = tuple(
            Place(kind=place.kind, label=label, start=start, end=end)
            for place, label, (start, end) in zip(places, labels, spans, strict=True)
        )
    facts = {fact: one_line(getattr(reading, fact)) for fact in _FACTS}
    warnings = tuple(map(one_line, reading.warnings))
    return reading.model_copy(update={"text": text, "places": places, "warnings": warnings, **facts})


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
