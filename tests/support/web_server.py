"""`LocalWeb`: a small web on this machine, search services and pages, that takes its time and fails as told.

Each article has a loopback address of its own as its host, so that only Linux can serve more than one.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from deep_research.value import digest
from tests.support.articles import Article
from tests.support.loopback import LoopbackServer, Request
from tests.support.search_formats import FORMATS, Result
from tests.support.search_server import Answer, Asked, asked_of, write_answer

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]
PAGES: Final = "pages"
_ENGINE_HOST: Final = "127.0.0.1"
_HTML: Final = {"Content-Type": "text/html; charset=utf-8"}
_NOT_FOUND: Final = Answer("<title>Not found</title><p>There is no such page.</p>", status=404)
_SNIPPET_CHARS: Final = 160


@dataclass
class Exchange:
    """One request and its time by the clock of `time.monotonic`; `place` is an engine's name or `PAGES`."""

    place: str
    host: str
    asked: Asked
    began_s: float
    ended_s: float | None = None


class LocalWeb(LoopbackServer):
    """Serves these articles, and the engines of `search_formats` that find them; set its times and faults at will.

    A fault stands under an engine's name, a host or a host with a path, and takes the place of the answer; `robots`
    holds the robots.txt of a host that has one.
    """

    def __init__(
        self, articles: Sequence[Article] = (), *, search_s: float = 0.0, page_s: float = 0.0, hits_a_search: int = 5
    ) -> None:
        super().__init__(hosts=tuple(dict.fromkeys((_ENGINE_HOST, *(article.host for article in articles)))))
        self.articles = tuple(articles)
        self.search_s = search_s
        self.page_s = page_s
        self.hits_a_search = hits_a_search
        self.faults: dict[str, Answer | Speak] = {}
        self.robots: dict[str, str] = {}
        self.log: list[Exchange] = []
        self._in_flight: Counter[str] = Counter()
        self._peaks: Counter[str] = Counter()
        self._pages = {(article.host, article.path): article for article in articles}

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the hosts of the articles, as the guard wants them named."""
        return tuple(dict.fromkeys(f"{article.host}:{self.port}" for article in self.articles))

    @property
    def addresses(self) -> list[str]:
        """Return the address of each article."""
        return [self.address_of(article) for article in self.articles]

    def address_of(self, article: Article) -> str:
        """Return where an article stands."""
        return f"http://{article.host}:{self.port}{article.path}"

    def engine_address(self, engine: str) -> str:
        """Return the address to set for a search engine."""
        assert engine in FORMATS, engine
        return f"http://{_ENGINE_HOST}:{self.port}/{engine}"

    def peak(self, place: str = PAGES) -> int:
        """Return how many requests were under way at once, at most."""
        return self._peaks[place]

    def requests(self, place: str = PAGES) -> list[Exchange]:
        """Return the requests to an engine, or those for pages."""
        return [exchange for exchange in self.log if exchange.place == place]

    def results(self, engine: str, words: str) -> list[Result]:
        """Return what an engine finds: the same for the same words always, and another choice than other engines'."""
        ranked = sorted(self.articles, key=lambda article: digest(engine, words, article.host, article.path))
        return [
            Result(self.address_of(article), article.title, article.paragraphs[0][:_SNIPPET_CHARS], article.published)
            for article in ranked[: self.hits_a_search]
        ]

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer in the role that address and host call for."""
        asked = asked_of(request)
        host = str(writer.get_extra_info("sockname")[0])
        engine = asked.path.split("/")[1] if host == _ENGINE_HOST else ""
        exchange = Exchange(engine if engine in FORMATS else PAGES, host, asked, time.monotonic())
        self.log.append(exchange)
        self._in_flight[exchange.place] += 1
        self._peaks[exchange.place] = max(self._peaks[exchange.place], self._in_flight[exchange.place])
        try:
            await self._speak(exchange, writer)
            await writer.drain()
        finally:
            self._in_flight[exchange.place] -= 1
            exchange.ended_s = time.monotonic()

    async def _speak(self, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        host, asked = exchange.host, exchange.asked
        fault = next(
            (self.faults[name] for name in (exchange.place, host + asked.path, host) if name in self.faults), None
        )
        if fault is None:
            await asyncio.sleep(self.page_s if exchange.place == PAGES else self.search_s)
            fault = self._page(host, asked.path) if exchange.place == PAGES else self._found(exchange.place, asked)
        if isinstance(fault, Answer):
            await write_answer(fault, writer)
        else:
            await fault(writer)

    def _page(self, host: str, path: str) -> Answer:
        if path == "/robots.txt" and host in self.robots:
            return Answer(self.robots[host].encode(), headers={"Content-Type": "text/plain"})
        article = self._pages.get((host, path))
        return Answer(article.html(f"http://{host}:{self.port}"), headers=_HTML) if article else _NOT_FOUND

    def _found(self, engine: str, asked: Asked) -> Answer:
        words = asked.params.get("q") or asked.json.get("q") or asked.json["query"]
        return FORMATS[engine](asked, self.results(engine, str(words)))
