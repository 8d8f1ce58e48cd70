"""`SearchExecutor` (document 000): one search task over the engines, along the fallback chain (SPEC H3)."""

from deep_research.errors import BudgetExceeded, CallFailed
from deep_research.pipeline.context import Ports
from deep_research.pipeline.gap import Gap
from deep_research.sources.hit import Hit, SearchQuery, merge_hits

# What one engine is asked for; pages to read are chosen from the merged list.
MAX_RESULTS = 10


class SearchExecutor:
    """Runs search tasks; an engine that fails is skipped and put on record."""

    async def execute(self, query: SearchQuery, *, ports: Ports) -> list[Hit]:
        """Return the hits of the first engine in the chosen order that has any."""
        for position, name in enumerate(await self._order(query, ports=ports)):
            engine = ports.engine(ports.engine_names.index(name), queries=1 if position == 0 else 0)
            try:
                hits = await engine.search(query, limit=MAX_RESULTS)
            except CallFailed as failure:
                await ports.lost(Gap.of(failure, kind="search", scope=ports.scope, subject=query.query))
                if isinstance(failure, BudgetExceeded):
                    return []
                continue
            if hits:
                return merge_hits([hits])
        return []

    async def _order(self, query: SearchQuery, *, ports: Ports) -> tuple[str, ...]:
        names = ports.engine_names
        if len(names) < 2:
            return names
        chosen = await ports.reason("choose_tools", lambda reasoner: reasoner.choose_tools(query, names))
        return tuple(name for name in chosen if name in names) or names
