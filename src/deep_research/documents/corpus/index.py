"""What a corpus asks of its index: transactions on documents, passages and terms. Knows no database.

Two databases keep an index: a file (`sqlite_index`) and a PostgreSQL that several hosts share (`postgres_index`). Both
find the same passages and score them alike.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from deep_research.documents.readers.versions import all_extractors, package_version
from deep_research.storage.database.port import Column, Database, Row, Session
from deep_research.text.analyzer import ANALYZER_VERSION

T = TypeVar("T")

# Raise it whenever the tables, the cutting into passages or the search for near-duplicates change what is indexed.
INDEX_VERSION = 3
NO_LIMIT = sys.maxsize
# They have a say in the terms and texts of all formats.
_PACKAGES = ("snowballstemmer", "PyStemmer", "opencc", "lxml")


class PassageTerms(NamedTuple):
    """The terms of a passage that is put into the search or taken out of it."""

    id: int
    body: Sequence[str]


class WantedTerms(NamedTuple):
    """What passages are looked for: those with any of the terms, or with both of a pair."""

    terms: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()


class Scored(NamedTuple):
    """The number of a passage and its BM25, in which a title counts three times."""

    id: int
    score: float


@dataclass
class IndexSession(ABC):
    """One transaction of the index; `folder` is the number of the folder it works on."""

    session: Session
    folder: int

    def rows(self, query: str, **values: Column) -> list[Row]:
        """Return the rows of a named query."""
        return self.session.all(query, **self._own(values))

    def one(self, query: str, **values: Column) -> Row | None:
        """Return the first row of a named query, if there is one."""
        return next(iter(self.rows(query, **values)), None)

    def required_row(self, query: str, **values: Column) -> Row:
        """Return the row of a query that always has one: a count, or what was listed in the same transaction."""
        return self.rows(query, **values)[0]

    def run(self, query: str, **values: Column) -> None:
        """Send a statement."""
        self.session.run(query, **self._own(values))

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        """Send a statement once for each row of values."""
        self.session.many(query, map(self._own, rows))

    def enter(self, path: str) -> bool:
        """Work on the folder of this path from here on, and return whether it is known."""
        row = self.one("folder", path=path)
        self.folder = row["id"] if row else 0
        return row is not None

    def add_folder(self, path: str) -> int:
        """Add a folder and return its number."""
        self.folder = self.required_row("add_folder", path=path)["id"]
        return self.folder

    @abstractmethod
    def drop_folder(self) -> None:
        """Remove the folder and all that is known of it."""

    @abstractmethod
    def put_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        """Put passages of a document into the search."""

    @abstractmethod
    def drop_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        """Take passages of a document out of the search."""

    @abstractmethod
    def counts(self, terms: Sequence[str], limit: int = NO_LIMIT) -> dict[str, int]:
        """Return for each term how many passages hold it, counted no further than the limit."""

    @abstractmethod
    def best(self, wanted: WantedTerms, limit: int) -> Sequence[Scored]:
        """Return the best passages first, equal ones by number."""

    def _own(self, values: Mapping[str, Column]) -> dict[str, Column]:
        return {"folder": self.folder, "maker": index_version(), **values}


@dataclass
class Index:
    """An index that is opened on first use; used by one thread at a time."""

    database: Database
    session: Callable[[Session, int], IndexSession]

    def read(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        """Do the work on one unchanging view of the index."""
        return self.database.read(lambda session: work(self.session(session, folder)))

    def write(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        """Do the work as the only writer of the folder; all of it is kept, or nothing.

        The work may be begun again where a first attempt was lost.
        """
        return self.database.write(lambda session: work(self.session(session, folder)))

    def acquire(self, folder: int) -> bool:  # noqa: ARG002 - where hosts share an index, it is not for all of them
        """Return whether this index may refresh a folder now: not while another host does.

        Processes of one machine refresh beside each other, each file in its own transaction.
        """
        return True

    def release(self, folder: int) -> None:
        """Let others refresh a folder."""

    def close(self) -> None:
        """Let go of what is held."""
        self.database.close()


# The file of an index, or what opens the database of one.
IndexLocation = Path | Callable[[], Database]


def storable(text: str) -> str:
    """Return text as databases take it; what is no text matches nothing anyway."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


@cache
def index_version() -> str:
    """Return what makes an index, by its versions: offsets and terms of another version must not be mixed in."""
    own = (f"index/{INDEX_VERSION}", f"analyzer/{ANALYZER_VERSION}")
    return " ".join((*own, *all_extractors(), *(f"{name}/{package_version(name)}" for name in _PACKAGES)))
