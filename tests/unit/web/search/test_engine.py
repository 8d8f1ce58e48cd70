"""What all engines share: how pages are gathered, and the words and days of a query."""

import asyncio
from datetime import date

import pytest

from deep_research.errors import NetworkError, SourceBusy, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.search.engine import Endpoint, Page, PageQuery, SearchResult, ServiceSearch

QUERY = SearchQuery(query="q")


class Playing(ServiceSearch):
    """Gives the pages it was given; an exception is raised, and a number is waited for."""

    def __init__(self, *pages: Page | Exception | float, timeout_s: float = 5.0) -> None:
        super().__init__(
            Endpoint("playing", "Playing", "http://127.0.0.1:9", timeout_s, today=lambda: date(2025, 3, 1))
        )
        self.given = list(pages)
        self.asked: list[tuple[int, int]] = []

    async def page(self, query: PageQuery) -> Page:
        self.asked.append((query.number, query.size))
        page = self.given[query.number]
        if isinstance(page, Exception):
            raise page
        if isinstance(page, float):
            await asyncio.sleep(page)
            return Page([], is_last=True)
        return page


def page(*names: str, is_last: bool = False) -> Page:
    return Page([SearchResult(f"https://example.org/{name}", name) for name in names], is_last)


async def titles(engine: Playing, limit: int) -> list[str]:
    return [hit.title for hit in await engine.search(QUERY, limit=limit)]


async def test_pages_are_joined_and_all_have_one_size():
    engine = Playing(page("a", "b"), page("b", "c"), page("d"))
    assert await titles(engine, 4) == ["a", "b", "c", "d"]
    assert engine.asked == [(0, 4), (1, 4), (2, 4)]


async def test_no_page_is_asked_for_once_there_is_enough():
    engine = Playing(page("a", "b", "c"), page("d"))
    assert await titles(engine, 2) == ["a", "b"]
    assert engine.asked == [(0, 2)]


async def test_last_page_is_the_last():
    engine = Playing(page("a", is_last=True), page("b"))
    assert await titles(engine, 9) == ["a"]
    assert len(engine.asked) == 1


async def test_page_that_tells_nothing_new_is_the_last():
    engine = Playing(page("a"), page("a"), page("b"))
    assert await titles(engine, 9) == ["a"]
    assert len(engine.asked) == 2


async def test_first_page_that_fails_raises_and_a_later_one_ends_the_list():
    with pytest.raises(SourceBusy):
        await titles(Playing(SourceBusy("no")), 9)
    assert await titles(Playing(page("a"), SourceBusy("no")), 9) == ["a"]


async def test_time_limit_holds_for_all_pages_together():
    with pytest.raises(NetworkError, match=r"Playing did not answer within 0\.05 s"):
        await titles(Playing(60.0, timeout_s=0.05), 9)
    assert await titles(Playing(page("a"), 60.0, timeout_s=0.3), 9) == ["a"]


async def test_cancelled_search_stays_cancelled():
    task = asyncio.ensure_future(Playing(60.0).search(QUERY, limit=1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_results_without_any_address_are_of_another_form():
    with pytest.raises(SourceError, match="Playing answered in a form that is not its own"):
        await titles(Playing(Page([SearchResult(None, "a"), SearchResult(5, "b")], is_last=True)), 9)
    kept = Page([SearchResult(None, "a"), SearchResult("https://example.org/b", None)], is_last=True)
    assert await titles(Playing(kept), 9) == ["https://example.org/b"]


def test_key_is_in_no_representation():
    endpoint = Endpoint("playing", "Playing", "http://127.0.0.1:9", 5, key="secret-key")
    assert "secret-key" not in repr(endpoint)


def test_words_are_on_one_line_and_have_an_end():
    assert PageQuery(query=" 太陽能\n power ", size=10).words == "太陽能 power"
    assert len(PageQuery(query="word " * 500, size=10).words) <= 400


def test_sites_become_operators():
    assert PageQuery(query="q", size=10).words_with_sites == "q"
    assert PageQuery(query="q", sites=("a.org",), size=10).words_with_sites == "q site:a.org"
    assert PageQuery(query="q", sites=("a.org", "b.org"), size=10).words_with_sites == "q (site:a.org OR site:b.org)"


def test_days_have_both_ends_or_none():
    engine = Playing()
    assert engine.days(QUERY, "{} to {}") == ""
    assert engine.days(SearchQuery(query="q", since=date(2024, 1, 2)), "{} to {}") == "2024-01-02 to 2025-03-01"
    assert engine.days(SearchQuery(query="q", until=date(2024, 1, 2)), "{} to {}") == "1990-01-01 to 2024-01-02"
