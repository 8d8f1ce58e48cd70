"""Tavily's search, after docs.tavily.com/documentation/api-reference/endpoint/search."""

from deep_research.search.engine import Found, OnePageSearch, results_in, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class TavilySearch(OnePageSearch):
    """Tavily: up to 20 results, no pages."""

    page_size = 20

    async def results(self, query: SearchQuery, *, size: int) -> list[Found]:
        data: JsonObject = {
            "query": words_of(query),
            "max_results": size,
            "search_depth": "basic",
            "topic": "news" if query.kind == "news" else "general",
        }
        if query.sites:
            data["include_domains"] = list(query.sites)
        if query.since:
            data["start_date"] = query.since.isoformat()
        if query.until:
            data["end_date"] = query.until.isoformat()
        results = self.items_at(await self.service.post_json("/search", data=data), "results")
        return results_in(results, "url", "title", "content", "published_date")
