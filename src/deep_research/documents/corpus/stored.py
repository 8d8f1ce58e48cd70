"""The files of a corpus, wherever they are kept: in a folder of this host, or in a database that hosts share."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from deep_research.documents.corpus.address import path_of
from deep_research.documents.corpus.index import IndexLocation, storable
from deep_research.documents.corpus.scan import (
    Scan,
    ScannedFile,
    check_documents,
    folder_key,
    locate,
    read_bytes,
    scan_folder,
    split,
)
from deep_research.errors import InputError, SourceGone
from deep_research.request import is_collection
from deep_research.storage.database.port import Column, Database, Row


class FolderFiles:
    """A folder of this host, or a single file of it: the files that an index is made of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = split(folder)[0]

    def check(self) -> None:
        """Raise `InputError` where there are none to be had."""
        check_documents(self._folder)

    def scan(self, take: Callable[[ScannedFile], object]) -> Scan:
        """Hand over each file that can be read, in no order."""
        return scan_folder(self._folder, take)

    def read(self, address: str) -> tuple[bytes, ScannedFile]:
        """Return a file that a scan met and its state; raise `SourceError` where it cannot be had."""
        raw, status = read_bytes(self._root / path_of(address), address)
        return raw, ScannedFile(address, status.st_size, status.st_mtime_ns)

    def forget(self, address: str) -> None:
        """Take note that a file is gone."""

    def fetch(self, address: str) -> tuple[str, bytes]:
        """Return the one spelling of an address that somebody gives, and the file; never one from elsewhere."""
        address, path = locate(self._folder, address)
        return address, read_bytes(path, address)[0]


class StoredFiles:
    """Files in a database, under the name of a collection or the path of a folder."""

    def __init__(self, folder: Path, open_database: Callable[[], Database]) -> None:
        self._path = folder_key(folder)
        self._open = open_database

    def put(self, address: str, raw: bytes, mtime_ns: int | None = None) -> None:
        """Keep a file."""
        changed_ns = time.time_ns() if mtime_ns is None else mtime_ns
        self._write("put_original", address=address, size=len(raw), mtime_ns=changed_ns, data=raw)

    def forget(self, address: str) -> None:
        self._write("drop_original", address=address)

    def drop(self) -> None:
        """Remove all files."""
        self._write("drop_originals")

    def check(self) -> None:
        if not self._rows("originals"):
            raise InputError(f"There are no documents {self._path} in the database: check the name.")

    def scan(self, take: Callable[[ScannedFile], object]) -> Scan:
        rows = self._rows("originals")
        for row in rows:
            take(ScannedFile(row["address"], row["size"], row["mtime_ns"]))
        return Scan(len(rows), [])

    def read(self, address: str) -> tuple[bytes, ScannedFile]:
        rows = self._rows("original", address=storable(address))
        if not rows:
            raise SourceGone(f"{address!r} cannot be found: it was deleted.")
        row = rows[0]
        return bytes(row["data"]), ScannedFile(row["address"], row["size"], row["mtime_ns"])

    def fetch(self, address: str) -> tuple[str, bytes]:
        raw, entry = self.read(address)
        return entry.address, raw

    def _rows(self, query: str, **values: Column) -> list[Row]:
        with closing(self._open()) as database:
            return database.ask(query, path=self._path, **values)

    def _write(self, query: str, **values: Column) -> None:
        with closing(self._open()) as database:
            database.write(lambda session: session.run(query, path=self._path, **values))


class CopiedFolder(FolderFiles):
    """A folder of this host whose files are copied to the database as they are read, for hosts that do not have it."""

    def __init__(self, folder: Path, stored: StoredFiles) -> None:
        super().__init__(folder)
        self._stored = stored

    def read(self, address: str) -> tuple[bytes, ScannedFile]:
        raw, entry = super().read(address)
        self._stored.put(address, raw, entry.mtime_ns)
        return raw, entry

    def forget(self, address: str) -> None:
        self._stored.forget(address)


Files = FolderFiles | StoredFiles


def files_in(folder: Path, location: IndexLocation) -> Files:
    """Return the files of a folder or a collection, given where they are indexed."""
    if isinstance(location, Path):
        return FolderFiles(folder)
    stored = StoredFiles(folder, location)
    if is_collection(folder) or not folder.exists():
        return stored
    return CopiedFolder(folder, stored)


def stored_paths(prefix: str, open_database: Callable[[], Database]) -> set[str]:
    """Return the names and paths in a database that begin so."""
    with closing(open_database()) as database:
        return {row["path"] for row in database.ask("paths_of_originals", prefix=prefix)}
