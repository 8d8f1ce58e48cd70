"""The bytes of one file, by its address or its path: never from outside the folder, never more than can be read."""

import os
import stat
from pathlib import Path, PurePath, PurePosixPath

from deep_research.documents.corpus.address import address_of, path_of
from deep_research.documents.corpus.scan import is_hidden, split
from deep_research.documents.readers import known_suffixes
from deep_research.documents.readers.port import MAX_FILE_BYTES
from deep_research.errors import SourceError, SourceGone
from deep_research.request import is_collection


def folder_key(folder: Path) -> str:
    """Return the name under which a folder or a collection is known in an index."""
    return str(folder) if is_collection(folder) else address_of(os.path.realpath(folder))


def locate(folder: Path, address: str) -> tuple[str, Path]:
    """Return the one spelling of an address and the real path behind it; refuse what a scan would not take."""
    try:
        relative = PurePath(path_of(address))
    except ValueError as exc:
        raise SourceError(f"{address!r} is not the address of a file: {exc}.") from exc
    parts = relative.parts
    if not parts or relative.is_absolute() or ".." in parts:
        raise SourceError(f"{address!r} leaves the folder: give an address inside it.")
    root, only = split(folder)
    is_known = relative.suffix.lower() in known_suffixes()
    if not is_known or (str(relative) != only if only else any(map(is_hidden, parts))):
        raise SourceError(f"{address!r} is not one of the documents: give an address that a search returned.")
    try:
        real = Path(os.path.realpath(root / relative, strict=True))
    except OSError as exc:
        raise SourceGone(f"{address!r} cannot be found ({exc.strerror}): refresh the folder.") from exc
    if not real.is_relative_to(root):
        raise SourceError(f"{address!r} is a link that leaves the folder: copy what it points to into the folder.")
    return address_of(str(PurePosixPath(*parts))), real


def read_bytes(path: str | Path, address: str) -> tuple[bytes, os.stat_result]:
    """Return the content of a file and its state just before it was read."""
    # Without O_NONBLOCK, a pipe that took the file's place would hold us up for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SourceError(f"{address!r} is not a regular file; remove it.")
            if status.st_size > MAX_FILE_BYTES:
                raise SourceError(
                    f"{address!r} is larger than {MAX_FILE_BYTES // 1_000_000} MB; split it into smaller files."
                )
            # What is written while it is read comes with the next refresh, which sees another size and time.
            return file.read(status.st_size), status
    except OSError as exc:
        raise SourceError(f"{address!r} cannot be read ({exc.strerror}); check its rights and its disk.") from exc
