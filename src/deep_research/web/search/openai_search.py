"""OpenAI's web search, a tool of its Responses API, after developers.openai.com/api/docs/guides/tools-web-search."""

from deep_research.value import JsonObject, value_at
from deep_research.web.search.engine import OnePageSearch, PageQuery, SearchResult, results_in
from deep_research.web.search.model_task import task_of


class OpenAiWebSearch(OnePageSearch):
    """OpenAI: the pages that a model cites, then the others it has looked at; its own words are no snippets."""

    page_size = 20

    async def results(self, query: PageQuery) -> list[SearchResult]:
        tool: JsonObject = {"type": "web_search"}
        if query.sites:
            tool["filters"] = {"allowed_domains": list(query.sites)}
        response = await self.service.post_json(
            "/responses",
            data={
                "model": self.endpoint.model,
                "input": task_of(query),
                "tools": [tool],
                "tool_choice": "required",
                "include": ["web_search_call.action.sources"],
                "store": False,
            },
        )
        output = self.items_at(response, "output")
        # A model that ran out of tokens has still found what it cites.
        if value_at(response, "status") not in ("completed", "incomplete"):
            raise self.wrong_form()
        parts = [part for item in output if item.get("type") == "message" for part in self.items_at(item, "content")]
        cited = [
            note
            for part in parts
            if part.get("type") == "output_text"
            for note in self.items_at(part, "annotations")
            if note.get("type") == "url_citation"
        ]
        # Sources of other kinds are feeds without an address.
        opened = [
            SearchResult(source.get("url"), "")
            for item in output
            for source in self.items_at(item, "action", "sources", is_optional=True)
            if source.get("type") == "url"
        ]
        return [*results_in(cited, "url", "title"), *opened]
