"""Bocha's web search, after "Web Search API" on open.bochaai.com."""

from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, value_at, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject

_MAX_SITES: Final = 20


class BochaSearch(ServiceSearch):
    """Bocha: up to 50 results, no pages."""

    page_size = 50
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the results of a query."""
        days = self.days(query)
        data: JsonObject = {
            "query": words_of(query),
            "summary": True,
            "count": size,
            "freshness": f"{days[0]}..{days[1]}" if days else "noLimit",
        }
        if query.sites:
            data["include"] = "|".join(query.sites[:_MAX_SITES])
        answer = await self.service.post_json("/v1/web-search", data=data)
        # Errors also come with status 200, and then with a code of their own.
        if value_at(answer, "code") not in (200, "200"):
            raise self.wrong_form()
        pages = value_at(answer, "data", "webPages")
        if not isinstance(pages, dict):
            raise self.wrong_form()
        results = self.items_at(pages, "value") if pages.get("value") is not None else []
        return Page(
            [
                Found(item.get("url"), item.get("name"), item.get("summary") or item.get("snippet"), _day(item))
                for item in results
            ],
            is_last=True,
        )


def _day(item: JsonObject) -> str:
    # The second is what older answers have; Bocha says that it holds the day of publication too.
    return str(item.get("datePublished") or item.get("dateLastCrawled") or "")
