"""Tavily's search, after docs.tavily.com/documentation/api-reference/endpoint/search."""

from deep_research.search.engine import Found, Page, ServiceSearch, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class TavilySearch(ServiceSearch):
    """Tavily: up to 20 results, no pages."""

    page_size = 20
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the results of a query."""
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
        return Page(
            [
                Found(item.get("url"), item.get("title"), item.get("content"), item.get("published_date"))
                for item in results
            ],
            is_last=True,
        )
