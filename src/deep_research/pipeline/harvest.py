"""Harvest: from a query to ranked hits."""

from deep_research.pipeline.context import Ports
from deep_research.pipeline.search_executor import SearchExecutor
from deep_research.sources.hit import Hit, SearchQuery


async def harvest(query: SearchQuery, *, executor: SearchExecutor, ports: Ports) -> list[Hit]:
    """Search for one query; what an engine loses is on record, never raised."""
    return await executor.execute(query, ports=ports)
