"""What lies in a folder: the files that can be read, and why the others are not; and the bytes of one.

A single file may stand for a folder that holds nothing else. Nothing outside the folder is ever opened, and no more
than can be read.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from deep_research.documents.corpus.address import address_of, path_of
from deep_research.documents.corpus.port import Skipped, Survey
from deep_research.documents.readers import known_suffixes
from deep_research.documents.readers.port import MAX_FILE_BYTES
from deep_research.errors import InputError, SourceError, SourceGone
from deep_research.request import is_collection

_NOT_DOCUMENTS = frozenset({"node_modules", "__pycache__"})
# A folder may hold thousands of pictures; so many of an ending are listed, and the rest counted.
_MAX_LISTED = 20
_CONVERT = f"convert it to one of {' '.join(known_suffixes())}"


class ScannedFile(NamedTuple):
    """A file that can be read by its name."""

    address: str
    size: int
    mtime_ns: int


class Scan(NamedTuple):
    """What else was met in a folder at one moment, besides the files that can be read."""

    files: int
    skipped: list[Skipped]


def check_documents(path: Path) -> None:
    """Raise `InputError` unless this is a folder that can be listed, or a file whose name a reader knows."""
    shown = address_of(str(path))
    try:
        with os.scandir(path):
            return
    except NotADirectoryError:
        if path.suffix.lower() not in known_suffixes():
            raise InputError(f"The file {shown} has a name that no reader knows: {_CONVERT}.") from None
    except PermissionError as exc:
        raise InputError(f"The folder {shown} may not be read: give yourself the right to read it.") from exc
    except (OSError, ValueError) as exc:
        raise InputError(f"There is no folder or file {shown}: check the path.") from exc


def split(documents: Path) -> tuple[Path, str]:
    """Return the real folder that addresses start from, and the name of the only file, "" where all below it count."""
    real = Path(os.path.realpath(documents))
    return (real.parent, real.name) if real.is_file() else (real, "")


def require_documents(survey: Survey, folder: Path) -> None:
    """Raise `InputError` if a folder, or a single file, holds nothing that can be researched."""
    if survey.indexed:
        return
    if survey.skipped and split(folder)[1]:
        raise InputError(survey.skipped[0].reason)
    # Without the folders above it: whoever asked a server is not told where its folders are.
    shown, endings = address_of(folder.name), " ".join(known_suffixes())
    if not survey.skipped:
        raise InputError(f"The folder {shown} holds no documents: put files into it that end in {endings}.")
    raise InputError(
        f"The folder {shown} holds no document that can be read: add files that end in {endings}, "
        f"or mend those that are there; the first of {len(survey.skipped)}: {survey.skipped[0].reason}"
    )


def is_hidden(name: str) -> bool:
    """Return whether a file or folder of this name is never looked into."""
    # Office programs put a file "~$…" beside each document that is open.
    return name.startswith((".", "~$")) or name in _NOT_DOCUMENTS


def scan_folder(folder: Path, take: Callable[[ScannedFile], object]) -> Scan:
    """Hand over each file of a folder and of those below it that can be read, in no order; none is kept in memory.

    Where the folder is a file, it is the only one.
    """
    check_documents(folder)
    root, only = split(folder)
    walk = _Walk(root, take)
    if only:
        walk.add_entry(Path(only))
    else:
        walk.walk_folder(Path())
    # Links to folders come last: what they lead to mostly has been met under its own name.
    while walk.linked:
        walk.linked.sort()
        walk.walk_folder(walk.linked.pop(0))
    return Scan(walk.files, sorted([*walk.skipped, *walk.unlisted()], key=lambda one: one.address))


class _Walk:
    def __init__(self, root: Path, take: Callable[[ScannedFile], object]) -> None:
        self._take = take
        self._root = root
        self._suffixes = frozenset(known_suffixes())
        self._seen: set[str] = set()
        self.linked: list[Path] = []
        self._unknown: Counter[str] = Counter()
        self.files = 0
        self.skipped: list[Skipped] = []

    def walk_folder(self, relative: Path) -> None:
        """Take note of everything below one folder, given by its path in the root."""
        pending = [relative]
        while pending:
            at = pending.pop()
            real = os.path.realpath(self._root / at)
            if real in self._seen:
                continue
            self._seen.add(real)
            pending += (at / name for name in self._names(at) if self.add_entry(at / name))

    def _names(self, at: Path) -> Iterator[str]:
        try:
            with os.scandir(self._root / at) as listing:
                yield from (entry.name for entry in listing if not is_hidden(entry.name))
        except OSError as exc:
            self._skip(at, f"cannot be listed ({exc.strerror}); give yourself the right to read it")

    def add_entry(self, path: Path) -> bool:
        """Return whether a path is a folder to look into; take note of anything else."""
        full = self._root / path
        try:
            status = full.lstat()
            is_link = stat.S_ISLNK(status.st_mode)
            if is_link:
                if not Path(os.path.realpath(full)).is_relative_to(self._root):
                    self._skip(path, "is a link that leaves the folder; copy what it points to into the folder")
                    return False
                status = full.stat()
        except OSError as exc:
            self._skip(path, f"cannot be looked at ({exc.strerror}); mend the link or its rights, or remove it")
            return False
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder:
            self._take_file(path, status)
        elif is_link:
            self.linked.append(path)
        return is_folder and not is_link

    def _take_file(self, path: Path, status: os.stat_result) -> None:
        self.files += 1
        ending = path.suffix.lower()
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, "is not a regular file; remove it")
        elif ending in self._suffixes:
            self._take(ScannedFile(address_of(str(path)), status.st_size, status.st_mtime_ns))
        else:
            self._unknown[ending] += 1
            if self._unknown[ending] <= _MAX_LISTED:
                self._skip(path, f"has a name that no reader knows; {_CONVERT}")

    def unlisted(self) -> Iterator[Skipped]:
        """Yield one line for each ending that so many files have that not all are listed."""
        for ending, count in self._unknown.items():
            if count > _MAX_LISTED:
                named = f"files ending in {address_of(ending)}" if ending else "files without an ending"
                reason = f"{count - _MAX_LISTED} more {named} are not listed; {_CONVERT}."
                yield Skipped(address=f"*{address_of(ending)}", reason=reason)

    def _skip(self, path: Path, why: str) -> None:
        address = address_of(str(path))
        self.skipped.append(Skipped(address=address, reason=f"{address!r} {why}."))


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
