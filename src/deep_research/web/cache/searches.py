"""Search results that are kept for a while."""

from dataclasses import dataclass

from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.value import canonical_json, digest, json_of
from deep_research.web.cache.cache import Cache
from deep_research.web.search.port import SearchEngine

_KIND = "search"


@dataclass(frozen=True)
class CachedEngine:
    """A search engine whose answers are kept, also that there is nothing; failures are not.

    `identity` differs for an engine of the same name elsewhere, as its address does.
    """

    engine: SearchEngine
    cache: Cache
    identity: str
    ttl_s: float = 3600.0

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def timeout_s(self) -> float:
        return self.engine.timeout_s

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the hits that are kept, or ask the engine."""
        key = digest(self.name, self.identity, query.as_asked, limit)
        cached = await self.cache.get(_KIND, key)
        if (hits := _hits(cached)) is not None:
            return hits
        hits = await self.engine.search(query, limit=limit)
        packed = canonical_json([hit.to_json() for hit in hits]).encode("utf-8", "surrogatepass")
        await self.cache.put(_KIND, key, packed, self.ttl_s)
        return hits


def _hits(cached: bytes | None) -> list[Hit] | None:
    """Return the hits of an answer; None where there is none, or another version of this code kept it."""
    if cached is None:
        return None
    try:
        packed = json_of(cached.decode("utf-8", "surrogatepass"))
        return [Hit.from_json(hit) for hit in packed] if isinstance(packed, list) else None
    except ValueError:
        return None
