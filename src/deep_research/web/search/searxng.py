"""SearXNG, one's own or a company's, after docs.searxng.org/dev/search_api.html."""

from deep_research.errors import SourceBusy
from deep_research.value import JsonObject, value_at
from deep_research.web.search.cleaning import parted_date
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch

_CATEGORIES = {"news": "news", "academic": "science", "code": "it"}
_LANGUAGES = {"zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}
_RANGES = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))

_LEAST_ON_A_PAGE = 10


class SearxngSearch(ServiceSearch):
    """SearXNG: as many results a page as its engines give."""

    async def page(self, query: PageQuery) -> Page:
        response = await self.service.get_json(
            "/search",
            params={
                "q": query.words_with_sites,
                "format": "json",
                "pageno": query.number + 1,
                "categories": _CATEGORIES.get(query.kind, "general"),
                "language": _LANGUAGES.get(query.language, query.language) or None,
                "time_range": self._range(query),
            },
        )
        results = self.items_at(response, "results")
        if not results and query.number == 0 and value_at(response, "unresponsive_engines"):
            raise SourceBusy(f"{self.endpoint.title} found nothing, and engines behind it did not answer.")
        return Page(
            [_found(item) for item in results],
            # It does not say how long its pages are; one so short is its last, or nearly.
            is_last=len(results) < _LEAST_ON_A_PAGE,
        )

    def _range(self, query: PageQuery) -> str | None:
        """Return the shortest time back from today that holds all of the query's."""
        if query.since is None:
            return None
        days = (self.endpoint.today() - query.since).days
        return next((name for most, name in _RANGES if days <= most), None)


def _found(item: JsonObject) -> SearchResult:
    published, snippet = item.get("publishedDate") or item.get("pubdate"), item.get("content")
    if not published:
        # Some of the engines behind it write the date before the text ("30 Jan 2025 ... The text").
        published, snippet = parted_date(snippet)
    return SearchResult(item.get("url"), item.get("title"), snippet, published)
