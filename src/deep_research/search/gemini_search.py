"""Gemini grounded in Google's search, after ai.google.dev/gemini-api/docs/google-search."""

import asyncio
import re
from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, value_at
from deep_research.search.model_task import task_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, JsonObject

# Weather, time and prices come from a result page of Google's own, which says something else tomorrow.
_RESULT_PAGE: Final = re.compile(r"https?://(?:www\.)?google\.[a-z.]{2,6}/(?:search|maps)\b", re.IGNORECASE)


class GeminiSearch(ServiceSearch):
    """Gemini: the pages its answer rests on, titled by their site."""

    page_size = 20
    max_pages = 1
    # It tells addresses of Google's that lead on to the pages, and end after some days.
    redirects = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-goog-api-key": key}

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the pages that the model found."""
        days = self.days(query)
        tool: JsonObject = {}
        if days:
            tool["timeRangeFilter"] = {"startTime": f"{days[0]}T00:00:00Z", "endTime": f"{days[1]}T23:59:59Z"}
        task = task_of(query, size=size, names_sites=True)
        answer = await self.service.post_json(
            f"/v1beta/models/{self.endpoint.model}:generateContent",
            data={"contents": [{"role": "user", "parts": [{"text": task}]}], "tools": [{"google_search": tool}]},
        )
        candidates = self.items_at(answer, "candidates")
        if not candidates:
            raise self.wrong_form()
        told = [found for candidate in candidates for found in self._pages_of(candidate)]
        addresses = await asyncio.gather(*(self._target(found.address) for found in told))
        found = [one._replace(address=address) for one, address in zip(told, addresses, strict=True)]
        return Page([one for one in found if not _is_result_page(one.address)], is_last=True)

    async def _target(self, address: Json) -> Json:
        """Return the page that an address of Google's leads to, or the address itself where it does not say."""
        if not isinstance(address, str) or not address.startswith(self.redirects):
            return address
        return await self.service.redirect_at(address) or address

    def _pages_of(self, candidate: JsonObject) -> list[Found]:
        # A model that found nothing, or needed nothing, answers without this part.
        if value_at(candidate, "groundingMetadata", "groundingChunks") is None:
            return []
        chunks = self.items_at(candidate, "groundingMetadata", "groundingChunks")
        return [
            Found(value_at(chunk, "web", "uri"), value_at(chunk, "web", "title")) for chunk in chunks if "web" in chunk
        ]


def _is_result_page(address: Json) -> bool:
    return isinstance(address, str) and _RESULT_PAGE.match(address) is not None
