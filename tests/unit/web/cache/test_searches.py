"""Kept search results: what makes two searches the same one, and what is not kept."""

from datetime import date

import pytest

from deep_research.errors import SourceBusy, SourceError
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.web.cache.cache import Cache
from deep_research.web.cache.searches import CachedEngine
from deep_research.web.search.port import SearchEngine
from tests.support.cache_suite import cache_in

QUERY = SearchQuery(query="太陽能 solar", sites=("example.org",), since=date(2024, 1, 1))
HIT = Hit(address="https://example.org/太陽能", title="太陽能 \udcff", snippet="s", engine="counting", published="2024")


class Counting:
    """Counts its searches; answers with hits or raises."""

    timeout_s = 9.0

    def __init__(self, answer: list[Hit] | Exception, name: str = "counting") -> None:
        self.answer = answer
        self.name = name
        self.asked = 0

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
async def cache(tmp_path):
    cache = cache_in(tmp_path / "cache.db", max_bytes=1_000_000)
    yield cache
    await cache.close()


def cached(engine: SearchEngine, cache: Cache, identity: str = "https://a.example", **options) -> CachedEngine:
    return CachedEngine(engine, cache, identity=identity, **options)


async def test_same_search_is_made_once_for_all_runs(cache):
    first, second = Counting([HIT]), Counting([])
    assert await cached(first, cache).search(QUERY, limit=5) == [HIT]
    other_run = QUERY.model_copy(update={"goal": "to know", "priority": "high", "engines": ("arxiv",)})
    assert await cached(second, cache).search(other_run, limit=5) == [HIT]
    assert (first.asked, second.asked) == (1, 0)


async def test_engine_is_still_itself(cache):
    engine = cached(Counting([]), cache)
    assert (engine.name, engine.timeout_s) == ("counting", 9.0)


async def test_that_there_is_nothing_is_kept_too(cache):
    engine = Counting([])
    for _ in range(2):
        assert await cached(engine, cache).search(QUERY, limit=5) == []
    assert engine.asked == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"query": "solar"},
        {"kind": "news"},
        {"language": "zh-Hant"},
        {"since": None},
        {"until": date(2025, 1, 1)},
        {"sites": ()},
    ],
)
async def test_another_question_is_another_search(cache, changed):
    engine = Counting([HIT])
    await cached(engine, cache).search(QUERY, limit=5)
    await cached(engine, cache).search(QUERY.model_copy(update=changed), limit=5)
    assert engine.asked == 2


async def test_another_engine_address_or_limit_is_another_search(cache):
    await cached(Counting([HIT]), cache).search(QUERY, limit=5)
    for engine, identity, limit in (
        (Counting([]), "https://b.example", 5),
        (Counting([], "other"), "https://a.example", 5),
        (Counting([]), "https://a.example", 6),
    ):
        assert await cached(engine, cache, identity).search(QUERY, limit=limit) == []
        assert engine.asked == 1


@pytest.mark.parametrize("failure", [SourceBusy("busy"), SourceError("no JSON")])
async def test_failures_are_not_kept(cache, failure):
    engine = Counting(failure)
    with pytest.raises(SourceError):
        await cached(engine, cache).search(QUERY, limit=5)
    engine.answer = [HIT]
    assert await cached(engine, cache).search(QUERY, limit=5) == [HIT]


async def test_answers_grow_old(tmp_path):
    now = 0.0
    cache = cache_in(tmp_path / "cache.db", max_bytes=1_000_000, now=lambda: now)
    engine = Counting([HIT])
    for now, asked in ((0.0, 1), (59.0, 1), (60.0, 2)):  # noqa: B007 - the cache looks at it
        await cached(engine, cache, ttl_s=60).search(QUERY, limit=5)
        assert engine.asked == asked
    await cache.close()
