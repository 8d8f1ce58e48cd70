"""Serper's Google search and Google news, after serper.dev/playground and its schema at schemas.apis.io/serper."""

from deep_research.value import value_at
from deep_research.web.search.engine import Page, PageQuery, ServiceSearch, is_short, results_in

# Google's names where they are not the language's own code: interface language and country.
_LOCALES = {"zh-Hans": ("zh-cn", "cn"), "zh-Hant": ("zh-tw", "tw"), "zh": ("zh-cn", "cn")}
_TIME = "cdr:1,cd_min:{0.month}/{0.day}/{0.year},cd_max:{1.month}/{1.day}/{1.year}"


class SerperSearch(ServiceSearch):
    """Serper: ten results a page, for more on one page cost double."""

    key_header = "X-API-KEY"

    async def page(self, query: PageQuery) -> Page:
        is_news = query.kind == "news"
        language, country = _LOCALES.get(query.language, (query.language.lower() or None, None))
        response = await self.service.post_json(
            "/news" if is_news else "/search",
            data={
                "q": query.words_with_sites,
                "num": query.size,
                "page": query.number + 1,
                "hl": language,
                "gl": country,
                "tbs": self.days(query, _TIME) or None,
            },
        )
        if not isinstance(value_at(response, "searchParameters"), dict):
            raise self.wrong_form()
        # A search without results may leave the list out.
        results = self.items_at(response, "news" if is_news else "organic", is_optional=True)
        return Page(results_in(results, "link", "title", "snippet", "date"), is_last=is_short(len(results), query.size))
