"""Exa's search by meaning, after exa.ai/docs/reference/search."""

from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, results_in

_CATEGORIES = {"news": "news", "academic": "research paper"}
_TEXT_CHARS = 10_000


class ExaSearch(OnePageSearch):
    """Exa in its neural mode: up to 100 results, no pages; more than 25 are never needed and cost more."""

    page_size = 25
    delivers = "text"
    key_header = "x-api-key"

    async def results(self, query: PageQuery) -> list[SearchResult]:
        response = await self.service.post_json(
            "/search",
            data={
                "query": query.words,
                "type": "neural",
                "numResults": query.size,
                "contents": {"text": {"maxCharacters": _TEXT_CHARS}},
                "category": _CATEGORIES.get(query.kind),
                "includeDomains": [*query.sites] or None,
                "startPublishedDate": f"{query.since}T00:00:00.000Z" if query.since else None,
                "endPublishedDate": f"{query.until}T23:59:59.999Z" if query.until else None,
            },
        )
        return results_in(self.items_at(response, "results"), "url", "title", "text", "publishedDate", "text")
