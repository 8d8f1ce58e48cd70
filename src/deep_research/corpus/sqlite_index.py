"""The index in a file, terms in FTS5: opening, making it anew when another version made it, SQLite's errors as ours."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from deep_research.corpus.index import Column, IndexSession, PassageTerms, Scored, WantedTerms, maker
from deep_research.database import (
    FileErrors,
    can_be_written,
    connect_read_only,
    fault_of,
    files_of,
    load_queries,
    open_prepared,
    transaction,
)
from deep_research.errors import CannotWrite, StoreCorrupt, StoreLocked

T = TypeVar("T")
_NO_LIMIT = -1
_BUSY_TIMEOUT_S = 30.0


class _NotAnIndex(Exception):
    """The file is a database of something else."""


class SqliteIndexSession(IndexSession):
    """One transaction of the file."""

    def __init__(self, connection: sqlite3.Connection, folder: int = 0) -> None:
        self._connection = connection
        self.folder = folder

    def rows(self, query: str, **values: Column) -> list[sqlite3.Row]:
        return self._sent(query, values).fetchall()

    def run(self, query: str, **values: Column) -> None:
        self._sent(query, values)

    def add(self, query: str, **values: Column) -> int:
        return self._sent(query, values).lastrowid or 0

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        self._connection.executemany(self._statement(query), ({"folder": self.folder, **row} for row in rows))

    def add_folder(self, path: str) -> int:
        self.folder = self.add("add_folder", path=path)
        self.run("create_terms")
        self.run("create_vocabulary")
        return self.folder

    def drop_folder(self) -> None:
        for query in (
            "drop_folder_passages",
            "drop_folder_texts",
            "drop_folder_documents",
            "drop_folder_files",
            "drop_folder",
            "drop_vocabulary_table",
            "drop_terms_table",
        ):
            self.run(query)

    def put_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        self.many("put_terms", _term_rows(passages, title))

    def drop_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        self.many("drop_terms", _term_rows(passages, title))

    def counts(self, terms: Sequence[str], limit: int | None = None) -> dict[str, int]:
        most = _NO_LIMIT if limit is None else limit
        return {
            term: self.required_row("count_up_to", match=_quoted(term), limit=most)["passages"] if term else 0
            for term in terms
        }

    def best(self, wanted: WantedTerms, limit: int) -> list[Scored]:
        either = [*map(_quoted, wanted.terms), *(f"({_quoted(one)} AND {_quoted(two)})" for one, two in wanted.pairs)]
        rows = self._sent("best", {"match": " OR ".join(either), "limit": limit})
        return [Scored(number, -cost) for number, cost in rows]

    def _sent(self, query: str, values: Mapping[str, Column]) -> sqlite3.Cursor:
        return self._connection.execute(self._statement(query), {"folder": self.folder, **values})

    def _statement(self, query: str) -> str:
        return load_queries("deep_research.corpus")[query].replace("{folder}", str(self.folder))


def _term_rows(passages: Iterable[PassageTerms], title: Sequence[str]) -> Iterator[Mapping[str, Column]]:
    spelled = " ".join(title)
    return ({"id": number, "title": spelled, "body": " ".join(body)} for number, body in passages)


def _quoted(term: str) -> str:
    """Return a term as an FTS5 expression, none of it read as syntax; what is no text matches nothing anyway."""
    known = term.encode("utf-8", "replace").decode().replace("\0", "?")
    return '"' + known.replace('"', '""') + '"'


class SqliteIndex:
    """One connection to the index file, opened on first use; it belongs to the thread that uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def read(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        with self._transaction("BEGIN", folder) as session:
            return work(session)

    def write(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        with self._transaction("BEGIN IMMEDIATE", folder) as session:
            return work(session)

    def claim(self, folder: int) -> bool:  # noqa: ARG002 - the port gives it
        """Return yes: processes of one machine refresh beside each other, each file in its own transaction."""
        return True

    def release(self, folder: int) -> None:
        """Do nothing, as nothing was claimed."""

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str, folder: int) -> Iterator[SqliteIndexSession]:
        try:
            connection = self._connection = self._connection or self._opened()
            with transaction(connection, begin):
                session = SqliteIndexSession(connection, folder)
                if not _is_ours(session):
                    raise StoreCorrupt(f"The index {self.path} was taken over by another version: start again.")
                yield session
        except FileErrors as exc:
            match fault_of(exc):
                case "locked":
                    raise StoreLocked(f"The index {self.path} stayed locked by another process: try again.") from exc
                case "refused" | "full":
                    raise CannotWrite(
                        f"The index {self.path} cannot be written: check its rights and the space on its disk."
                    ) from exc
                case "foreign" | "damaged":
                    raise StoreCorrupt(f"The index {self.path} is damaged: delete it, it is then built anew.") from exc
            raise

    def _opened(self) -> sqlite3.Connection:
        if not can_be_written(self.path):
            return self._opened_as_it_stands()
        until = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                return open_prepared(self.path, _prepare, timeout_s=_BUSY_TIMEOUT_S)
            except OSError as exc:
                raise CannotWrite(f"Cannot create the folder {self.path.parent}: {exc.strerror}.") from exc
            except _NotAnIndex:
                pass
            except FileErrors as exc:
                if fault_of(exc) not in ("foreign", "damaged") or time.monotonic() >= until:
                    raise
            self._put_aside()

    def _opened_as_it_stands(self) -> sqlite3.Connection:
        """Open an index that cannot be written, which is of use only if this version made it."""
        connection = connect_read_only(self.path)
        connection.row_factory = sqlite3.Row
        if not _is_ours(SqliteIndexSession(connection)):
            connection.close()
            raise CannotWrite(
                f"The index {self.path} was made by another version and cannot be written, so that it cannot be built "
                "anew: check the rights on it and its folder."
            )
        return connection

    def _put_aside(self) -> None:
        """Make room for a new index; what stood there may be something of the user's, so it is kept."""
        database, *rest = files_of(self.path)
        with suppress(FileNotFoundError):
            database.replace(database.with_name(f"{database.name}.damaged"))
        for file in rest:
            file.unlink(missing_ok=True)


def _prepare(connection: sqlite3.Connection) -> None:
    # A power cut may cost the last files read, never the index: they are read again.
    connection.execute("PRAGMA synchronous = NORMAL")
    if _is_ours(SqliteIndexSession(connection)):
        return
    with transaction(connection, "BEGIN IMMEDIATE"):
        session = SqliteIndexSession(connection)
        # Another process may have made it while this one waited.
        if _is_ours(session):
            return
        tables = session.rows("tables")
        if tables and "maker" not in {row["name"] for row in tables}:
            raise _NotAnIndex
        virtual = [row for row in tables if str(row["sql"]).startswith("CREATE VIRTUAL TABLE")]
        # A vocabulary goes before the terms it reads, and terms take their own shadow tables along.
        for row in sorted(virtual, key=lambda row: str(row["name"]), reverse=True):
            connection.execute(f'DROP TABLE "{row["name"]}"')
        for row in session.rows("tables"):
            connection.execute(f'DROP TABLE "{row["name"]}"')
        schema = files("deep_research.corpus").joinpath("schema.sql").read_text(encoding="utf-8")
        for statement in schema.split(";\n"):
            connection.execute(statement)
        session.run("sign", code=maker())


def _is_ours(session: SqliteIndexSession) -> bool:
    try:
        row = session.one("maker")
    except sqlite3.OperationalError as exc:
        # There is no such table.
        if getattr(exc, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
            raise
        return False
    return row is not None and row["code"] == maker()
