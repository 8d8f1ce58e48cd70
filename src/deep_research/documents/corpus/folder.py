"""`FolderCorpus`: a folder of documents behind an index. All work is done in threads, none on the event loop."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from deep_research.documents.corpus.address import address_of
from deep_research.documents.corpus.documents import text_of
from deep_research.documents.corpus.files import folder_key
from deep_research.documents.corpus.index import IndexLocation, IndexSession
from deep_research.documents.corpus.opening import open_index
from deep_research.documents.corpus.port import Listed, OnProgress, PassageHit, Survey
from deep_research.documents.corpus.rank import MAX_SCANNED, rank
from deep_research.documents.corpus.refresh import refresh
from deep_research.documents.corpus.stored import files_in
from deep_research.errors import SourceError

T = TypeVar("T")
# Two spellings of one name share at least so much.
_ALIKE = 0.76
# What a passage takes over from its document, and from where it stands.
_ABOUT = ("title", "author", "language", "published")
_SHOWN = ("address", "start", "end", *_ABOUT)


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
