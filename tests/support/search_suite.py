"""What every adapter of the search port must pass: subclass `SearchConformance` and give it the service's `Voice`.

Needs pytest with pytest-asyncio; nothing outside these suites does.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date
from typing import ClassVar, Final

import pytest

from deep_research.errors import CallFailed, NetworkError, SourceBusy, SourceError, SourceRefused
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.value import Json
from deep_research.web.net.headers import PROJECT_ADDRESS
from deep_research.web.search.engine import PagedSearch, connect
from deep_research.web.search.registry import ENGINES
from tests.support.search_formats import Result
from tests.support.search_server import Answer, Asked, Script, SearchServer

KEY: Final = "key-very-secret-0123456789"
QUERY: Final = SearchQuery(query="solar power in Kenya")
CHINESE: Final = SearchQuery(query="台灣 太陽能 2024 年裝機容量")
FILTERED: Final = SearchQuery(
    query="solar power",
    language="zh-Hans",
    since=date(2024, 1, 15),
    until=date(2024, 6, 30),
    sites=("example.org", "example.net"),
)
ERROR_PAGE: Final = (
    "<!doctype html><html><head><title>Oops</title></head><body><h1>Something went wrong</h1></body></html>"
)
_TIMEOUT_S: Final = 60.0


class Voice(ABC):
    """How a service is asked and how it answers, written by hand after its documentation."""

    # The engine's name in the registry, and where its address begins on its host.
    engine: ClassVar[str]
    base: ClassVar[str] = ""
    # What the service tells about a result, and how many calls a page takes, beside those made once.
    tells_snippet: ClassVar[bool] = True
    tells_published: ClassVar[bool] = True
    calls_per_page: ClassVar[int] = 1
    calls_before: ClassVar[int] = 0
    # Filters that every query of the suite needs, such as the sites of an engine that only reads given ones.
    needs_sites: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def reply(self, asked: Asked, results: Sequence[Result]) -> Answer:
        """Return those of the results that a request asks for, in the service's format."""

    @abstractmethod
    def check_request(self, asked: Sequence[Asked], query: SearchQuery) -> None:
        """Assert path, method, headers, key and parameters of the calls for one page of three."""

    @abstractmethod
    def check_filters(self, asked: Sequence[Asked]) -> None:
        """Assert what became of the filters of `FILTERED`."""

    def wrong_answers(self) -> list[Answer]:
        """Return answers with status 200 that the service never gives, in the form of JSON."""
        shapes: tuple[Json, ...] = (
            None,
            42,
            [1, "two"],
            {},
            {"error": {"message": "no"}},
            {"results": 5},
            {"results": ["a", "b"]},
        )
        return [Answer(b'"results"'), *(Answer(shape) for shape in shapes)]

    def torn(self, answer: Answer) -> Answer:
        """Return an answer that breaks off in the middle of its format."""
        return Answer(answer.content[: len(answer.content) // 2])


def some_results(count: int) -> list[Result]:
    """Return as many different results."""
    return [Result(f"https://example.org/page/{number}", f"Page {number}") for number in range(count)]


class SearchConformance:
    """The rules of the port, over a server that speaks with the adapter's voice."""

    voice: ClassVar[Voice]

    def engine(self, address: str, *, timeout_s: float = _TIMEOUT_S) -> PagedSearch:
        spec = ENGINES[self.voice.engine]
        engine = connect(
            spec, address=address + self.voice.base, key=KEY if spec.key_setting else "", timeout_s=timeout_s
        )
        assert isinstance(engine, PagedSearch)
        return engine

    async def ask(
        self, script: Script | Answer, query: SearchQuery = QUERY, *, limit: int = 3, timeout_s: float = _TIMEOUT_S
    ) -> tuple[list[Hit], list[Asked]]:
        if self.voice.needs_sites and not query.sites:
            query = query.model_copy(update={"sites": self.voice.needs_sites})
        with SearchServer(script) as server:
            hits = await self.engine(server.address, timeout_s=timeout_s).search(query, limit=limit)
        return hits, server.requests

    async def failure(self, script: Script | Answer, *, timeout_s: float = _TIMEOUT_S) -> CallFailed:
        with pytest.raises(CallFailed) as caught:
            await self.ask(script, timeout_s=timeout_s)
        error = caught.value
        assert ENGINES[self.voice.engine].title in str(error)
        assert KEY not in f"{error} {error!r} {error.__cause__!r}"
        assert QUERY.query not in str(error)
        return error

    def telling(self, *results: Result) -> Script:
        return lambda asked: self.voice.reply(asked, results)

    @pytest.mark.asyncio
    async def test_request_is_what_the_service_documents(self) -> None:
        _, asked = await self.ask(self.telling(*some_results(3)))
        agent = asked[0].headers["user-agent"]
        assert agent.startswith("deep-research/")
        assert PROJECT_ADDRESS in agent
        self.voice.check_request(asked, QUERY)

    @pytest.mark.asyncio
    async def test_results_become_hits_in_order(self) -> None:
        given = [
            Result("https://example.org/a?x=1&y=2", "First page", "What it says.", "2024-05-21"),
            Result("http://example.net/b", "Second page", "What that says.", "2023-01-02"),
        ]
        hits, _ = await self.ask(self.telling(*given))
        assert [(hit.address, hit.title) for hit in hits] == [(result.address, result.title) for result in given]
        assert [hit.engine for hit in hits] == [self.voice.engine] * 2
        if self.voice.tells_snippet:
            assert [hit.snippet for hit in hits] == [result.snippet for result in given]
        if self.voice.tells_published:
            assert [hit.published for hit in hits] == [result.published for result in given]

    @pytest.mark.asyncio
    async def test_pages_are_asked_for_until_there_is_enough(self) -> None:
        with SearchServer(self.telling(*some_results(400))) as server:
            engine = self.engine(server.address)
            pages = min(engine.max_pages, 2)
            limit = engine.page_size * pages - 1
            query = QUERY.model_copy(update={"sites": self.voice.needs_sites})
            hits = await engine.search(query, limit=limit)
        assert [hit.title for hit in hits] == [f"Page {number}" for number in range(limit)]
        assert len(server.requests) == self.voice.calls_before + pages * self.voice.calls_per_page

    @pytest.mark.asyncio
    async def test_pages_have_an_end(self) -> None:
        hits, asked = await self.ask(self.telling(*some_results(400)), limit=1_000)
        assert hits
        assert len(asked) <= self.voice.calls_before + 3 * self.voice.calls_per_page

    @pytest.mark.asyncio
    async def test_pages_end_where_the_results_end(self) -> None:
        with SearchServer(lambda _: Answer()) as server:
            page_size = self.engine(server.address).page_size
        hits, _ = await self.ask(self.telling(*some_results(page_size + 1)), limit=page_size * 3)
        assert len({hit.address for hit in hits}) == len(hits) <= page_size + 1

    @pytest.mark.asyncio
    async def test_failing_later_page_keeps_what_was_found(self) -> None:
        served = 0

        def script(asked: Asked) -> Answer:
            nonlocal served
            served += 1
            is_first = served <= self.voice.calls_before + self.voice.calls_per_page
            return self.voice.reply(asked, some_results(400)) if is_first else Answer(ERROR_PAGE, status=503)

        hits, asked = await self.ask(script, limit=1_000)
        assert hits
        assert [hit.title for hit in hits] == [f"Page {number}" for number in range(len(hits))]
        assert len(asked) <= self.voice.calls_before + 2 * self.voice.calls_per_page

    @pytest.mark.asyncio
    async def test_nothing_found_is_an_empty_list(self) -> None:
        hits, asked = await self.ask(self.telling())
        assert hits == []
        assert len(asked) <= self.voice.calls_before + self.voice.calls_per_page

    @pytest.mark.asyncio
    @pytest.mark.parametrize("limit", [1, 3])
    async def test_limit_is_kept(self, limit: int) -> None:
        hits, _ = await self.ask(self.telling(*some_results(9)), limit=limit)
        assert [hit.title for hit in hits] == [f"Page {number}" for number in range(limit)]

    @pytest.mark.asyncio
    async def test_filters_reach_the_service(self) -> None:
        hits, asked = await self.ask(self.telling(*some_results(3)), FILTERED)
        assert hits
        self.voice.check_filters(asked)

    @pytest.mark.asyncio
    async def test_chinese_goes_both_ways(self) -> None:
        given = Result(
            "https://example.org/太陽能?q=裝機", "台灣太陽能 — 「裝機容量」", "截至 2024 年，太阳能装机容量为 14 GW。"
        )
        hits, asked = await self.ask(self.telling(given), CHINESE)
        assert [hit.title for hit in hits] == [given.title]
        assert hits[0].address == given.address
        if self.voice.tells_snippet:
            assert hits[0].snippet == given.snippet
        self.voice.check_request(asked, CHINESE)

    @pytest.mark.asyncio
    async def test_only_whole_web_addresses_are_kept_and_each_once(self) -> None:
        addresses = (
            "javascript:alert(1)",
            "ftp://example.org/file",
            "/wiki/Relative",
            "example.org/no-scheme",
            "file:///etc/passwd",
            "data:text/html,hello",
            "http://",
            "https://example.org:port/",
            "",
            "https://example.org/kept",
            "https://EXAMPLE.org:443/kept?utm_source=engine#part",
        )
        hits, _ = await self.ask(self.telling(*(Result(address, "A page") for address in addresses)), limit=20)
        assert [hit.address for hit in hits] == ["https://example.org/kept"]

    @pytest.mark.asyncio
    async def test_titles_and_snippets_are_plain_text(self) -> None:
        given = Result(
            "https://example.org/a", "R&amp;D at <b>Bell</b> Labs", "Sales <strong>rose</strong> by&nbsp;5 &lt; 6 %."
        )
        hits, _ = await self.ask(self.telling(given))
        assert hits[0].title == "R&D at Bell Labs"
        if self.voice.tells_snippet:
            assert hits[0].snippet == "Sales rose by 5 < 6 %."

    @pytest.mark.asyncio
    @pytest.mark.parametrize("status", [400, 401, 403, 404])
    async def test_refusal_is_no_empty_list_and_nothing_to_try_again(self, status: int) -> None:
        error = await self.failure(Answer({"error": "invalid key"}, status=status))
        assert isinstance(error, SourceError)
        assert not isinstance(error, SourceBusy)
        if status == 401 and (variable := ENGINES[self.voice.engine].key_variable):
            assert isinstance(error, SourceRefused)
            assert variable in str(error)

    @pytest.mark.asyncio
    async def test_limited_rate_says_how_long_to_wait(self) -> None:
        error = await self.failure(Answer({"error": "slow down"}, status=429, headers={"Retry-After": "7"}))
        assert isinstance(error, SourceBusy)
        assert error.retry_after_s == 7

    @pytest.mark.asyncio
    @pytest.mark.parametrize("status", [500, 502, 503])
    async def test_broken_service_may_be_tried_again(self, status: int) -> None:
        error = await self.failure(Answer(ERROR_PAGE, status=status))
        assert isinstance(error, SourceBusy)
        assert error.retry_after_s is None

    @pytest.mark.asyncio
    async def test_hanging_service_is_given_up_after_its_time_limit(self) -> None:
        # It never answers: without the limit, nothing would be raised.
        assert isinstance(await self.failure(Answer(hangs=True), timeout_s=0.1), NetworkError)

    @pytest.mark.asyncio
    async def test_service_that_cannot_be_reached_is_a_network_error(self) -> None:
        with SearchServer(Answer()) as server:
            address = server.address
        with pytest.raises(NetworkError, match=ENGINES[self.voice.engine].title):
            await self.engine(address).search(QUERY.model_copy(update={"sites": self.voice.needs_sites}), limit=3)

    @pytest.mark.asyncio
    async def test_answer_cut_off_is_a_network_error(self) -> None:
        def script(asked: Asked) -> Answer:
            answer = self.voice.reply(asked, some_results(3))
            return Answer(answer.content, cut_after=len(answer.content) // 2)

        assert isinstance(await self.failure(script), NetworkError)

    @pytest.mark.asyncio
    async def test_torn_answer_is_an_error(self) -> None:
        error = await self.failure(lambda asked: self.voice.torn(self.voice.reply(asked, some_results(3))))
        assert isinstance(error, SourceError)

    @pytest.mark.asyncio
    async def test_error_page_with_status_200_is_an_error(self) -> None:
        for body in (ERROR_PAGE, ""):
            assert isinstance(await self.failure(Answer(body)), SourceError)

    @pytest.mark.asyncio
    async def test_answer_of_another_shape_is_an_error(self) -> None:
        for answer in self.voice.wrong_answers():
            assert isinstance(await self.failure(answer), SourceError), answer
