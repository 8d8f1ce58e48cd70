"""`CorpusFetcher`: the files of a folder in the role of a fetcher."""

import asyncio
from pathlib import Path, PurePosixPath
from typing import Generic, Protocol, TypeVar

from deep_research.corpus.files import locate, read_bytes
from deep_research.readers.registry import FORMATS

Page = TypeVar("Page", covariant=True)


class PageMaker(Protocol[Page]):
    """Makes the fetch port's answer; ports do not know each other, so wiring gives it: `fetch.port.Fetched`."""

    def __call__(self, *, address: str, media_type: str, raw: bytes) -> Page:
        """Return the bytes behind an address as a page."""
        ...


class CorpusFetcher(Generic[Page]):
    """Gets files by their address in the folder, and nothing else."""

    def __init__(self, folder: Path, page: PageMaker[Page], *, timeout_s: float = 30.0) -> None:
        self._folder = folder
        self._page = page
        self.timeout_s = timeout_s

    async def fetch(self, address: str) -> Page:
        """Return a file as it is now; raise `SourceError` if it is gone or the address leaves the folder."""
        return await asyncio.to_thread(self._fetch, address)

    def _fetch(self, address: str) -> Page:
        address, path = locate(self._folder, address)
        raw, _ = read_bytes(path, address)
        suffix = PurePosixPath(address).suffix.lower()
        media_type = next(kind.media_types[0] for kind in FORMATS.values() if suffix in kind.suffixes)
        return self._page(address=address, media_type=media_type, raw=raw)
