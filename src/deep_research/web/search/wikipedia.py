"""Wikipedia in the language of the query, after www.mediawiki.org/wiki/API:Search.

The address may hold `{language}`; another wiki's address without it works as well.
"""

import re
from urllib.parse import quote

from deep_research.errors import SourceBusy
from deep_research.text.script import detect_language
from deep_research.value import JsonObject, value_at
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch

# CirrusSearch, the search behind it, refuses longer queries.
_MAX_CHARS = 300
_CODE = re.compile(r"[a-z]{2,3}")
# One wiki holds Chinese in all its scripts; a variant in the path asks for one of them.
_VARIANTS = {"zh-Hans": "zh-cn", "zh-Hant": "zh-tw"}
_BUSY = frozenset({"ratelimited", "maxlag", "readonly", "cirrussearch-too-busy-error", "search-error"})


class WikipediaSearch(ServiceSearch):
    """Wikipedia: articles, in the user's own script where it is Chinese."""

    page_size = 50

    async def page(self, query: PageQuery) -> Page:
        language = query.language or detect_language(query.query)
        home = self.endpoint.address.rstrip("/").replace("{language}", _wiki_of(language))
        variant = _VARIANTS.get(language, "wiki")
        data = await self.service.at(home).get_json(
            "/w/api.php",
            params={
                "action": "query",
                "list": "search",
                "srsearch": query.words[:_MAX_CHARS],
                "srlimit": query.size,
                "sroffset": query.offset,
                "srprop": "snippet",
                "format": "json",
                "formatversion": 2,
                "variant": None if variant == "wiki" else variant,
            },
        )
        if value_at(data, "error", "code") in _BUSY:
            raise SourceBusy(f"{self.endpoint.title} is busy.")
        articles = self.items_at(data, "query", "search")
        found = [_found(f"{home}/{variant}", item) for item in articles]
        return Page(found, is_last=value_at(data, "continue", "sroffset") is None)


def _wiki_of(language: str) -> str:
    code = language.partition("-")[0].lower()
    # `other` is what a text's language is called where we know none.
    return code if _CODE.fullmatch(code) else "en"


def _found(folder: str, item: JsonObject) -> SearchResult:
    title = item.get("title")
    address = title and f"{folder}/{quote(str(title).replace(' ', '_'), safe='/:(),')}"
    return SearchResult(address if isinstance(title, str) else None, title, item.get("snippet"))
