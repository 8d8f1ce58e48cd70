"""OpenRouter's web search, a tool for any model: openrouter.ai/docs/guides/features/server-tools/web-search."""

from deep_research.value import JsonObject
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, results_in
from deep_research.web.search.model_task import task_of

_TOOL = "openrouter:web_search"


class OpenRouterWebSearch(OnePageSearch):
    """OpenRouter: what the tool found, with its words where the engine behind it gives them."""

    page_size = 10

    async def results(self, query: PageQuery) -> list[SearchResult]:
        # The model may search several times; what is found in all is limited, because each result is paid for.
        parameters: JsonObject = {"max_results": query.size, "max_total_results": query.size}
        if query.sites:
            parameters["allowed_domains"] = list(query.sites)
        response = await self.service.post_json(
            "/chat/completions",
            data={
                "model": self.endpoint.model,
                "messages": [{"role": "user", "content": task_of(query)}],
                "tools": [{"type": _TOOL, "parameters": parameters}],
                # A model that is free to choose may answer without having searched.
                "tool_choice": {"type": _TOOL},
            },
        )
        choices = self.items_at(response, "choices")
        # A provider that fails after the call was taken says so here, with status 200.
        if not choices or any("error" in choice or not isinstance(choice.get("message"), dict) for choice in choices):
            raise self.wrong_form()
        citations = [
            note.get("url_citation")
            for choice in choices
            for note in self.items_at(choice, "message", "annotations", is_optional=True)
            if note.get("type") == "url_citation"
        ]
        return results_in(citations, "url", "title", "content")
