"""Hacker News' stories through Algolia's search, after hn.algolia.com/api."""

from datetime import UTC, date, datetime, time

from deep_research.search.engine import Found, Page, ServiceSearch, value_at, words_of
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, JsonObject


class HackerNewsSearch(ServiceSearch):
    """Hacker News: what a story points to, or its own page where it is a question."""

    page_size = 50

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:
        """Return one page of stories."""
        limits = [
            f"created_at_i>={_second(query.since, time.min)}" if query.since else "",
            f"created_at_i<={_second(query.until, time.max)}" if query.until else "",
        ]
        data = await self.service.get_json(
            "/api/v1/search",
            params={
                "query": words_of(query),
                "tags": "story",
                "hitsPerPage": size,
                "page": number,
                "numericFilters": ",".join(limit for limit in limits if limit) or None,
            },
        )
        stories = self.items_at(data, "hits")
        found = [
            Found(_address(story), story.get("title"), story.get("story_text"), story.get("created_at"))
            for story in stories
        ]
        pages = value_at(data, "nbPages")
        return Page(found, is_last=not isinstance(pages, int) or number + 1 >= pages)


def _second(day: date, moment: time) -> int:
    return int(datetime.combine(day, moment, UTC).timestamp())


def _address(story: JsonObject) -> Json:
    number = story.get("objectID")
    if story.get("url") is None and isinstance(number, str) and number.isdigit():
        return f"https://news.ycombinator.com/item?id={number}"
    return story.get("url")
