"""What the index holds, for those who look after it: its folders, their documents, and forgetting a folder."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from deep_research.documents.corpus.files import folder_key
from deep_research.documents.corpus.index import IndexLocation, IndexSession
from deep_research.documents.corpus.opening import open_index
from deep_research.documents.corpus.port import Skipped
from deep_research.documents.corpus.refresh import remarks_of
from deep_research.storage.database.port import Row
from deep_research.value import Value


class IndexedFolder(Value):
    """A folder in the index; `refreshed` is empty until a first refresh has come to its end."""

    path: str
    files: int
    documents: int
    passages: int
    skipped: int
    refreshed: str


class IndexedDocument(Value):
    """A document in the index under its first address."""

    address: str
    title: str
    author: str
    language: str
    published: str
    passages: int
    words: int
    pages: int
    remarks: tuple[str, ...] = ()


class Catalogue:
    """The folders of one index. Each call opens it anew."""

    def __init__(self, index: IndexLocation) -> None:
        self._location = index

    def folders(self) -> list[IndexedFolder]:
        """Return the indexed folders by path."""
        return [IndexedFolder(**row) for row in self._rows("folders")]

    def documents(self, folder: Path) -> list[IndexedDocument]:
        """Return the documents of a folder by address; none where it is not indexed."""
        fields = IndexedDocument.model_fields.keys() - {"remarks"}
        return [
            IndexedDocument(**{name: row[name] for name in fields}, remarks=tuple(remarks_of(row)))
            for row in self._rows("catalogue", folder)
        ]

    def unusable(self, folder: Path) -> list[Skipped]:
        """Return the files of a folder that were looked into and cannot be used, by address."""
        return [Skipped(**row) for row in self._rows("unusable", folder)]

    def forget(self, folder: Path) -> bool:
        """Remove a folder from the index, and return whether it was there; its files are left alone."""

        def drop(session: IndexSession) -> bool:
            is_known = session.enter(folder_key(folder))
            if is_known:
                session.drop_folder()
            return is_known

        with closing(open_index(self._location)) as index:
            return index.write(drop)

    def _rows(self, query: str, folder: Path | None = None) -> Sequence[Row]:
        def lookup(session: IndexSession) -> Sequence[Row]:
            if folder is not None:
                session.enter(folder_key(folder))
            return session.rows(query)

        with closing(open_index(self._location)) as index:
            return index.read(lookup)
