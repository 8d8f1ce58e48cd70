"""An index by its place: in a file, or in a database that several hosts share."""

from pathlib import Path

from deep_research.documents.corpus.index import Index, IndexLocation
from deep_research.documents.corpus.postgres_index import PostgresIndex
from deep_research.documents.corpus.sqlite_index import IndexFile, SqliteIndexSession


def open_index(location: IndexLocation) -> Index:
    """Return an index by its place."""
    if isinstance(location, Path):
        return Index(IndexFile(location), SqliteIndexSession)
    return PostgresIndex(location())
