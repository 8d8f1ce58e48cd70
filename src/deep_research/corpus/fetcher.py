"""`CorpusFetcher`: the files of a folder in the role of a fetcher."""

import asyncio
from pathlib import Path, PurePosixPath
from typing import Generic, Protocol, TypeVar

from deep_research.corpus.stored import Files, FolderFiles
from deep_research.readers.registry import FORMATS

Page = TypeVar("Page", covariant=True)


class PageMaker(Protocol[Page]):
    """Makes the fetch port's answer; ports do not know each other, so wiring gives it: `fetch.port.Fetched`."""

    def __call__(self, *, address: str, media_type: str, raw: bytes) -> Page:
        """Return the bytes behind an address as a page."""
        ...


class FileFetcher(Protocol[Page]):
    """Gets files by their address in a folder."""

    @property
    def timeout_s(self) -> float:
        """How long one file may take."""
        ...

    async def fetch(self, address: str) -> Page:
        """Return a file as it is now."""
        ...


class CorpusFetcher(Generic[Page]):
    """Gets files by their address in the folder, and nothing else; all addresses begin with `prefix`."""

    def __init__(
        self, files: Path | Files, page: PageMaker[Page], *, prefix: str = "", timeout_s: float = 30.0
    ) -> None:
        self._files: Files = FolderFiles(files) if isinstance(files, Path) else files
        self._prefix = prefix
        self._page = page
        self.timeout_s = timeout_s

    async def fetch(self, address: str) -> Page:
        """Return a file as it is now; raise `SourceError` if it is gone or the address leaves the folder."""
        return await asyncio.to_thread(self._fetch, address)

    def _fetch(self, address: str) -> Page:
        address, raw = self._files.fetch(address.removeprefix(self._prefix))
        suffix = PurePosixPath(address).suffix.lower()
        media_type = next(kind.media_types[0] for kind in FORMATS.values() if suffix in kind.suffixes)
        return self._page(address=f"{self._prefix}{address}", media_type=media_type, raw=raw)
