"""Gemini grounded in Google's search, after ai.google.dev/gemini-api/docs/google-search."""

import asyncio
import re

from deep_research.value import JsonObject
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, results_in
from deep_research.web.search.model_task import task_of

# Weather, time and prices come from a result page of Google's own, which says something else tomorrow.
_RESULT_PAGE = re.compile(r"https?://(?:www\.)?google\.[a-z.]{2,6}/(?:search|maps)\b", re.IGNORECASE)


class GeminiSearch(OnePageSearch):
    """Gemini: the pages its answer rests on, titled by their site."""

    page_size = 20
    key_header = "x-goog-api-key"
    # Its results are addresses of Google's that redirect to the pages, and stop working after some days.
    redirects = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"

    async def results(self, query: PageQuery) -> list[SearchResult]:
        start, _, end = self.days(query, "{}T00:00:00Z {}T23:59:59Z").partition(" ")
        tool: JsonObject = {"timeRangeFilter": {"startTime": start, "endTime": end}} if start else {}
        task = task_of(query, names_sites=True)
        response = await self.service.post_json(
            f"/v1beta/models/{self.endpoint.model}:generateContent",
            data={"contents": [{"role": "user", "parts": [{"text": task}]}], "tools": [{"google_search": tool}]},
        )
        candidates = self.items_at(response, "candidates")
        if not candidates:
            raise self.wrong_form()
        chunks = [
            chunk
            for candidate in candidates
            # A model that found nothing, or needed nothing, answers without this part.
            for chunk in self.items_at(candidate, "groundingMetadata", "groundingChunks", is_optional=True)
        ]
        cited = results_in([chunk["web"] for chunk in chunks if "web" in chunk], "uri", "title")
        found = await asyncio.gather(*map(self._followed, cited))
        return [one for one in found if not _RESULT_PAGE.match(str(one.address))]

    async def _followed(self, found: SearchResult) -> SearchResult:
        """Return a result with the page that an address of Google's leads to, or as it is where it does not say."""
        address = found.address
        if not isinstance(address, str) or not address.startswith(self.redirects):
            return found
        return found._replace(address=await self.service.redirect_at(address) or address)
