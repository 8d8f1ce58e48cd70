"""Hugging Face's papers, its daily choice of them, and its blog, after huggingface.co/docs/hub/api.

Daily papers and blog are lists that cannot be searched: what shares enough words with the query is kept.
"""

from deep_research.value import Json, JsonObject, value_at
from deep_research.web.search.engine import (
    OnePageSearch,
    Page,
    PageQuery,
    SearchResult,
    ServiceSearch,
    is_timely,
    shared_terms,
)
from deep_research.web.search.feed import feed_root

_MAX_CHARS = 250
_MIN_SHARE = 1 / 3


class HuggingFacePapers(OnePageSearch):
    """All papers on the hub, found by their meaning; one page."""

    delivers = "abstract"
    page_size = 120

    async def results(self, query: PageQuery) -> list[SearchResult]:
        """Return the papers nearest to a query."""
        words = query.words[:_MAX_CHARS]
        data = await self.service.get_json("/api/papers/search", params={"q": words, "limit": query.size})
        return [paper for paper in map(_paper, self.items_at(data)) if is_timely(query, paper)]


class HuggingFaceDaily(ServiceSearch):
    """The papers of the last days, chosen by hand."""

    delivers = "abstract"
    page_size = 100

    async def page(self, query: PageQuery) -> Page:
        """Return those papers of one page of the list that a query is about."""
        data = await self.service.get_json("/api/daily_papers", params={"p": query.number, "limit": self.page_size})
        entries = self.items_at(data)
        papers = [(_paper(entry), _joined(value_at(entry, "paper", "ai_keywords"))) for entry in entries]
        fitting = _fitting(query, papers)
        return Page(fitting, is_last=len(entries) < self.page_size or not fitting)


class HuggingFaceBlog(OnePageSearch):
    """The blog, whose feed holds every post."""

    page_size = 100

    async def results(self, query: PageQuery) -> list[SearchResult]:
        """Return the posts that a query is about."""
        root = feed_root(await self.service.get_text("/blog/feed.xml"), "rss")
        channel = None if root is None else root.find("channel")
        if channel is None:
            raise self.wrong_form()
        posts = [
            (
                SearchResult(*(item.findtext(tag, "") for tag in ("link", "title", "description", "pubDate"))),
                " ".join(label.text or "" for label in item.findall("category")),
            )
            for item in channel.findall("item")
        ]
        return _fitting(query, posts)


def _paper(entry: JsonObject) -> SearchResult:
    number = value_at(entry, "paper", "id")
    address = f"https://huggingface.co/papers/{number}" if isinstance(number, str) and number else number
    return SearchResult(address, *(value_at(entry, "paper", name) for name in ("title", "summary", "publishedAt")))


def _fitting(query: PageQuery, candidates: list[tuple[SearchResult, str]]) -> list[SearchResult]:
    """Return what shares enough words with a query, the most first; each comes with words of its own."""
    shares = [(shared_terms(query, f"{found.title} {found.snippet} {words}"), found) for found, words in candidates]
    fitting = [pair for pair in shares if pair[0] >= _MIN_SHARE and is_timely(query, pair[1])]
    return [found for _, found in sorted(fitting, key=lambda pair: -pair[0])]


def _joined(words: Json) -> str:
    return " ".join(word for word in words if isinstance(word, str)) if isinstance(words, list) else ""
