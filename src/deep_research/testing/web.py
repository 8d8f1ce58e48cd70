"""A small web that never changes: a search engine and a fetcher over pages in memory."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.errors import CallFailed, SourceError
from deep_research.fetch.port import Fetched
from deep_research.sources.address import canonical_address
from deep_research.sources.hit import Hit, SearchQuery
from deep_research.testing.model import CallLog
from deep_research.value import digest


@dataclass
class StaticSearch:
    """Finds the same pages for the same query, always; `failures` gives the errors of the first searches."""

    pages: Sequence[Hit]
    name: str = "static"
    timeout_s: float = 30.0
    hits_a_query: int = 3
    delay_s: float = 0.0
    failures: list[CallFailed] = field(default_factory=list)
    log: CallLog = field(default_factory=CallLog)

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return pages chosen by the query's hash."""
        self.log.write("begin", "search", query.query)
        await asyncio.sleep(self.delay_s)
        if self.failures:
            self.log.write("fail", "search", query.query)
            raise self.failures.pop(0)
        ranked = sorted(self.pages, key=lambda hit: digest(query.query, hit.address))
        self.log.write("end", "search", query.query)
        return ranked[: min(limit, self.hits_a_query)]


@dataclass
class MemoryFetcher:
    """Serves pages from memory."""

    pages: Mapping[str, str]
    timeout_s: float = 30.0
    delay_s: float = 0.0
    log: CallLog = field(default_factory=CallLog)

    async def fetch(self, address: str) -> Fetched:
        """Return the page at the address."""
        self.log.write("begin", "fetch", address)
        await asyncio.sleep(self.delay_s)
        text = self.pages.get(canonical_address(address))
        if text is None:
            self.log.write("fail", "fetch", address)
            raise SourceError(f"There is no page at {address}.")
        self.log.write("end", "fetch", address)
        return Fetched(address=address, media_type="text/plain", raw=text.encode())


def numbered_pages(count: int) -> tuple[list[Hit], dict[str, str]]:
    """Return that many pages about costs and results, as hits and as texts."""
    hits, texts = [], {}
    for number in range(1, count + 1):
        address = f"https://example.test/page/{number}"
        title = f"Report {number}"
        texts[address] = (
            f"{title}\n\nThe costs of project {number} came to {number * 7} million euros in 20{10 + number % 15}. "
            f"The results of project {number} were measured for {number + 2} years. "
            f"Nobody disputes the costs and results of project {number}.\n"
        )
        hits.append(
            Hit(address=address, title=title, snippet=f"Costs and results of project {number}", engine="static")
        )
    return hits, texts
