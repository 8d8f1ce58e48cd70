"""What the rest asks of a corpus: keep up with the folder, find passages, count terms."""

from collections.abc import Callable, Sequence
from typing import Protocol

from deep_research.value import Value

# Called with files done, files in all, and the address of the file at hand.
OnProgress = Callable[[int, int, str], None]


class PassageHit(Value):
    """A stretch of a file's text; `start` and `end` are character offsets into what `readers.read` gives for it."""

    address: str
    title: str
    start: int
    end: int
    text: str
    score: float
    author: str = ""
    language: str = ""
    published: str = ""


class Listed(Value):
    """A document of a corpus as its list of contents has it."""

    title: str
    language: str


class Skipped(Value):
    """A file, folder or link that is not used, and one sentence that names the fix."""

    address: str
    reason: str


class Remark(Value):
    """Something to know about a file that is used, such as pages without text."""

    address: str
    remark: str


class Survey(Value):
    """The state of a folder after a refresh.

    `files` are all files that are not hidden, `indexed` the different documents among them that can be searched (one
    of those that are nearly the same),
    `read_now` those whose text was read by this refresh, `removed` those that are gone since the last one.
    """

    files: int
    indexed: int
    read_now: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()
    remarks: tuple[Remark, ...] = ()


class Corpus(Protocol):
    """A set of documents that can be searched by passage."""

    async def refresh(self, on_progress: OnProgress | None = None) -> Survey:
        """Bring the index up to date with the documents, and say what was found."""

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:
        """Return the best passages first; equal scores by address and place."""

    async def contents(self) -> list[Listed]:
        """Return what documents there are, by address."""

    async def passages(self, address: str) -> list[PassageHit]:
        """Return all passages of a file in order, with a score of 0."""

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return the number of passages, and for each term of the analyzer how many of them hold it."""

    async def spelled_like(self, term: str) -> str:
        """Return the known term that is spelled most like this one, "" where none is."""

    async def close(self) -> None:
        """Let go of files and threads."""
