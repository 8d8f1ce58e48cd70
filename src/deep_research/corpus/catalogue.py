"""What the index holds, for those who look after it: its folders, their documents, and forgetting a folder."""

from contextlib import closing
from pathlib import Path

from deep_research.corpus.index import Index
from deep_research.corpus.port import Skipped
from deep_research.corpus.refresh import folder_key, remarks_of
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
    """The folders of one index file. Each call opens the file anew."""

    def __init__(self, index: Path) -> None:
        self._path = index

    def folders(self) -> list[IndexedFolder]:
        """Return the indexed folders by path."""
        with closing(Index(self._path)) as index, index.reading() as session:
            return [IndexedFolder(**row) for row in session.rows("folders")]

    def documents(self, folder: Path) -> list[IndexedDocument]:
        """Return the documents of a folder by address; none where it is not indexed."""
        with closing(Index(self._path)) as index, index.reading() as session:
            row = session.one("folder", path=folder_key(folder))
            session.folder = row["id"] if row else 0
            fields = IndexedDocument.model_fields.keys() - {"remarks"}
            return [
                IndexedDocument(**{name: row[name] for name in fields}, remarks=tuple(remarks_of(row)))
                for row in session.rows("catalogue")
            ]

    def unusable(self, folder: Path) -> list[Skipped]:
        """Return the files of a folder that were looked into and cannot be used, by address."""
        with closing(Index(self._path)) as index, index.reading() as session:
            row = session.one("folder", path=folder_key(folder))
            session.folder = row["id"] if row else 0
            return [Skipped(**row) for row in session.rows("unusable")]

    def forget(self, folder: Path) -> bool:
        """Remove a folder from the index, and return whether it was there; its files are left alone."""
        with closing(Index(self._path)) as index, index.writing() as session:
            row = session.one("folder", path=folder_key(folder))
            if row is None:
                return False
            session.folder = row["id"]
            for query in (
                "drop_folder_passages",
                "drop_folder_texts",
                "drop_folder_documents",
                "drop_folder_files",
                "drop_folder",
                "drop_vocabulary_table",
                "drop_terms_table",
            ):
                session.add(query)
            return True
