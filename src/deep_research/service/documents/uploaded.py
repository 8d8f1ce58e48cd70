"""Uploaded files once they are taken: in folders of the home, or in the database that hosts share."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deep_research.documents.corpus.address import address_of
from deep_research.documents.corpus.stored import StoredFiles, stored_paths
from deep_research.request import COLLECTION
from deep_research.settings import Settings
from deep_research.storage.database.port import Database
from deep_research.storage.private_files import make_folder
from deep_research.wiring.documents import index_location


@dataclass
class FilesOfHome:
    """A folder for each collection."""

    root: Path

    def folder(self, collection: str) -> Path:
        """Return the name under which a run searches a collection."""
        return self.root / collection

    def collection_of(self, docs: str) -> str:
        """Return the collection that a run names, "" where it names something else."""
        folder = Path(docs)
        return folder.name if docs and folder.parent == self.root else ""

    def collections(self) -> set[str]:
        """Return the collections that there are files of."""
        return {path.name for path in self.root.glob("[!.]*")}

    def keep(self, collection: str, name: str, file: Path) -> None:
        """Take a file."""
        make_folder(self.folder(collection))
        file.replace(self.folder(collection) / name)

    def remove(self, collection: str, name: str) -> None:
        """Remove a file."""
        (self.folder(collection) / name).unlink(missing_ok=True)

    def drop(self, collection: str) -> None:
        """Remove all files of a collection."""
        shutil.rmtree(self.folder(collection))


@dataclass
class FilesOfDatabase:
    """Rows of a table."""

    open_database: Callable[[], Database]

    def folder(self, collection: str) -> Path:
        return Path(f"{COLLECTION}{collection}")

    def collection_of(self, docs: str) -> str:
        return docs.removeprefix(COLLECTION) if docs.startswith(COLLECTION) else ""

    def collections(self) -> set[str]:
        return {path.removeprefix(COLLECTION) for path in stored_paths(COLLECTION, self.open_database)}

    def keep(self, collection: str, name: str, file: Path) -> None:
        self._files(collection).put(address_of(name), file.read_bytes())

    def remove(self, collection: str, name: str) -> None:
        self._files(collection).forget(address_of(name))

    def drop(self, collection: str) -> None:
        self._files(collection).drop()

    def _files(self, collection: str) -> StoredFiles:
        return StoredFiles(self.folder(collection), self.open_database)


UploadedFiles = FilesOfHome | FilesOfDatabase


def uploaded_files(settings: Settings) -> UploadedFiles:
    """Return where uploaded files are kept: in the PostgreSQL that is named, else in the home."""
    location = index_location(settings)
    return FilesOfHome(settings.uploads_path) if isinstance(location, Path) else FilesOfDatabase(location)
