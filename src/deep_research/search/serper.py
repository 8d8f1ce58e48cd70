"""Serper's Google search and Google news, after serper.dev/playground and its schema at schemas.apis.io/serper."""

from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, is_short, value_at, words_with_sites
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject

# Google's names where they are not the language's own code: interface language and country.
_PLACES: Final = {"zh-Hans": ("zh-cn", "cn"), "zh-Hant": ("zh-tw", "tw"), "zh": ("zh-cn", "cn")}


class SerperSearch(ServiceSearch):
    """Serper: ten results a page, for more on one page cost double."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"X-API-KEY": key}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:
        """Return one page of results."""
        is_news = query.kind == "news"
        data: JsonObject = {"q": words_with_sites(query), "num": size, "page": number + 1, **_place(query.language)}
        days = self.days(query)
        if days:
            since, until = (f"{day.month}/{day.day}/{day.year}" for day in days)
            data["tbs"] = f"cdr:1,cd_min:{since},cd_max:{until}"
        answer = await self.service.post_json("/news" if is_news else "/search", data=data)
        if not isinstance(value_at(answer, "searchParameters"), dict):
            raise self.wrong_form()
        name = "news" if is_news else "organic"
        # A search without results may leave the list out.
        results = self.items_at(answer, name) if value_at(answer, name) is not None else []
        return Page(
            [Found(item.get("link"), item.get("title"), item.get("snippet"), item.get("date")) for item in results],
            is_last=is_short(len(results), size),
        )


def _place(language: str) -> JsonObject:
    if language in _PLACES:
        interface, country = _PLACES[language]
        return {"hl": interface, "gl": country}
    return {"hl": language.lower()} if language else {}
