"""Search results that are kept for a while (SPEC R5)."""

from typing import Final

from deep_research.cache.disk import DiskCache
from deep_research.search.port import SearchEngine
from deep_research.sources.hit import Hit, SearchQuery
from deep_research.value import canonical_json, digest, json_of

_KIND: Final = "search"


class CachedEngine:
    """A search engine whose answers are kept, also that there is nothing; failures are not."""

    def __init__(self, engine: SearchEngine, cache: DiskCache, *, identity: str, ttl_s: float = 3600.0) -> None:
        """Take an engine; `identity` tells it from one of the same name elsewhere, as its address does."""
        self._engine = engine
        self._cache = cache
        self._identity = identity
        self._ttl_s = ttl_s

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    @property
    def timeout_s(self) -> float:
        """The time after which a search gives up."""
        return self._engine.timeout_s

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the hits that are kept, or ask the engine."""
        key = digest(self.name, self._identity, query.as_asked, limit)
        kept = await self._cache.get(_KIND, key)
        if (hits := _hits(kept)) is not None:
            return hits
        hits = await self._engine.search(query, limit=limit)
        answer = canonical_json([hit.to_json() for hit in hits]).encode("utf-8", "surrogatepass")
        await self._cache.put(_KIND, key, answer, self._ttl_s)
        return hits


def _hits(kept: bytes | None) -> list[Hit] | None:
    """Return the hits of an answer; None where there is none, or another version of this code kept it."""
    if kept is None:
        return None
    try:
        answer = json_of(kept.decode("utf-8", "surrogatepass"))
        return [Hit.from_json(hit) for hit in answer] if isinstance(answer, list) else None
    except ValueError:
        return None
