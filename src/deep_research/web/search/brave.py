"""Brave's web and news search, after api-dashboard.search.brave.com/app/documentation/web-search."""

from deep_research.value import value_at
from deep_research.web.search.engine import Page, PageQuery, ServiceSearch, is_short, results_in


class BraveSearch(ServiceSearch):
    """Brave: up to 20 results a page, pages counted by `offset`."""

    page_size = 20
    key_header = "X-Subscription-Token"
    fixed_headers = (("Accept", "application/json"),)

    async def page(self, query: PageQuery) -> Page:
        is_news = query.kind == "news"
        response = await self.service.get_json(
            "/res/v1/news/search" if is_news else "/res/v1/web/search",
            params={
                "q": query.words_with_sites,
                "count": query.size,
                "offset": query.number,
                # Brave names languages by their codes, the Chinese scripts as zh-hans and zh-hant.
                "search_lang": query.language.lower() or None,
                "freshness": self.days(query, "{}to{}") or None,
                "result_filter": None if is_news else "web",
            },
        )
        if value_at(response, "type") != ("news" if is_news else "search"):
            raise self.wrong_form()
        # A search without results has no part `web`.
        where = ("results",) if is_news else ("web", "results")
        results = self.items_at(response, *where) if value_at(response, where[0]) is not None else []
        # News do not say it.
        has_more = value_at(response, "query", "more_results_available")
        return Page(
            results_in(results, "url", "title", "description", "page_age"),
            is_last=not has_more if isinstance(has_more, bool) else is_short(len(results), query.size),
        )
