"""The web fetcher against servers on loopback: manners, patience, and what it makes of an answer."""

import asyncio
from collections.abc import Mapping

import pytest

from deep_research.documents.readers import read
from deep_research.errors import AddressRefused, NetworkError, SourceBusy, SourceError
from deep_research.web.fetch.politeness import Politeness
from deep_research.web.fetch.port import Validators
from deep_research.web.fetch.web import WebFetcher
from deep_research.web.net.client import BeforeHop, GuardedClient, Response
from deep_research.web.net.guard import Guard
from tests.support.web_faults import reset
from tests.unit.documents.readers.pdf_files import make_pdf
from tests.unit.web.fetch.wall_pages import ARTICLES, WALLS
from tests.unit.web.net.site import Site, client_of, page, redirect

HTML = "Content-Type: text/html; charset=utf-8"
ARTICLE = page(ARTICLES["an article"], HTML)
NO_ROBOTS = page(b"", status="404 Not Found")


class Waits:
    """A sleep that only notes how long it was to take."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)


async def fetch(site: Site, path: str = "/", *, waits: Waits | None = None, robots: bool = False, **options):
    async with client_of(site) as client:
        fetcher = WebFetcher(client, honours_robots=robots, sleep=waits or Waits(), **options)
        return await fetcher.fetch(f"http://127.0.0.1:{site.port}{path}")


async def failure(pages, path: str = "/", *, kind: type[Exception] = SourceError, **options) -> str:
    async with Site(pages) as site:
        with pytest.raises(kind) as error:
            await fetch(site, path, **options)
        return str(error.value)


def one_after_another(*answers: bytes):
    """Answer each request with the next of these, and the last one from then on."""
    left = list(answers)

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return speak


# What comes back


async def test_a_page_comes_back_with_what_the_server_said_of_it():
    headers = (HTML, 'ETag: "v1"', "Last-Modified: Tue, 05 Mar 2024 10:00:00 GMT", "Set-Cookie: a=b")
    async with Site({"/old": redirect("/new"), "/new": page(ARTICLES["an article"], *headers)}) as site:
        fetched = await fetch(site, "/old")
    assert fetched.address == f"http://127.0.0.1:{site.port}/new"
    assert (fetched.status, fetched.media_type) == (200, "text/html; charset=utf-8")
    assert fetched.raw == ARTICLES["an article"]
    assert fetched.validators == Validators(etag='"v1"', last_modified="Tue, 05 Mar 2024 10:00:00 GMT")
    assert "set-cookie" not in fetched.headers
    assert fetched.headers["etag"] == '"v1"'
    assert fetched.fetched_at.endswith("+00:00")
    assert "cookie:" not in site.heads[1].lower()


async def test_a_known_page_is_asked_for_by_its_validators():
    async with Site({"/": page(status="304 Not Modified")}) as site, client_of(site) as client:
        known = Validators(etag='"v1"', last_modified="Tue, 05 Mar 2024 10:00:00 GMT")
        fetcher = WebFetcher(client, honours_robots=False)
        fetched = await fetcher.fetch(f"http://127.0.0.1:{site.port}/", known=known)
    assert (fetched.status, fetched.raw) == (304, b"")
    head = site.heads[0].lower()
    assert 'if-none-match: "v1"\r\n' in head
    assert "if-modified-since: tue, 05 mar 2024 10:00:00 gmt\r\n" in head


async def test_an_answer_that_nothing_changed_is_no_page_for_who_did_not_ask():
    assert "status 304" in await failure({"/": page(status="304 Not Modified")})


@pytest.mark.parametrize(
    ("body", "declared", "media_type"),
    [
        (make_pdf([["Leaks rose."]]), "text/html", "application/pdf"),
        (make_pdf([["Leaks rose."]]), "application/octet-stream", "application/pdf"),
        (ARTICLES["an article"], "application/pdf", "text/html"),
        (ARTICLES["an article"], "", "text/html"),
        (b"<p>" + b"Leaks rose by a tenth. " * 9, "text/html; charset=utf-8", "text/html; charset=utf-8"),
        (b"# Leaks\n\nThey rose by a tenth.", "text/markdown", "text/markdown"),
        (b"Leaks rose by a tenth.", "application/octet-stream", "text/plain"),
        (b'{"title": "Leaks", "text": "They rose."}', "application/json", "application/json"),
    ],
)
async def test_the_type_of_a_page_is_what_it_holds(body: bytes, declared: str, media_type: str):
    async with Site({"/a": page(body, *([f"Content-Type: {declared}"] if declared else []))}) as site:
        fetched = await fetch(site, "/a")
    assert fetched.media_type == media_type
    assert "eaks" in read(fetched.raw, name=fetched.address, media_type=media_type).text


async def test_an_image_is_refused():
    assert "is a PNG image" in await failure({"/": page(b"\x89PNG\r\n\x1a\n0000", "Content-Type: text/html")})


@pytest.mark.parametrize("shape", ["a soft 404", "a paywall with a teaser", "a consent wall", "an empty shell"])
async def test_a_wall_with_status_200_is_an_error_that_says_what_it_was(shape: str):
    said = {"a soft 404": "not found", "a paywall with a teaser": "subscribers", "a consent wall": "consent"}
    assert said.get(shape, "scripts") in await failure({"/": page(WALLS[shape][1], HTML)})


async def test_data_that_tells_an_error_is_no_page():
    body = page(b'{"error": {"code": 404}}', "Content-Type: application/json")
    assert "server's error page" in await failure({"/": body})


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("401 Unauthorized", "log in"),
        ("402 Payment Required", "subscribers"),
        ("403 Forbidden", "denies access"),
        ("404 Not Found", "not found"),
        ("410 Gone", "not found"),
        ("451 Unavailable", "region"),
        ("418 I'm a teapot", "status 418"),
    ],
)
async def test_a_status_is_told_in_words(status: str, said: str):
    async with Site({"/": page(ARTICLES["an article"], HTML, status=status)}) as site:
        with pytest.raises(SourceError, match=said):
            await fetch(site)
    assert len(site.heads) == 1


async def test_an_empty_page_is_refused():
    assert "is empty" in await failure({"/": page(b" \n", HTML)})


async def test_an_inner_address_is_refused_before_robots_are_asked_for():
    async with Site({"/": ARTICLE}) as site, client_of(site) as client:
        with pytest.raises(AddressRefused):
            await WebFetcher(client).fetch("http://10.0.0.1/")
    assert site.connections == 0


# Patience


async def test_a_busy_host_is_asked_again_after_the_time_it_names():
    waits = Waits()
    busy = page(b"", "Retry-After: 3", status="429 Too Many Requests")
    async with Site({"/": one_after_another(busy, page(b"", status="502 Bad Gateway"), ARTICLE)}) as site:
        assert (await fetch(site, waits=waits)).status == 200
    assert waits.asked_s == [3.0, 1.0]


async def test_a_host_that_stays_busy_is_given_up():
    waits = Waits()
    assert "status 500" in await failure({"/": page(b"", status="500 Oops")}, kind=SourceBusy, waits=waits)
    assert waits.asked_s == [0.5, 1.0]


async def test_a_host_that_asks_for_too_long_a_wait_is_given_up_at_once():
    waits = Waits()
    busy = page(b"", "Retry-After: 600", status="503 Service Unavailable")
    await failure({"/": busy}, kind=SourceBusy, waits=waits)
    assert waits.asked_s == []


async def test_a_broken_line_is_tried_again():
    async def crash(writer: asyncio.StreamWriter) -> None:
        reset(writer)

    async with Site({"/": crash}) as site:
        with pytest.raises(NetworkError):
            await fetch(site)
        assert len(site.heads) == 3


async def test_a_host_that_never_ends_costs_the_time_limit():
    async def hang(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    assert "took longer than 0.05 s" in await failure({"/": hang}, kind=NetworkError, timeout_s=0.05)


# Manners


async def test_robots_are_asked_for_once_a_host_and_obeyed():
    rules = page(b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n", "Content-Type: text/plain")
    pages = {"/robots.txt": rules, "/a": ARTICLE, "/b": ARTICLE, "/private/c": ARTICLE}
    waits = Waits()
    async with Site(pages) as site, client_of(site) as client:
        fetcher = WebFetcher(client, politeness=Politeness(clock=lambda: 0.0, sleep=waits))
        root = f"http://127.0.0.1:{site.port}"
        await asyncio.gather(fetcher.fetch(f"{root}/a"), fetcher.fetch(f"{root}/b"))
        with pytest.raises(SourceError, match=r"closed to programs by its host \(robots\.txt\)"):
            await fetcher.fetch(f"{root}/private/c")
    assert sorted(site.paths) == ["/a", "/b", "/robots.txt"]
    assert waits.asked_s == [2.0]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (page(status="404 Not Found"), None),
        (page(status="403 Forbidden"), None),
        (page(b"<html><title>404</title></html>", HTML), None),
        (page(status="500 Oops"), SourceBusy),
        (page(status="503 Busy"), SourceBusy),
        (redirect("/robots.txt"), None),
    ],
)
async def test_what_a_missing_or_broken_robots_file_means(answer: bytes, kind: type[Exception] | None):
    async with Site({"/robots.txt": answer, "/": ARTICLE}) as site:
        if kind is None:
            assert (await fetch(site, robots=True)).status == 200
        else:
            with pytest.raises(kind, match=r"robots\.txt"):
                await fetch(site, robots=True)
            assert "/" not in site.paths


async def test_a_redirect_does_not_lead_past_robots():
    rules = page(b"User-agent: *\nDisallow: /inside\n", "Content-Type: text/plain")
    pages = {"/robots.txt": rules, "/open": redirect("/inside"), "/inside": ARTICLE}
    async with Site(pages) as site:
        with pytest.raises(SourceError, match="closed to programs"):
            await fetch(site, "/open", robots=True)
        assert not any(head.startswith("GET /inside") for head in site.heads)


async def test_at_most_two_pages_of_a_host_are_fetched_at_once():
    gate = asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        if site.in_flight == 2:
            gate.set()
        await gate.wait()
        writer.write(ARTICLE)

    async with Site({f"/{n}": slow for n in range(6)}) as site, client_of(site) as client:
        fetcher = WebFetcher(client, honours_robots=False, politeness=Politeness(gap_s=0.0))
        pages = await asyncio.gather(*(fetcher.fetch(f"http://127.0.0.1:{site.port}/{n}") for n in range(6)))
    assert len(pages) == 6
    assert site.peak == 2


# Pages that are a frame around their text


class Answers(GuardedClient):
    """A client that knows a few addresses, and notes which it was asked for."""

    def __init__(self, pages: Mapping[str, tuple[int, bytes]]) -> None:
        super().__init__(Guard())
        self.pages = pages
        self.asked: list[str] = []

    async def fetch(
        self, address: str, *, headers: Mapping[str, str] | None = None, before_hop: BeforeHop | None = None
    ) -> Response:
        self.asked.append(address)
        status, body = self.pages.get(address, (404, b"Not Found"))
        return Response(address=address, status=status, headers={"content-type": "text/plain"}, body=body)


async def test_an_old_paper_is_read_as_pdf_and_a_lost_one_by_its_abstract():
    paper = "https://arxiv.org/abs/2401.00001"
    files = {"https://arxiv.org/pdf/2401.00001": (200, make_pdf([["Leaks rose."]]))}
    client = Answers(files)
    fetched = await WebFetcher(client, honours_robots=False, politeness=Politeness(gap_s=0)).fetch(paper)
    assert (fetched.address, fetched.media_type) == ("https://arxiv.org/pdf/2401.00001", "application/pdf")
    assert client.asked == ["https://arxiv.org/html/2401.00001", "https://arxiv.org/pdf/2401.00001"]
    client = Answers({paper: (200, ARTICLES["an article"])})
    fetched = await WebFetcher(client, honours_robots=False, politeness=Politeness(gap_s=0)).fetch(paper)
    assert fetched.address == paper


async def test_a_repository_is_read_by_its_readme():
    readme = "https://raw.githubusercontent.com/ann/pipes/HEAD/README.md"
    client = Answers({readme: (200, b"# Pipes\n\nA model of leaks.")})
    fetched = await WebFetcher(client, honours_robots=False).fetch("https://github.com/ann/pipes")
    assert (fetched.address, fetched.raw) == (readme, b"# Pipes\n\nA model of leaks.")


# Pages that scripts fill


class Filled:
    """A renderer that gives the same page always."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.asked: list[str] = []

    async def render(self, address: str) -> bytes:
        self.asked.append(address)
        return self.raw


async def test_only_an_empty_shell_is_rendered():
    renderer = Filled(ARTICLES["an article"])
    pages = {"/shell": page(WALLS["an empty shell"][1], HTML), "/article": ARTICLE}
    async with Site(pages) as site:
        assert (await fetch(site, "/article", renderer=renderer)).raw == ARTICLES["an article"]
        assert renderer.asked == []
        assert (await fetch(site, "/shell", renderer=renderer)).raw == ARTICLES["an article"]
        assert renderer.asked == [f"http://127.0.0.1:{site.port}/shell"]


async def test_a_shell_that_stays_empty_or_becomes_a_wall_is_refused():
    pages = {"/": page(WALLS["an empty shell"][1], HTML)}
    for shape, said in (("an empty shell", "scripts"), ("a login form", "log in")):
        assert said in await failure(pages, renderer=Filled(WALLS[shape][1]))
