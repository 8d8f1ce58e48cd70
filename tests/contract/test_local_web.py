"""The local web that tests and benchmarks run against, and the whole reading path over it."""

import asyncio
import sys

import pytest

from deep_research.documents.readers import read
from deep_research.errors import NetworkError, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.fetch.web import WebFetcher
from deep_research.web.net.client import GuardedClient
from deep_research.web.net.guard import Guard
from deep_research.web.search.engine import connect
from deep_research.web.search.registry import ENGINES
from tests.support.articles import Article, articles
from tests.support.search_formats import FORMATS
from tests.support.search_server import Answer, write_answer
from tests.support.web_faults import hang
from tests.support.web_server import LocalWeb, Speak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Other systems have one loopback address.")


def engine_of(web: LocalWeb, name: str, *, timeout_s: float = 60.0):
    key = "key" if ENGINES[name].key_setting else ""
    return connect(ENGINES[name], address=web.engine_address(name), key=key, timeout_s=timeout_s)


def fetcher_of(client: GuardedClient, *, robots: bool = False) -> WebFetcher:
    return WebFetcher(client, honours_robots=robots)


async def test_every_engine_finds_pages_in_its_own_format():
    with LocalWeb(articles(9, language="zh-Hant"), hits_a_search=4) as web:
        for name in FORMATS:
            hits = await engine_of(web, name).search(SearchQuery(query="渡輪 航線"), limit=4)
            found = web.results(name, "渡輪 航線")
            assert [(hit.address, hit.title, hit.published) for hit in hits] == [
                (result.address, result.title, result.published) for result in found
            ]
            assert all(hit.address in web.addresses for hit in hits)
            assert len(web.requests(name)) == 1


async def test_a_page_comes_with_what_it_says_of_itself_and_stands_in_the_log():
    (article,) = articles(1, language="zh-Hans")
    with LocalWeb([article]) as web:
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            page = await fetcher_of(client).fetch(web.addresses[0])
            with pytest.raises(SourceError, match="not found"):
                await fetcher_of(client).fetch(f"http://127.0.0.2:{web.port}/elsewhere")
    assert 7_500 < len(page.raw) < 8_500
    reading = read(page.raw, name=page.address, media_type=page.media_type)
    assert (reading.title, reading.author, reading.published) == (article.title, article.author, article.published)
    assert (reading.language, reading.canonical) == ("zh-Hans", page.address)
    first, second = web.log
    assert (first.place, first.host, first.asked.path) == ("pages", "127.0.0.2", article.path)
    assert first.asked.headers["host"] == f"127.0.0.2:{web.port}"
    assert first.ended_s is not None
    assert first.began_s <= first.ended_s <= second.began_s


async def test_robots_and_faults_are_those_of_a_host():
    with LocalWeb(articles(3)) as web:
        web.robots["127.0.0.2"] = "User-agent: *\nDisallow: /\n"
        web.faults["127.0.0.3"] = Answer("No.", status=403)
        web.faults["tavily"] = hang
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            fetcher = fetcher_of(client, robots=True)
            tasks = (fetcher.fetch(address) for address in web.addresses)
            closed, denied, fine = await asyncio.gather(*tasks, return_exceptions=True)
        assert "robots.txt" in str(closed)
        assert "denies access" in str(denied)
        assert not isinstance(fine, BaseException)
        with pytest.raises(NetworkError):
            await engine_of(web, "tavily", timeout_s=0.05).search(SearchQuery(query="ferries"), limit=1)
        assert await engine_of(web, "serper").search(SearchQuery(query="ferries"), limit=1)


async def test_fifty_pages_at_once_yield_fifty_texts():
    pages = [*articles(20), *articles(15, language="zh-Hans", first=20), *articles(15, language="zh-Hant", first=35)]
    all_are_here = asyncio.Event()

    def waits_for_all(article: Article) -> Speak:
        async def speak(writer: asyncio.StreamWriter) -> None:
            if web.peak() == len(pages):
                all_are_here.set()
            await all_are_here.wait()
            html = article.html(f"http://{article.host}:{web.port}")
            await write_answer(Answer(html, headers={"Content-Type": "text/html"}), writer)

        return speak

    with LocalWeb(pages) as web:
        web.faults |= {article.host: waits_for_all(article) for article in pages}
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            fetcher = fetcher_of(client)

            async def read_page(address: str) -> str:
                page = await fetcher.fetch(address)
                reading = await asyncio.to_thread(read, page.raw, name=page.address, media_type=page.media_type)
                return reading.text

            texts = await asyncio.gather(*map(read_page, web.addresses))
    assert web.peak() == len(web.log) == 50
    for article, text in zip(pages, texts, strict=True):
        assert all(paragraph in text for paragraph in article.paragraphs)
        assert not any(paragraph in text for paragraph in ("Newsletter", "Imprint"))
