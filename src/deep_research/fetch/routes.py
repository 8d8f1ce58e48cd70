"""`RoutedFetcher`: pages from the web and files from the user's folder, each by its own fetcher."""

from deep_research.errors import SourceError
from deep_research.fetch.port import Fetched, Fetcher


class RoutedFetcher:
    """Sends an address to the fetcher that may open it; a page of the web never leads to a file."""

    def __init__(self, *, web: Fetcher | None, files: Fetcher | None) -> None:
        self._web = web
        self._files = files

    @property
    def timeout_s(self) -> float:
        return max((each.timeout_s for each in (self._web, self._files) if each is not None), default=1.0)

    async def fetch(self, address: str) -> Fetched:
        """Return what stands at the address; raise `SourceError` where nothing here may open it."""
        is_web = address.startswith(("http://", "https://"))
        fetcher = self._web if is_web else self._files
        if fetcher is None:
            raise SourceError(f"{address} was found, but nothing here may fetch it.")
        return await fetcher.fetch(address)
