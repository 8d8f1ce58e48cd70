"""Exa's search by meaning, after exa.ai/docs/reference/search."""

from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject

_CATEGORIES: Final = {"news": "news", "academic": "research paper"}
_SNIPPET_CHARS: Final = 1_000


class ExaSearch(ServiceSearch):
    """Exa in its neural mode (SPEC H2): up to 100 results, no pages; more than 25 are never needed and cost more."""

    page_size = 25
    max_pages = 1

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-api-key": key}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the results of a query."""
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
        return Page(
            [
                Found(item.get("url"), item.get("title"), item.get("text"), item.get("publishedDate"))
                for item in results
            ],
            is_last=True,
        )
