"""ZIP files that tell neither the time nor the system they were made on."""

import io
import stat
import zipfile
from collections.abc import Iterable

# The first moment that a ZIP file can name.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def zipped(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a ZIP file with these members in their order; the same members give the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, raw in members:
            entry = zipfile.ZipInfo(name, _NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            # The same on every system.
            entry.create_system = 3
            archive.writestr(entry, raw)
    return stream.getvalue()
