"""The articles that given sites list, read by Zyte: `articleList` in docs.zyte.com/zyte-api/usage/reference.html."""

import asyncio
from base64 import b64encode
from itertools import chain, zip_longest
from typing import Final

from deep_research.errors import CallFailed, SourceError
from deep_research.search.cleaning import iso_date, plain_text
from deep_research.search.engine import Found, Page, ServiceSearch
from deep_research.search.terms import shared_terms
from deep_research.sources.dating import may_be_within
from deep_research.sources.hit import SearchQuery

_MAX_SITES: Final = 5


class ZyteSearch(ServiceSearch):
    """Zyte does not search: it lists a site's articles, those that share words with the query first."""

    page_size = 50
    max_pages = 1

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key, as the name of a user without password."""
        return {"Authorization": f"Basic {b64encode(f'{key}:'.encode()).decode()}"}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the articles of all sites; a site that fails is left out, and raises where all do."""
        if not query.sites:
            raise SourceError(
                f"{self.endpoint.title} reads the article lists of given sites, and the query names none."
            )
        answers = await asyncio.gather(*(self._site(site) for site in query.sites[:_MAX_SITES]))
        lists = [answer for answer in answers if not isinstance(answer, CallFailed)]
        if not lists:
            raise next(answer for answer in answers if isinstance(answer, CallFailed))
        turns = chain.from_iterable(zip_longest(*lists))
        articles = [article for article in turns if article is not None and _is_timely(article, query)]
        return Page(sorted(articles, key=lambda article: -_shared(article, query)), is_last=True)

    async def _site(self, site: str) -> list[Found] | CallFailed:
        try:
            answer = await self.service.post_json("/v1/extract", data={"url": f"https://{site}/", "articleList": True})
            articles = self.items_at(answer, "articleList", "articles")
        except CallFailed as error:
            return error
        return [
            Found(item.get("url"), item.get("headline"), item.get("articleBody"), item.get("datePublished"))
            for item in articles
        ]


def _is_timely(article: Found, query: SearchQuery) -> bool:
    return may_be_within(iso_date(article.published), query.since, query.until)


def _shared(article: Found, query: SearchQuery) -> float:
    return shared_terms(query, f"{plain_text(article.title)} {plain_text(article.snippet)}")
