"""What the pipeline asks of a search engine."""

from typing import Protocol

from deep_research.report.sources.hit import Hit, SearchQuery


class SearchEngine(Protocol):
    """A place that can be searched: a web engine, a library, a folder."""

    @property
    def name(self) -> str:
        """The name under which the engine is configured, counted and reported."""
        ...

    @property
    def timeout_s(self) -> float:
        """The time after which a search gives up."""
        ...

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the best hits first, or raise `NetworkError` or `SourceError`."""
        ...
