"""OpenRouter's web plugin, which searches for any model: openrouter.ai/docs/guides/features/plugins/web-search."""

from typing import Final

from deep_research.search.engine import Found, Page, ServiceSearch, value_at
from deep_research.search.model_task import task_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class OpenRouterWebSearch(ServiceSearch):
    """OpenRouter: what the plugin found, with its words where the engine behind it gives them; searches once a call."""

    page_size = 10
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the pages that the plugin found."""
        plugin: JsonObject = {"id": "web", "max_results": size}
        if query.sites:
            plugin["include_domains"] = list(query.sites)
        answer = await self.service.post_json(
            "/chat/completions",
            data={
                "model": self.endpoint.model,
                "messages": [{"role": "user", "content": task_of(query, size=size)}],
                "plugins": [plugin],
            },
        )
        choices = self.items_at(answer, "choices")
        # A provider that fails after the call was taken says so here, with status 200.
        if not choices or any("error" in choice or not isinstance(choice.get("message"), dict) for choice in choices):
            raise self.wrong_form()
        return Page([found for choice in choices for found in self._cited(choice)], is_last=True)

    def _cited(self, choice: JsonObject) -> list[Found]:
        if value_at(choice, "message", "annotations") is None:
            return []
        notes = self.items_at(choice, "message", "annotations")
        citations = [value_at(note, "url_citation") for note in notes if note.get("type") == "url_citation"]
        return [
            Found(value_at(citation, "url"), value_at(citation, "title"), value_at(citation, "content"))
            for citation in citations
        ]


ENGINE: Final = OpenRouterWebSearch
