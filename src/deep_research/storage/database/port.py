"""What is asked of a database: transactions that send the named queries of a package. Knows no database.

A package has its statements in `queries.sql`, its schema in numbered `migrations`; what PostgreSQL needs in other words
stands in `queries_postgres.sql` and `migrations_postgres`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from deep_research.errors import StoreCorrupt
from deep_research.value import Value

Column = str | int | float | bytes | None
T = TypeVar("T")
V = TypeVar("V", bound=Value)


class Row(Protocol):
    """A row of an answer, by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column."""

    def keys(self) -> Iterable[str]:
        """Return the names of the columns, in their order."""


def value_of(kind: type[V], row: Row, /, **others: object) -> V:
    """Return the value whose fields are columns of a row, but for `others`, which are given."""
    return kind.model_validate({name: row[name] for name in kind.model_fields if name not in others} | others)


class Session(Protocol):
    """One transaction: sends named queries and raises our errors."""

    # Where the database is, in words for people: never with a password.
    location: str
    # Whether an index finds all that its table holds; else rows are counted in a second way.
    trusts_indexes: bool

    def all(self, query: str, **values: Column) -> list[Row]:
        """Return every row of a query."""

    def one(self, query: str, **values: Column) -> Row | None:
        """Return the first row of a query, if there is one."""
        return next(iter(self.all(query, **values)), None)

    def run(self, query: str, **values: Column) -> int:
        """Send a statement and return how many rows it changed."""

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        """Send a statement once for each row of values."""

    def clock_ahead_s(self) -> float:
        """Return by how much the clock that all users of the database share is ahead of this machine's."""

    def corrupt(self) -> StoreCorrupt:
        """Return what is said of a database that is damaged."""


class Database(Protocol):
    """Does a piece of work in one transaction; used by one thread at a time."""

    # Where it is, in words for people: never with a password.
    location: str

    def read(self, work: Callable[[Session], T]) -> T:
        """Do the work on one unchanging view of the database."""

    def write(self, work: Callable[[Session], T]) -> T:
        """Do the work alone on the rows that it touches; all of it is kept, or nothing.

        The work may be begun again where a first attempt was lost.
        """

    def ask(self, query: str, **values: Column) -> list[Row]:
        """Send one named statement by itself; it may be sent again where its answer was lost."""

    def release_free_space(self) -> None:
        """Give the space of what was removed back to the disk, unless others are in the way."""

    def close(self) -> None:
        """Release what is held; a later use opens it again."""
