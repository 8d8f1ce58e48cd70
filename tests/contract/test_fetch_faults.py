"""Everything that a server can do wrong, against servers that do exactly this: a page is lost, and nothing else.

The guarded client has its own tests for most of these; here they meet the whole fetcher and the search engines.
"""

import asyncio
import socket
import sys

import pytest

from deep_research.documents.readers import read
from deep_research.errors import AddressRefused, CallFailed, NetworkError, SourceBusy, SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.fetch.web import WebFetcher
from deep_research.web.net.client import ClientLimits, GuardedClient
from deep_research.web.net.guard import Guard
from deep_research.web.search.engine import connect
from deep_research.web.search.registry import ENGINES
from tests.support.articles import articles
from tests.support.search_formats import FORMATS
from tests.support.search_server import Answer
from tests.support.web_faults import FAULTS
from tests.support.web_server import LocalWeb
from tests.unit.web.net.site import PUBLIC_IP, ListedNames, Site, Wires, page

MIB = 1024 * 1024
PATIENT = ClientLimits(connect_s=30, read_s=30, total_s=60, max_bytes=MIB, max_decoded_bytes=2 * MIB)
# Only what a fault is to be ended by is short: a busy machine takes its time over everything else.
LIMITS = {
    "hang": PATIENT.model_copy(update={"read_s": 0.3}),
    "drip": PATIENT.model_copy(update={"total_s": 0.6}),
}
# What each fault is to the fetcher, what it says of it, and how often it asks.
OUTCOMES: dict[str, tuple[type[CallFailed], str, int]] = {
    "reset at once": (NetworkError, "broke the connection", 3),
    "reset in mid-body": (NetworkError, "broke", 3),
    "hang": (NetworkError, "did not answer in time", 3),
    "drip": (NetworkError, "took longer than 0.6 s", 3),
    "chunks without end": (SourceError, "larger than 1 MiB", 1),
    "2 GB, promised": (SourceError, "larger than 1 MiB", 1),
    "2 GB, not promised": (SourceError, "larger than 1 MiB", 1),
    "length too long": (NetworkError, "broke off in the middle", 3),
    "gzip bomb": (SourceError, "larger than 2 MiB", 1),
    "redirect loop": (SourceError, "in a circle", 2),
    "redirect inwards": (AddressRefused, "the local link", 1),
    "429": (SourceBusy, "status 429", 3),
    "429 with a wait": (SourceBusy, "status 429", 1),
    "403": (SourceError, "denies access", 1),
    "not http": (SourceError, "does not speak HTTP", 1),
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="Other systems have one loopback address.")


async def no_wait(_: float) -> None:
    """Waiting is for others to test."""


def fetcher_of(client: GuardedClient, *, robots: bool = False) -> WebFetcher:
    return WebFetcher(client, honours_robots=robots, sleep=no_wait)


# Pages


@linux
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_for_what_it_is_and_tried_again_only_where_that_may_help(name: str):
    kind, said, asked = OUTCOMES[name]
    with LocalWeb(articles(1)) as web:
        web.faults["127.0.0.2"] = FAULTS[name]
        async with GuardedClient(Guard(allowed=web.allowed), limits=LIMITS.get(name, PATIENT)) as client:
            with pytest.raises(kind, match=said) as error:
                await fetcher_of(client).fetch(web.addresses[0])
    assert type(error.value) is kind
    assert "first words" not in str(error.value)
    assert len(web.log) == asked


@linux
async def test_all_faults_at_once_cost_no_other_page():
    with LocalWeb(articles(len(FAULTS) + 10)) as web:
        good = web.articles[len(FAULTS) :]
        web.faults |= {article.host: fault for article, fault in zip(web.articles, FAULTS.values(), strict=False)}
        limits = PATIENT.model_copy(update={"read_s": 2, "total_s": 3})
        async with GuardedClient(Guard(allowed=web.allowed), limits=limits) as client:
            fetcher = fetcher_of(client)
            pages = await asyncio.gather(*map(fetcher.fetch, web.addresses), return_exceptions=True)
    assert all(isinstance(lost, CallFailed) for lost in pages[: len(FAULTS)])
    for article, fetched in zip(good, pages[len(FAULTS) :], strict=True):
        assert not isinstance(fetched, BaseException), fetched
        assert article.paragraphs[0] in read(fetched.raw, name=fetched.address, media_type=fetched.media_type).text


async def test_a_name_that_does_not_exist_is_a_network_error_after_three_tries():
    names = ListedNames({})
    async with GuardedClient(Guard(), resolver=names) as client:
        with pytest.raises(NetworkError, match=r"nowhere\.example\.com is not known"):
            await fetcher_of(client).fetch("http://nowhere.example.com/")
    assert names.asked == ["nowhere.example.com"] * 3


async def test_a_port_nobody_listens_on_is_a_network_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        async with GuardedClient(Guard(allowed={host})) as client:
            with pytest.raises(NetworkError, match="could not be reached"):
                await fetcher_of(client).fetch(f"http://{host}/")


async def test_a_name_that_turns_inwards_between_robots_and_page_is_refused():
    names = ListedNames({"example.com": [[PUBLIC_IP], ["127.0.0.1"]]})
    secret = page(b"the secret", "Content-Type: text/plain")
    async with Site({"/robots.txt": page(b"", "Connection: close"), "/": secret}) as site:
        wires = Wires(site.port)
        async with GuardedClient(Guard(), resolver=names, network=wires) as client:
            with pytest.raises(AddressRefused, match="this machine"):
                await fetcher_of(client, robots=True).fetch("http://example.com/")
    assert wires.dialled == [(PUBLIC_IP, 80)]
    assert site.paths == ["/robots.txt"]


@linux
async def test_a_length_too_short_cuts_the_page_and_spoils_no_other():
    with LocalWeb(articles(1)) as web:
        article = web.articles[0]
        short = Answer(article.html(""), headers={"Content-Type": "text/html", "Content-Length": "5000"})
        web.faults["127.0.0.2/short"] = short
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            fetcher = fetcher_of(client)
            cut = await fetcher.fetch(f"http://127.0.0.2:{web.port}/short")
            whole = await fetcher.fetch(web.addresses[0])
    assert len(cut.raw) == 5_000
    assert article.paragraphs[0] in read(cut.raw, name=cut.address, media_type=cut.media_type).text
    assert whole.raw == article.html(f"http://127.0.0.2:{web.port}")


@linux
@pytest.mark.parametrize(
    ("encoding", "header", "meta"),
    [
        ("utf-8", "; charset=iso-8859-1", b"utf-8"),
        ("gb18030", "; charset=gb2312", b"utf-8"),
        ("gb18030", "; charset=iso-8859-1", b"gb2312"),
        ("gb18030", "; charset=utf-8", b"big5"),
        ("gb18030", "", b"none"),
    ],
)
async def test_a_wrong_charset_costs_no_character(encoding: str, header: str, meta: bytes):
    (article,) = articles(1, language="zh-Hans")
    body = article.html("").decode().encode(encoding).replace(b'<meta charset="utf-8">', b'<meta charset="%s">' % meta)
    with LocalWeb([article]) as web:
        web.faults["127.0.0.2"] = Answer(body, headers={"Content-Type": f"text/html{header}"})
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            fetched = await fetcher_of(client).fetch(web.addresses[0])
    reading = read(fetched.raw, name=fetched.address, media_type=fetched.media_type)
    assert fetched.raw == body
    assert reading.title == article.title
    assert all(paragraph in reading.text for paragraph in article.paragraphs)


@linux
async def test_a_name_in_a_page_of_another_language_is_read_by_the_header_alone():
    (article,) = articles(1)
    body = article.html("").decode().replace(article.author, "张伟").encode("gbk", "replace")
    with LocalWeb([article]) as web:
        web.faults["127.0.0.2"] = Answer(body, headers={"Content-Type": "text/html; charset=gb2312"})
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            fetched = await fetcher_of(client).fetch(web.addresses[0])
    assert read(fetched.raw, name=fetched.address, media_type=fetched.media_type).author == "张伟"


async def test_a_line_that_tells_an_error_is_read_in_the_charset_of_its_header():
    wall = page("頁面不存在".encode("big5"), "Content-Type: text/plain; charset=big5")
    async with Site({"/": wall}) as site:
        host = f"127.0.0.1:{site.port}"
        async with GuardedClient(Guard(allowed={host})) as client:
            with pytest.raises(SourceError, match="not found"):
                await fetcher_of(client).fetch(f"http://{host}/")


# Search engines

ERROR_PAGES = {
    "HTML in place of JSON": Answer("<!doctype html><title>Search</title><p>Please enable cookies.</p>"),
    "an error with status 200": Answer({"error": {"code": 500, "message": "internal error"}}),
}


@pytest.mark.parametrize("name", [*FAULTS, *ERROR_PAGES])
async def test_an_engine_that_fails_is_an_error_of_that_engine(name: str):
    timeout_s = 4 if name in LIMITS else 60
    with LocalWeb() as web:
        web.faults |= dict.fromkeys(FORMATS, FAULTS.get(name) or ERROR_PAGES[name])
        engines = [
            connect(ENGINES[each], address=web.engine_address(each), key="key-0123", timeout_s=timeout_s)
            for each in FORMATS
        ]
        found = await asyncio.gather(
            *(engine.search(SearchQuery(query="ferries"), limit=3) for engine in engines), return_exceptions=True
        )
    for engine, error in zip(FORMATS, found, strict=True):
        assert isinstance(error, CallFailed), error
        assert ENGINES[engine].title in str(error)
        assert "key-0123" not in str(error)
        # Where a redirect leads is not asked.
        assert len(web.requests(engine)) == 1
