"""Hacker News' stories through Algolia's search, after hn.algolia.com/api."""

from datetime import UTC, datetime, time

from deep_research.value import Json, JsonObject, value_at
from deep_research.web.search.engine import Page, PageQuery, SearchResult, ServiceSearch


class HackerNewsSearch(ServiceSearch):
    """Hacker News: what a story points to, or its own page where it is a question."""

    page_size = 50

    async def page(self, query: PageQuery) -> Page:
        filters = [
            f"created_at_i{sign}{int(datetime.combine(day, moment, UTC).timestamp())}"
            for sign, day, moment in ((">=", query.since, time.min), ("<=", query.until, time.max))
            if day
        ]
        data = await self.service.get_json(
            "/api/v1/search",
            params={
                "query": query.words,
                "tags": "story",
                "hitsPerPage": query.size,
                "page": query.number,
                "numericFilters": ",".join(filters) or None,
            },
        )
        found = [
            SearchResult(_address(story), story.get("title"), story.get("story_text"), story.get("created_at"))
            for story in self.items_at(data, "hits")
        ]
        pages = value_at(data, "nbPages")
        return Page(found, is_last=not isinstance(pages, int) or query.number + 1 >= pages)


def _address(story: JsonObject) -> Json:
    number = story.get("objectID")
    if story.get("url") is None and isinstance(number, str) and number.isdigit():
        return f"https://news.ycombinator.com/item?id={number}"
    return story.get("url")
