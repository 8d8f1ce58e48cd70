"""The articles that given sites list, read by Zyte: `articleList` in docs.zyte.com/zyte-api/usage/reference.html."""

import asyncio
from base64 import b64encode
from itertools import chain, zip_longest

from deep_research.errors import CallFailed, SourceError
from deep_research.web.search.cleaning import plain_text
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, is_timely, results_in, shared_terms

_MAX_SITES = 5


class ZyteSearch(OnePageSearch):
    """Zyte does not search: it lists a site's articles, those that share words with the query first."""

    page_size = 50

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key, as the name of a user without password."""
        return {"Authorization": f"Basic {b64encode(f'{key}:'.encode()).decode()}"}

    async def results(self, query: PageQuery) -> list[SearchResult]:
        """Return the articles of all sites; a site that fails is left out, and raises where all do."""
        if not query.sites:
            raise SourceError(
                f"{self.endpoint.title} reads the article lists of given sites, and the query names none."
            )
        responses = await asyncio.gather(*(self._site(site) for site in query.sites[:_MAX_SITES]))
        lists = [response for response in responses if not isinstance(response, CallFailed)]
        if not lists:
            raise next(response for response in responses if isinstance(response, CallFailed))
        interleaved = chain.from_iterable(zip_longest(*lists))
        articles = [article for article in interleaved if article is not None and is_timely(query, article)]

        def shared(article: SearchResult) -> float:
            return shared_terms(query, f"{plain_text(article.title)} {plain_text(article.snippet)}")

        return sorted(articles, key=shared, reverse=True)

    async def _site(self, site: str) -> list[SearchResult] | CallFailed:
        try:
            response = await self.service.post_json(
                "/v1/extract", data={"url": f"https://{site}/", "articleList": True}
            )
            articles = self.items_at(response, "articleList", "articles")
        except CallFailed as error:
            return error
        return results_in(articles, "url", "headline", "articleBody", "datePublished")
