"""`RoutedFetcher`: pages from the web and files from the user's folder, each by its own fetcher."""

from dataclasses import dataclass

from deep_research.errors import SourceError
from deep_research.web.fetch.port import Fetched, Fetcher


@dataclass(frozen=True)
class RoutedFetcher:
    """Sends an address to the fetcher that may open it; a page of the web never leads to a file."""

    web: Fetcher | None
    files: Fetcher | None

    @property
    def timeout_s(self) -> float:
        return max((each.timeout_s for each in (self.web, self.files) if each is not None), default=1.0)

    async def fetch(self, address: str) -> Fetched:
        """Return what stands at the address; raise `SourceError` where nothing here may open it."""
        is_web = address.startswith(("http://", "https://"))
        fetcher = self.web if is_web else self.files
        if fetcher is None:
            raise SourceError(f"{address} was found, but nothing here may fetch it.")
        return await fetcher.fetch(address)
