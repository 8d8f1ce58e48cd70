"""Eight queries over three engines and 24 pages, strategy `batch`: the time they take over the longest needed chain.

The chain is one search and one page, by the stub's own delays; the server is part of the same process.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from deep_research.documents.readers import read
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.runner import request_from
from deep_research.settings import Settings
from deep_research.wiring import build
from tests.support.articles import Article, articles
from tests.support.search_formats import Result
from tests.support.web_server import PAGES, LocalWeb

SEARCH_S, PAGE_S = 0.4, 0.2
QUERIES, PAGES_A_QUERY = 8, 3
ENGINES = ("tavily", "serper", "searxng")
QUESTION = "What do heat pumps, tram lines, river ferries and water mains cost, and what did they achieve?"
AIM = 1.3


class OwnPages(LocalWeb):
    """A web in which each query has three pages of its own, which every engine finds."""

    def results(self, engine: str, words: str) -> list[Result]:  # noqa: ARG002 - all engines find the same
        """Return the pages of a query, in the order in which queries came."""
        self._asked = dict.fromkeys((*getattr(self, "_asked", {}), words))
        first = list(self._asked).index(words) * PAGES_A_QUERY
        chosen = [self.articles[(first + at) % len(self.articles)] for at in range(PAGES_A_QUERY)]
        return [Result(self.address_of(one), one.title, one.paragraphs[0][:160], one.published) for one in chosen]


class Traffic(NamedTuple):
    """What the stub saw: when each request began and ended, and which were for pages."""

    searches: list[tuple[float, float]]
    pages: list[tuple[float, float]]

    @property
    def wall_s(self) -> float:
        """Return the seconds from the first search to the last page."""
        return max(end for _, end in self.pages) - min(begin for begin, _ in self.searches)


@contextmanager
def web_in_a_process() -> Iterator[tuple[LocalWeb, Callable[[], Traffic]]]:
    """Serve the web from a process of its own, as services are; its twin here only knows the addresses."""
    ours, theirs = Pipe()
    process = get_context("fork").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    twin = OwnPages(articles(QUERIES * PAGES_A_QUERY))
    twin.port = ours.recv()

    def traffic() -> Traffic:
        ours.send("traffic")
        return Traffic(*ours.recv())

    try:
        yield twin, traffic
    finally:
        ours.send("end")
        process.join()


def _serve(pipe: Connection) -> None:
    with OwnPages(articles(QUERIES * PAGES_A_QUERY), search_s=SEARCH_S, page_s=PAGE_S) as web:
        pipe.send(web.port)
        while pipe.recv() == "traffic":
            log = [(one.place == PAGES, (one.began_s, one.ended_s or 0.0)) for one in web.log]
            pipe.send(([times for is_page, times in log if not is_page], [times for is_page, times in log if is_page]))
            web.log.clear()


def settings_for(web: LocalWeb, folder: Path, **changes: object) -> Settings:
    """Return settings by which these engines of a local web are asked, and its pages fetched."""
    addresses = {f"{name}_address": web.engine_address(name) for name in ENGINES}
    given: dict[str, object] = {
        "home": folder,
        "logs": folder / "logs",
        "provider": "none",
        "engines": ENGINES,
        "tavily_api_key": SecretStr("key"),
        "serper_api_key": SecretStr("key"),
        "allowed_hosts": web.allowed,
        "respect_robots": False,
        "parallel_strategy": "batch",
        "max_iterations": 1,
        "clarify": "off",
    }
    return Settings.model_validate(given | addresses | changes)


async def retrieve(web: LocalWeb, folder: Path, **changes: object) -> tuple[float, dict[str, object]]:
    """Research once; return the CPU seconds and the statistics."""
    settings = settings_for(web, folder, **changes)
    adapters = build(settings)
    cpu = time.process_time()
    try:
        row = await DeepResearchProcessor(adapters).process(request_from(settings, QUESTION))
    finally:
        await adapters.close()
    return time.process_time() - cpu, json.loads((Path(row.folder) / "stats.json").read_text())


async def report() -> None:
    """Print the table."""
    pages = articles(QUERIES * PAGES_A_QUERY)
    read(pages[0].html(""), name="first")
    with web_in_a_process() as (web, traffic), tempfile.TemporaryDirectory() as folder:
        # The first run loads what later ones find loaded.
        await retrieve(web, Path(folder) / "first", cache=False)
        traffic()
        cpu, stats = await retrieve(web, Path(folder) / "second", cache=False)
        seen = traffic()
    chain = SEARCH_S + PAGE_S
    asked = f"{stats['searches']} queries over {len(ENGINES)} engines ({len(seen.searches)} requests)"
    print(f"\n{asked}, {len(seen.pages)} pages of 8 KB")
    print(f"  longest needed chain            {chain:6.2f} s")
    print(f"  first search to last page sent  {seen.wall_s:6.2f} s   × {seen.wall_s / chain:.2f}   aim ≤ {AIM}")
    print(f"  CPU of the whole run            {cpu:6.2f} s   (reading {_reading_cpu(pages):.2f} s, off the event loop)")


def _reading_cpu(pages: list[Article]) -> float:
    begin = time.thread_time()
    for page in pages:
        read(page.html(""), name="page")
    return time.thread_time() - begin


if __name__ == "__main__":
    asyncio.run(report())
