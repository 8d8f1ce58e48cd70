"""Bocha's web search, after "Web Search API" on open.bochaai.com."""

from deep_research.value import JsonObject, value_at
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult

_MAX_SITES = 20


class BochaSearch(OnePageSearch):
    """Bocha: up to 50 results, no pages."""

    page_size = 50

    async def results(self, query: PageQuery) -> list[SearchResult]:
        response = await self.service.post_json(
            "/v1/web-search",
            data={
                "query": query.words,
                "summary": True,
                "count": query.size,
                "freshness": self.days(query, "{}..{}") or "noLimit",
                "include": "|".join(query.sites[:_MAX_SITES]) or None,
            },
        )
        # Errors also come with status 200, and then with a code of their own.
        if value_at(response, "code") not in (200, "200"):
            raise self.wrong_form()
        pages = value_at(response, "data", "webPages")
        if not isinstance(pages, dict):
            raise self.wrong_form()
        return [_found(item) for item in self.items_at(pages, "value", is_optional=True)]


def _found(item: JsonObject) -> SearchResult:
    # The second is what older answers have; Bocha says that it holds the day of publication too.
    day = item.get("datePublished") or item.get("dateLastCrawled")
    return SearchResult(item.get("url"), item.get("name"), item.get("summary") or item.get("snippet"), day)
