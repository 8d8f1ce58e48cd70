"""Hugging Face's papers, its daily choice of them, and its blog, after huggingface.co/docs/hub/api.

Daily papers and blog are lists that cannot be searched: what shares enough words with the query is kept.
"""

from typing import Final

from deep_research.search.cleaning import iso_date
from deep_research.search.engine import Found, Page, ServiceSearch, value_at, words_of
from deep_research.search.feed import feed_root
from deep_research.search.terms import shared_terms
from deep_research.sources.dating import may_be_within
from deep_research.sources.hit import SearchQuery
from deep_research.value import Json, JsonObject

_MAX_CHARS: Final = 250
_MIN_SHARE: Final = 1 / 3


class HuggingFacePapers(ServiceSearch):
    """All papers on the hub, found by their meaning; one page."""

    page_size = 120
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the papers nearest to a query."""
        words = words_of(query)[:_MAX_CHARS]
        data = await self.service.get_json("/api/papers/search", params={"q": words, "limit": size})
        entries = self.items_at({"papers": data}, "papers")
        found = [_paper(entry) for entry in entries]
        return Page([paper for paper in found if _is_within(query, paper)], is_last=True)


class HuggingFaceDaily(ServiceSearch):
    """The papers of the last days, chosen by hand."""

    page_size = 100

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - few of many fit
        """Return those papers of one page of the list that a query is about."""
        data = await self.service.get_json("/api/daily_papers", params={"p": number, "limit": self.page_size})
        entries = self.items_at({"papers": data}, "papers")
        told = [(_paper(entry), value_at(entry, "paper", "ai_keywords")) for entry in entries]
        fitting = _fitting(query, [(paper, _joined(keywords)) for paper, keywords in told])
        return Page(fitting, is_last=len(entries) < self.page_size or not fitting)


class HuggingFaceBlog(ServiceSearch):
    """The blog, whose feed holds every post."""

    page_size = 100
    max_pages = 1

    async def page(self, query: SearchQuery, *, number: int, size: int) -> Page:  # noqa: ARG002 - there is only one
        """Return the posts that a query is about."""
        root = feed_root(await self.service.get_text("/blog/feed.xml"), "rss")
        channel = None if root is None else root.find("channel")
        if channel is None:
            raise self.wrong_form()
        told = []
        for item in channel.findall("item"):
            address, title, text, published = (
                item.findtext(tag) for tag in ("link", "title", "description", "pubDate")
            )
            labels = " ".join(label.text or "" for label in item.findall("category"))
            told.append((Found(address or "", title, text, published), labels))
        return Page(_fitting(query, told), is_last=True)


def _paper(entry: JsonObject) -> Found:
    number = value_at(entry, "paper", "id")
    address = f"https://huggingface.co/papers/{number}" if isinstance(number, str) and number else number
    title, abstract, published = (value_at(entry, "paper", name) for name in ("title", "summary", "publishedAt"))
    return Found(address, title, abstract, published)


def _fitting(query: SearchQuery, told: list[tuple[Found, str]]) -> list[Found]:
    """Return what shares enough words with a query, the most first; each comes with words of its own."""
    shares = [(shared_terms(query, f"{found.title} {found.snippet} {words}"), found) for found, words in told]
    kept = [pair for pair in shares if pair[0] >= _MIN_SHARE and _is_within(query, pair[1])]
    return [found for _, found in sorted(kept, key=lambda pair: -pair[0])]


def _is_within(query: SearchQuery, found: Found) -> bool:
    return may_be_within(iso_date(found.published), query.since, query.until)


def _joined(words: Json) -> str:
    return " ".join(word for word in words if isinstance(word, str)) if isinstance(words, list) else ""
