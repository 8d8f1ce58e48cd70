"""Gemini grounded in Google's search, after ai.google.dev/gemini-api/docs/google-search."""

from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, value_at
from deep_research.search.model_task import task_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class GeminiSearch(ServiceSearch):
    """Gemini: the pages its answer rests on, as addresses of Google's that lead on to them, titled by their site."""

    page_size = 20
    max_pages = 1

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
        return Page([found for candidate in candidates for found in self._pages_of(candidate)], is_last=True)

    def _pages_of(self, candidate: JsonObject) -> list[Found]:
        # A model that found nothing, or needed nothing, answers without this part.
        if value_at(candidate, "groundingMetadata", "groundingChunks") is None:
            return []
        chunks = self.items_at(candidate, "groundingMetadata", "groundingChunks")
        return [
            Found(value_at(chunk, "web", "uri"), value_at(chunk, "web", "title")) for chunk in chunks if "web" in chunk
        ]


ENGINE: Final = GeminiSearch
