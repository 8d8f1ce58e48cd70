"""Tavily's search, after docs.tavily.com/documentation/api-reference/endpoint/search."""

from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, results_in


class TavilySearch(OnePageSearch):
    """Tavily: up to 20 results, no pages."""

    page_size = 20
    delivers = "text"

    async def results(self, query: PageQuery) -> list[SearchResult]:
        response = await self.service.post_json(
            "/search",
            data={
                "query": query.words,
                "max_results": query.size,
                "search_depth": "basic",
                "include_raw_content": "text",
                "topic": "news" if query.kind == "news" else "general",
                "include_domains": [*query.sites] or None,
                "start_date": f"{query.since}" if query.since else None,
                "end_date": f"{query.until}" if query.until else None,
            },
        )
        return results_in(
            self.items_at(response, "results"), "url", "title", "content", "published_date", "raw_content"
        )
