"""ZIP-based files within bounds: the entries and their size are checked before anything is unpacked."""

import io
import zipfile

from deep_research.errors import SourceError
from deep_research.readers.port import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES


def entry_names(raw: bytes, name: str) -> frozenset[str]:
    """Return the names of a ZIP file's entries; refuse a broken file, and one that would unpack without bounds."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, NotImplementedError, OSError) as exc:
        raise SourceError(f"{name!r} is damaged: it cannot be unpacked; save or download it again.") from exc
    # Python never unpacks more of an entry than the directory states, so the stated sizes are a true bound.
    if len(entries) > MAX_ARCHIVE_ENTRIES or sum(entry.file_size for entry in entries) > MAX_ARCHIVE_BYTES:
        limit_mb = MAX_ARCHIVE_BYTES // 1_000_000
        raise SourceError(
            f"{name!r} unpacks to more than {limit_mb} MB or {MAX_ARCHIVE_ENTRIES} parts; split it into smaller files."
        )
    return frozenset(entry.filename for entry in entries)
