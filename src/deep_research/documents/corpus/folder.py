"""A folder of documents behind an index: searched by a run, looked after by whoever owns it.

All work is done in threads, none on the event loop.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from deep_research.documents.corpus.address import address_of
from deep_research.documents.corpus.documents import text_of
from deep_research.documents.corpus.index import Index, IndexLocation, IndexSession
from deep_research.documents.corpus.port import Listed, OnProgress, PassageHit, Skipped, Survey
from deep_research.documents.corpus.postgres_index import PostgresIndex
from deep_research.documents.corpus.rank import MAX_SCANNED, rank
from deep_research.documents.corpus.refresh import refresh, remarks_of
from deep_research.documents.corpus.scan import folder_key
from deep_research.documents.corpus.sqlite_index import IndexFile, SqliteIndexSession
from deep_research.documents.corpus.stored import files_in
from deep_research.errors import SourceError
from deep_research.storage.database.port import Row
from deep_research.value import Value

T = TypeVar("T")
# Two spellings of one name share at least so much.
_ALIKE = 0.76
# What a passage takes over from its document, and from where it stands.
_ABOUT = ("title", "author", "language", "published")
_SHOWN = ("address", "start", "end", *_ABOUT)


def open_index(location: IndexLocation) -> Index:
    """Return an index by its place."""
    if isinstance(location, Path):
        return Index(IndexFile(location), SqliteIndexSession)
    return PostgresIndex(location())


class FolderCorpus:
    """The documents below a folder; the index can be deleted at any time and be shared by many folders.

    Common terms do not help to find passages once the rarer ones have led to `max_scanned` of them; they still count
    in the score of what is found.
    """

    def __init__(self, folder: Path, *, index: IndexLocation, max_scanned: int = MAX_SCANNED) -> None:
        self.folder = folder
        self._max_scanned = max_scanned
        # One connection for all searches, and SQLite wants it to stay in one thread.
        self._location = index
        self._index = open_index(index)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="corpus")
        self._is_closed = False

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        """Bring the index up to date with the folder; `on_progress` is called on the event loop."""
        loop = asyncio.get_running_loop()
        stopped = threading.Event()

        def tell(done: int, total: int, address: str) -> None:
            if on_progress is not None and not stopped.is_set():
                loop.call_soon_threadsafe(on_progress, done, total, address)

        def work() -> Survey:
            with closing(open_index(self._location)) as index:
                files = files_in(self.folder, self._location)
                return refresh(folder_key(self.folder), files, index, tell, stopped.is_set)

        try:
            return await asyncio.to_thread(work)
        finally:
            # A refresh that nobody waits for any longer ends after the file at hand.
            stopped.set()

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        """Return the passages that answer the query, best first, those of a second hop among them."""
        return await self._read(lambda session: _search(session, query, limit, self._max_scanned))

    async def contents(self) -> list[Listed]:
        return await self._read(
            lambda session: [Listed(title=row["title"], language=row["language"]) for row in session.rows("catalogue")]
        )

    async def passages(self, address: str) -> list[PassageHit]:
        """Return all passages of a file in order; raise `SourceError` for a file that is not in the index."""
        return await self._read(lambda session: _passages(session, address))

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return await self._read(
            lambda session: (session.required_row("folder_state")["passages"], session.counts(terms))
        )

    async def spelled_like(self, term: str) -> str:
        return await self._read(lambda session: _spelled_like(session, term))

    async def close(self) -> None:
        """Let go of the index and its thread."""
        if not self._is_closed:
            self._is_closed = True
            self._thread.submit(self._index.close)
            await asyncio.to_thread(self._thread.shutdown)

    async def _read(self, work: Callable[[IndexSession], T]) -> T:
        def lookup(session: IndexSession) -> T:
            if not session.enter(folder_key(self.folder)):
                raise SourceError(f"The folder {address_of(str(self.folder))} is not indexed: refresh it first.")
            return work(session)

        return await asyncio.get_running_loop().run_in_executor(self._thread, self._index.read, lookup)


def _search(session: IndexSession, query: str, limit: int, max_scanned: int) -> list[PassageHit]:
    return [
        PassageHit(
            **{name: getattr(passage, name) for name in _SHOWN},
            text=text_of(session, passage.document, passage.start, passage.end),
            score=score,
        )
        for passage, score in rank(session, query, limit, max_scanned)
    ]


def _passages(session: IndexSession, address: str) -> list[PassageHit]:
    # Half a surrogate pair matches nothing, and no database takes it.
    file = session.one("document_of_address", address=address.encode("utf-8", "replace").decode())
    if file is None:
        raise SourceError(f"{address!r} is not in the index: refresh the folder, or check the address.")
    about = {name: file[name] for name in _ABOUT}
    rows = session.rows("passages_of", document=file["document"])
    text = text_of(session, file["document"], 0, max((row["end"] for row in rows), default=0))
    spans = [(row["start"], row["end"]) for row in rows]
    return [
        PassageHit(address=address, start=start, end=end, text=text[start:end], score=0.0, **about)
        for start, end in spans
    ]


def _spelled_like(session: IndexSession, term: str) -> str:
    """Return the nearest of the terms that begin with the same letter and are about as long."""
    first, size = term[:1], len(term)
    if not first.isascii() or not first.isalpha():
        return ""
    rows = session.rows("terms_like", first=first, next=chr(ord(first) + 1), least=size - 2, most=size + 2)
    return next(iter(get_close_matches(term, [row["term"] for row in rows], n=1, cutoff=_ALIKE)), "")


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


@dataclass
class Catalogue:
    """The folders of one index. Each call opens it anew."""

    index: IndexLocation

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

        with closing(open_index(self.index)) as index:
            return index.write(drop)

    def _rows(self, query: str, folder: Path | None = None) -> Sequence[Row]:
        def lookup(session: IndexSession) -> Sequence[Row]:
            if folder is not None:
                session.enter(folder_key(folder))
            return session.rows(query)

        with closing(open_index(self.index)) as index:
            return index.read(lookup)
