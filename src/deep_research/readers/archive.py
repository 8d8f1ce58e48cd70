"""ZIP-based files within bounds: the entries and their size are checked before anything is unpacked."""

import io
import zipfile
import zlib

from deep_research.errors import SourceError
from deep_research.readers.port import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES

_ENCRYPTED = 0x1
# What zipfile and the packages over it raise for a damaged file: they trust that every part and attribute is there.
DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, SyntaxError, LookupError, ValueError),
    *(AttributeError, TypeError, ArithmeticError, AssertionError, RuntimeError),
)


def entry_names(raw: bytes, name: str) -> frozenset[str]:
    """Return the names of a ZIP file's entries; refuse a broken file, and one that would unpack without bounds."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
    except DAMAGE as exc:
        raise SourceError(f"{name!r} is damaged: it cannot be unpacked; save or download it again.") from exc
    # Python never unpacks more of an entry than the directory states, so the stated sizes are a true bound.
    if len(entries) > MAX_ARCHIVE_ENTRIES or sum(entry.file_size for entry in entries) > MAX_ARCHIVE_BYTES:
        limit_mb = MAX_ARCHIVE_BYTES // 1_000_000
        raise SourceError(
            f"{name!r} unpacks to more than {limit_mb} MB or {MAX_ARCHIVE_ENTRIES} parts; split it into smaller files."
        )
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise SourceError(f"{name!r} is protected by a password; save a copy without one.")
    return frozenset(entry.filename for entry in entries)
