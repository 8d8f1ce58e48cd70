"""ZIP-based files within bounds: a directory is read only if it is short, and what it states is not believed.

And the day on which an Office program saved one.
"""

import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from deep_research.errors import SourceDamaged, SourceError, SourceProtected

MAX_ARCHIVE_ENTRIES = 10_000
MAX_ARCHIVE_BYTES = 300_000_000
ENCRYPTED = 0x1
# Room for the entries that are allowed, with names of 350 bytes.
_MAX_DIRECTORY_BYTES = 400 * MAX_ARCHIVE_ENTRIES
# Those of Office files, books and bundles. zipfile unpacks the others without any bound.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
PIECE_BYTES = 1 << 16
# What zipfile and the packages over it raise for a damaged file: they trust that every part and attribute is there.
DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, SyntaxError, LookupError, ValueError),
    *(AttributeError, TypeError, ArithmeticError, AssertionError, RuntimeError),
)


class BoundedFile(io.BufferedReader):
    """An archive of which no more is read at once than a directory may have: zipfile reads it whole."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size > _MAX_DIRECTORY_BYTES:
            raise zipfile.LargeZipFile
        return super().read(size)


def entry_names(raw: bytes, name: str) -> frozenset[str]:
    """Return the names of a ZIP file's entries."""
    with _opened(raw, name) as archive:
        return frozenset(archive.namelist())


def checked_names(raw: bytes, name: str) -> frozenset[str]:
    """Return the names of a ZIP file's entries after unpacking all of them piece by piece: sizes may be false.

    Who reads an entry as a whole gets no more than its stated size, but zipfile unpacks all of it before.
    """
    unpacked = 0
    with _opened(raw, name) as archive:
        if any(entry.compress_type not in METHODS for entry in archive.infolist()):
            raise SourceError(f"{name!r} is packed in a way that is not read; save it again.")
        for entry in archive.infolist():
            entry.file_size = sys.maxsize
            # Whether a damaged entry costs the file is for the reader to say.
            with suppress(*DAMAGE), archive.open(entry) as part:
                while piece := part.read(PIECE_BYTES):
                    unpacked += len(piece)
                    if unpacked > MAX_ARCHIVE_BYTES:
                        raise _too_large(name)
        return frozenset(archive.namelist())


@contextmanager
def _opened(raw: bytes, name: str) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP file; refuse one that is broken, protected, or states too much."""
    try:
        archive = zipfile.ZipFile(BoundedFile(io.BytesIO(raw)))
    except zipfile.LargeZipFile as exc:
        raise _too_large(name) from exc
    except DAMAGE as exc:
        raise SourceDamaged(f"{name!r} is damaged: it cannot be unpacked; save or download it again.") from exc
    with archive:
        entries = archive.infolist()
        if len(entries) > MAX_ARCHIVE_ENTRIES or sum(entry.file_size for entry in entries) > MAX_ARCHIVE_BYTES:
            raise _too_large(name)
        if any(entry.flag_bits & ENCRYPTED for entry in entries):
            raise SourceProtected(f"{name!r} is protected by a password; save a copy without one.")
        yield archive


def day_saved(modified: datetime | None, created: datetime | None, template: datetime | None = None) -> str:
    """Return the day on which a file was saved last, or "" where nothing but the program's own template was."""
    at = modified or created
    return at.date().isoformat() if at and at.replace(tzinfo=None) != template else ""


def _too_large(name: str) -> SourceError:
    return SourceError(
        f"{name!r} unpacks to more than {MAX_ARCHIVE_BYTES // 1_000_000} MB or {MAX_ARCHIVE_ENTRIES} parts; "
        "split it into smaller files."
    )
