"""OpenAI's web search, a tool of its Responses API, after developers.openai.com/api/docs/guides/tools-web-search."""

from deep_research.search.engine import Found, Page, ServiceSearch, value_at
from deep_research.search.model_task import task_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import JsonObject


class OpenAiWebSearch(ServiceSearch):
    """OpenAI: the pages that a model cites, then the others it has looked at; its own words are no snippets."""

    page_size = 20
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the pages that the model found."""
        tool: JsonObject = {"type": "web_search"}
        if query.sites:
            tool["filters"] = {"allowed_domains": list(query.sites)}
        answer = await self.service.post_json(
            "/responses",
            data={
                "model": self.endpoint.model,
                "input": task_of(query, size=size),
                "tools": [tool],
                "tool_choice": "required",
                "include": ["web_search_call.action.sources"],
                "store": False,
            },
        )
        output = self.items_at(answer, "output")
        # A model that ran out of room has still found what it cites.
        if value_at(answer, "status") not in ("completed", "incomplete"):
            raise self.wrong_form()
        return Page([*self._cited(output), *self._looked_at(output)], is_last=True)

    def _cited(self, output: list[JsonObject]) -> list[Found]:
        parts = [part for item in output if item.get("type") == "message" for part in self.items_at(item, "content")]
        texts = [part for part in parts if part.get("type") == "output_text"]
        return [
            Found(note.get("url"), note.get("title"))
            for text in texts
            for note in self.items_at(text, "annotations")
            if note.get("type") == "url_citation"
        ]

    def _looked_at(self, output: list[JsonObject]) -> list[Found]:
        calls = [item for item in output if value_at(item, "action", "sources") is not None]
        sources = [source for call in calls for source in self.items_at(call, "action", "sources")]
        # Sources of other kinds are feeds without an address.
        return [Found(source.get("url"), "") for source in sources if source.get("type") == "url"]
