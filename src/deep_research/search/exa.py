"""Exa's search by meaning, after exa.ai/docs/reference/search."""

from typing import Final

from deep_research.search.engine import Found, OnePageSearch, results_in, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject

_CATEGORIES: Final = {"news": "news", "academic": "research paper"}
_SNIPPET_CHARS: Final = 1_000


class ExaSearch(OnePageSearch):
    """Exa in its neural mode: up to 100 results, no pages; more than 25 are never needed and cost more."""

    page_size = 25

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    async def results(self, query: SearchQuery, *, size: int) -> list[Found]:
        data: JsonObject = {
            "query": words_of(query),
            "type": "neural",
            "numResults": size,
            "contents": {"text": {"maxCharacters": _SNIPPET_CHARS}},
        }
        if query.kind in _CATEGORIES:
            data["category"] = _CATEGORIES[query.kind]
        if query.sites:
            data["includeDomains"] = list(query.sites)
        if query.since:
            data["startPublishedDate"] = f"{query.since.isoformat()}T00:00:00.000Z"
        if query.until:
            data["endPublishedDate"] = f"{query.until.isoformat()}T23:59:59.999Z"
        results = self.items_at(await self.service.post_json("/search", data=data), "results")
        return results_in(results, "url", "title", "text", "publishedDate")
