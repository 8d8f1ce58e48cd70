"""A search engine that keeps to its service's limits: paced, tried again, and left alone while it fails."""

from deep_research.search.gate import Gate
from deep_research.search.pacing import MAX_QUEUE_S
from deep_research.search.port import ServiceEngine
from deep_research.sources.hit import Hit, SearchQuery


class GovernedEngine:
    """An engine behind its service's gate."""

    def __init__(self, engine: ServiceEngine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    @property
    def timeout_s(self) -> float:
        """The time after which a search gives up, with the wait for its turn."""
        return self._engine.timeout_s + MAX_QUEUE_S

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the engine's hits, or raise what its last try raised; `SourceBusy` where it is not asked at all."""
        return await self._gate.call(lambda: self._engine.search(query, limit=limit), timeout_s=self._engine.timeout_s)

    async def close(self) -> None:
        """Close the engine's connections."""
        await self._engine.close()
