"""The index in a file, terms in FTS5; a file that another version made is made anew."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from deep_research.documents.corpus.index import (
    NO_LIMIT,
    IndexSession,
    PassageTerms,
    Scored,
    WantedTerms,
    index_version,
    storable,
)
from deep_research.errors import CannotWrite, StoreCorrupt
from deep_research.storage.database.port import Column, Session
from deep_research.storage.database.queries import load_queries
from deep_research.storage.database.sqlite import Fault, SqliteFile, files_of, statements_of, transaction

T = TypeVar("T")
_PACKAGE = "deep_research.documents.corpus"
_CANNOT_WRITE = "The index {path} cannot be written: check its rights and the space on its disk."
_DAMAGED = "The index {path} is damaged: delete it, it is then built anew."
_WORDS: Mapping[Fault, str] = {
    "locked": "The index {path} stayed locked by another process: try again.",
    "refused": _CANNOT_WRITE,
    "full": _CANNOT_WRITE,
    "foreign": _DAMAGED,
    "damaged": _DAMAGED,
}


class SqliteIndexSession(IndexSession):
    """One transaction of the file."""

    def add_folder(self, path: str) -> int:
        super().add_folder(path)
        self.run("create_terms")
        self.run("create_vocabulary")
        return self.folder

    def drop_folder(self) -> None:
        for query in """
            drop_folder_passages drop_folder_texts drop_folder_documents drop_folder_files drop_folder
            drop_vocabulary_table drop_terms_table
        """.split():
            self.run(query)

    def put_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        self.many("put_terms", _term_rows(passages, title))

    def drop_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        self.many("drop_terms", _term_rows(passages, title))

    def counts(self, terms: Sequence[str], limit: int = NO_LIMIT) -> dict[str, int]:
        return {
            term: self.required_row("count_up_to", match=_quoted(term), limit=limit)["passages"] if term else 0
            for term in terms
        }

    def best(self, wanted: WantedTerms, limit: int) -> list[Scored]:
        either = [*map(_quoted, wanted.terms), *(f"({_quoted(one)} AND {_quoted(two)})" for one, two in wanted.pairs)]
        rows = self.rows("best", match=" OR ".join(either), limit=limit)
        return [Scored(row["id"], -row["cost"]) for row in rows]


def _term_rows(passages: Iterable[PassageTerms], title: Sequence[str]) -> Iterator[Mapping[str, Column]]:
    spelled = " ".join(title)
    return ({"id": number, "title": spelled, "body": " ".join(body)} for number, body in passages)


def _quoted(term: str) -> str:
    """Return a term as an FTS5 expression, none of it read as syntax."""
    return '"' + storable(term).replace('"', '""') + '"'


class IndexFile(SqliteFile):
    """The file of all folders; nothing in it cannot be read again, but for what somebody else put in its place."""

    # A power cut may cost the last files read, never the index: they are read again.
    synchronous = "NORMAL"
    words = _WORDS

    def __init__(self, path: Path) -> None:
        super().__init__(path, package=_PACKAGE)

    def _transact(self, connection: sqlite3.Connection, begin: str, work: Callable[[Session], T]) -> T:
        def checked(session: Session) -> T:
            with self.our_errors():
                if not _is_ours(connection):
                    raise StoreCorrupt(f"The index {self.path} was taken over by another version: start again.")
            return work(session)

        return super()._transact(connection, begin, checked)

    def make_ready(self, connection: sqlite3.Connection) -> None:
        if _is_ours(connection):
            return
        with transaction(connection):
            # Another process may have made it while this one waited.
            if _is_ours(connection):
                return
            tables = _tables(connection)
            if tables and "maker" not in tables:
                # It is a database of something else.
                raise self.corrupt()
            virtual = [name for name, sql in tables.items() if sql.startswith("CREATE VIRTUAL TABLE")]
            # A vocabulary goes before the terms it reads, and terms take their own shadow tables along.
            for name in sorted(virtual, reverse=True):
                connection.execute(f'DROP TABLE "{name}"')
            for name in _tables(connection):
                connection.execute(f'DROP TABLE "{name}"')
            schema = files(_PACKAGE).joinpath("schema.sql").read_text(encoding="utf-8")
            for statement in statements_of(schema):
                connection.execute(statement)
            connection.execute(load_queries(_PACKAGE)["sign"], {"code": index_version()})

    def ready_as_it_stands(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Return the same: an index that cannot be written is of use only if this version made it."""
        if not _is_ours(connection):
            raise CannotWrite(
                f"The index {self.path} was made by another version and cannot be written, so that it cannot be built "
                "anew: check the rights on it and its folder."
            )
        return connection

    def free_space(self) -> bool:
        """Free the space for a new index; what stood there may be something of the user's, so it is kept."""
        database, *rest = files_of(self.path)
        with suppress(FileNotFoundError):
            database.replace(database.with_name(f"{database.name}.damaged"))
        for file in rest:
            file.unlink(missing_ok=True)
        return True


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    return {row["name"]: row["sql"] for row in connection.execute(load_queries(_PACKAGE)["tables"])}


def _is_ours(connection: sqlite3.Connection) -> bool:
    try:
        row = connection.execute(load_queries(_PACKAGE)["maker"]).fetchone()
    except sqlite3.OperationalError as exc:
        # There is no such table.
        if exc.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return False
    return row is not None and row["code"] == index_version()
