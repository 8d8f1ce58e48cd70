"""What a corpus asks of its index: transactions on documents, passages and terms. Knows no database.

Two databases keep an index: a file (`sqlite_index`) and a PostgreSQL that several hosts share (`postgres_index`). Both
find the same passages and score them alike.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from deep_research.readers.versions import all_extractors, package_version
from deep_research.text.analyzer import ANALYZER_VERSION

Column = str | int | float | bytes | None
T = TypeVar("T")

# Raise it whenever the tables, the cutting into passages or the search for near-duplicates change what is indexed.
INDEX_VERSION = 3
# They have a say in the terms and texts of all formats.
_PACKAGES = ("snowballstemmer", "PyStemmer", "opencc", "lxml")


class Row(Protocol):
    """A row of an answer, by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column."""
        ...

    def keys(self) -> Iterable[str]:
        """Return the names of the columns, in their order."""
        ...


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


class IndexSession(Protocol):
    """One transaction of the index; `folder` is the number of the folder it works on."""

    folder: int

    def rows(self, query: str, **values: Column) -> Sequence[Row]:
        """Return the rows of a named query."""
        ...

    def one(self, query: str, **values: Column) -> Row | None:
        """Return the first row of a named query, if there is one."""
        return next(iter(self.rows(query, **values)), None)

    def required_row(self, query: str, **values: Column) -> Row:
        """Return the row of a query that always has one: a count, or what was listed in the same transaction."""
        return self.rows(query, **values)[0]

    def run(self, query: str, **values: Column) -> None:
        """Send a statement."""
        ...

    def add(self, query: str, **values: Column) -> int:
        """Send an insertion and return the number of the new row."""
        ...

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        """Send a statement once for each row of values."""
        ...

    def add_folder(self, path: str) -> int:
        """Add a folder and return its number."""
        ...

    def drop_folder(self) -> None:
        """Remove the folder and all that is known of it."""
        ...

    def put_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        """Put passages of a document into the search."""
        ...

    def drop_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        """Take passages of a document out of the search."""
        ...

    def counts(self, terms: Sequence[str], limit: int | None = None) -> dict[str, int]:
        """Return for each term how many passages hold it, counted no further than the limit."""
        ...

    def best(self, wanted: WantedTerms, limit: int) -> Sequence[Scored]:
        """Return the best passages first, equal ones by number."""
        ...

    def terms_like(self, first: str, *, least: int, most: int) -> list[str]:
        """Return the terms of a folder that begin with a letter and have so many of them."""
        rows = self.rows("terms_like", first=first, next=chr(ord(first) + 1), least=least, most=most)
        return [row["term"] for row in rows]


class Index(Protocol):
    """An index that is opened on first use; used by one thread at a time."""

    def read(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        """Do the work on one unchanging view of the index."""
        ...

    def write(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        """Do the work as the only writer of the folder; all of it is kept, or nothing.

        The work may be begun again where a first attempt was lost.
        """
        ...

    def claim(self, folder: int) -> bool:
        """Return whether this index may refresh a folder now: not while another host does."""
        ...

    def release(self, folder: int) -> None:
        """Let others refresh a folder."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


class Records(Protocol):
    """One transaction of a database that several hosts share."""

    def all(self, query: str, **values: Column) -> list[Any]:
        """Return every row of a named query."""
        ...

    def run(self, query: str, **values: Column) -> int:
        """Send a named statement and return how many rows it changed."""
        ...

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        """Send a named statement once for each row of values."""
        ...


class SharedDatabase(Protocol):
    """A database that several hosts share; ports do not know each other, so wiring gives it: `store.postgres`."""

    def read(self, work: Callable[[Records], T]) -> T:
        """Do the work on one unchanging view."""
        ...

    def write(self, work: Callable[[Records], T]) -> T:
        """Do the work; all of it is kept, or nothing."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


# The file of an index, or what opens the database of one.
IndexPlace = Path | Callable[[], SharedDatabase]


def open_index(place: IndexPlace) -> Index:
    """Return an index by its place."""
    if isinstance(place, Path):
        from deep_research.corpus.sqlite_index import SqliteIndex

        return SqliteIndex(place)
    from deep_research.corpus.postgres_index import PostgresIndex

    return PostgresIndex(place())


@cache
def maker() -> str:
    """Return what makes an index, by its versions: offsets and terms of another version must not be mixed in."""
    own = (f"index/{INDEX_VERSION}", f"analyzer/{ANALYZER_VERSION}")
    return " ".join((*own, *all_extractors(), *(f"{name}/{package_version(name)}" for name in _PACKAGES)))
