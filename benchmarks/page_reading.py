"""Pages of 8 KB from fifty hosts: how fast they are fetched, and what judging and reading them costs, apart.

The server is part of the same process, so that a fetch is somewhat cheaper than it looks here.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from deep_research.documents.readers import read
from deep_research.web.fetch.page_kinds import kind_of_page
from deep_research.web.fetch.port import Fetched
from deep_research.web.fetch.web import WebFetcher
from deep_research.web.net.client import GuardedClient
from deep_research.web.net.guard import Guard
from tests.support.articles import articles
from tests.support.web_server import LocalWeb

PAGES = 50


async def report() -> None:
    """Print the table."""
    pages = [*articles(PAGES // 2), *articles(PAGES // 2, language="zh-Hans", first=PAGES // 2)]
    # What reading needs is loaded before anything is measured.
    read(pages[0].html(""), name="first")
    with LocalWeb(pages) as web:
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            whole_s, _ = await _fetch(WebFetcher(client, honours_robots=False), web.addresses)
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            begin = time.perf_counter()
            await asyncio.gather(*map(client.fetch, web.addresses))
            bare_s = time.perf_counter() - begin
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            begin = time.perf_counter()
            _, fetched = await _fetch(WebFetcher(client, honours_robots=False), web.addresses)
            await asyncio.gather(*(asyncio.to_thread(_read, page) for page in fetched))
            all_s = time.perf_counter() - begin
    size = sum(len(page.raw) for page in fetched) / len(fetched)
    print(f"\nreading {PAGES} pages of {size / 1000:.1f} KB, each on a host of its own; {web.peak()} in flight")
    print(f"  connect and fetch      {PAGES / bare_s:6.0f} pages/s")
    print(f"  … and judge            {PAGES / whole_s:6.0f} pages/s")
    print(f"  … and read, in threads {PAGES / all_s:6.0f} pages/s")
    print(f"  CPU of judging         {_cpu_ms(_judge, fetched):6.1f} ms a page")
    print(f"  CPU of reading         {_cpu_ms(_read, fetched):6.1f} ms a page")


async def _fetch(fetcher: WebFetcher, addresses: Sequence[str]) -> tuple[float, list[Fetched]]:
    begin = time.perf_counter()
    fetched = await asyncio.gather(*map(fetcher.fetch, addresses))
    return time.perf_counter() - begin, fetched


def _judge(page: Fetched) -> None:
    kind_of_page(page.raw, name=page.address)


def _read(page: Fetched) -> None:
    read(page.raw, name=page.address, media_type=page.media_type)


def _cpu_ms(act: Callable[[Fetched], None], pages: Sequence[Fetched]) -> float:
    begin = time.thread_time()
    for page in pages:
        act(page)
    return (time.thread_time() - begin) / len(pages) * 1000


if __name__ == "__main__":
    asyncio.run(report())
