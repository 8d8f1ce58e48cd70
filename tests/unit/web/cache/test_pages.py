"""Kept pages, against a server on loopback: when nobody is asked, when only for changes, and what is not kept."""

import asyncio
from datetime import datetime

import pytest

from deep_research.errors import AddressRefused, NetworkError, SourceBusy, SourceError
from deep_research.web.cache.pages import CachedFetcher
from deep_research.web.fetch.port import Fetched, Validators
from deep_research.web.fetch.web import WebFetcher
from tests.support.cache_suite import cache_in
from tests.unit.documents.readers.pdf_files import make_pdf
from tests.unit.web.fetch.wall_pages import ARTICLES, WALLS
from tests.unit.web.net.site import Site, client_of, page

HTML = "Content-Type: text/html; charset=utf-8"
TEXT = ARTICLES["an article"]
HOUR_S = 3600.0


class World:
    """A site, a cache, and a fetcher for both, at a time that tests move."""

    def __init__(self, path, site: Site, client) -> None:
        self.now = 1_000_000.0
        self.site = site
        self.cache = cache_in(path / "cache.db", max_bytes=50_000_000, now=lambda: self.now)
        self.web = WebFetcher(client, honours_robots=False, sleep=lambda _: asyncio.sleep(0))

    async def fetch(self, path: str = "/", *, identity: str = "") -> Fetched:
        """Fetch as another run would: with a fetcher of its own."""
        fetcher = CachedFetcher(self.web, self.cache, identity=identity, now=lambda: self.now)
        return await fetcher.fetch(f"http://127.0.0.1:{self.site.port}{path}")

    async def failure(self, path: str = "/") -> str:
        with pytest.raises(SourceError) as error:
            await self.fetch(path)
        return str(error.value)


@pytest.fixture
async def world(tmp_path):
    async with Site({}) as site, client_of(site) as client:
        world = World(tmp_path, site, client)
        yield world
        await world.cache.close()


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [(TEXT, "text/html; charset=utf-8"), (make_pdf([["Leaks rose.\n"]]), "application/pdf")],
)
async def test_page_is_asked_for_once_an_hour_and_comes_back_as_it_was(world, raw, media_type):
    world.site.pages = {
        "/": page(raw, f"Content-Type: {media_type}", 'ETag: "v1"', "Cache-Control: private, max-age=0")
    }
    first = await world.fetch()
    world.now += HOUR_S - 1
    again = await world.fetch("/?utm_source=engine#part")
    assert again == first
    assert (again.raw, again.media_type) == (raw, media_type)
    assert len(world.site.heads) == 1


async def test_after_an_hour_a_page_is_asked_for_by_its_validators(world):
    changed = "Tue, 05 Mar 2024 10:00:00 GMT"
    world.site.pages = {"/": page(TEXT, HTML, 'ETag: "v1"', f"Last-Modified: {changed}")}
    first = await world.fetch()
    world.site.pages = {"/": page(status="304 Not Modified")}
    for asked in (2, 3):
        world.now += HOUR_S
        again = await world.fetch()
        assert (again.status, again.raw, again.media_type) == (200, TEXT, first.media_type)
        assert again.validators == Validators(etag='"v1"', last_modified=changed)
        assert datetime.fromisoformat(again.fetched_at) >= datetime.fromisoformat(first.fetched_at)
        await world.fetch()
        assert len(world.site.heads) == asked
    assert 'if-none-match: "v1"\r\n' in world.site.heads[2].lower()


async def test_answer_that_nothing_changed_gives_the_page_a_new_time(tmp_path):
    class Telling:
        timeout_s = 5.0
        times = iter(("2026-01-01T00:00:00+00:00", "2026-01-01T02:00:00+00:00"))

        async def fetch(self, address: str, *, known: Validators | None = None) -> Fetched:
            at, status = next(self.times), 304 if known else 200
            kept = Validators(etag="v")
            return Fetched(
                address=address,
                media_type="",
                raw=b"" if known else b"text",
                status=status,
                fetched_at=at,
                validators=kept,
            )

    cache, now = cache_in(tmp_path / "cache.db", max_bytes=1_000_000, now=lambda: 0.0), [0.0]
    fetcher = CachedFetcher(Telling(), cache, now=lambda: now[0])
    await fetcher.fetch("https://example.org/")
    now[0] = 2 * HOUR_S
    for _ in range(2):
        again = await fetcher.fetch("https://example.org/")
        assert (again.raw, again.status, again.fetched_at) == (b"text", 200, "2026-01-01T02:00:00+00:00")
    assert fetcher.timeout_s == 5.0
    await cache.close()


async def test_changed_page_takes_the_place_of_the_old_one(world):
    world.site.pages = {"/": page(TEXT, HTML, 'ETag: "v1"')}
    await world.fetch()
    world.now += HOUR_S
    new = TEXT.replace(b"</body>", b"<p>And one more.</p></body>")
    world.site.pages = {"/": page(new, HTML, 'ETag: "v2"')}
    for _ in range(2):
        assert (await world.fetch()).raw == new
    assert len(world.site.heads) == 2


async def test_page_without_validators_is_fetched_anew_after_an_hour(world):
    world.site.pages = {"/": page(TEXT, HTML)}
    await world.fetch()
    world.now += HOUR_S
    assert (await world.fetch()).raw == TEXT
    assert "if-" not in world.site.heads[1].lower()


async def test_page_is_forgotten_after_a_week(world):
    world.site.pages = {"/": page(TEXT, HTML, 'ETag: "v1"')}
    await world.fetch()
    world.now += 7 * 24 * HOUR_S
    await world.fetch()
    assert "if-none-match" not in world.site.heads[1].lower()


async def test_clock_that_was_set_back_keeps_nothing_fresh(world):
    world.site.pages = {"/": page(TEXT, HTML)}
    await world.fetch()
    world.now -= 10
    await world.fetch()
    assert len(world.site.heads) == 2


async def test_page_that_must_not_be_stored_is_not(world):
    world.site.pages = {"/": page(TEXT, HTML, 'ETag: "v1"', "Cache-Control: max-age=60, No-Store")}
    for _ in range(2):
        assert (await world.fetch()).raw == TEXT
    assert len(world.site.heads) == 2
    assert "if-none-match" not in world.site.heads[1].lower()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page(status="404 Not Found"), "not found"),
        (page(WALLS["a paywall with a teaser"][1], HTML), "subscribers"),
        (page(b"\x89PNG\r\n\x1a\n0000"), "PNG"),
        (page(status="418 Teapot"), "status 418"),
    ],
)
async def test_lasting_failure_is_told_again_for_an_hour_without_asking(world, answer, said):
    world.site.pages = {"/": answer}
    first = await world.failure()
    assert said in first
    assert await world.failure() == first
    assert len(world.site.heads) == 1
    world.now += HOUR_S
    world.site.pages = {"/": page(TEXT, HTML)}
    assert (await world.fetch()).raw == TEXT


@pytest.mark.parametrize("failure", [SourceBusy("busy"), NetworkError("reset"), AddressRefused("private")])
async def test_failure_that_may_pass_is_not_kept(tmp_path, failure):
    class Failing:
        timeout_s = 5.0
        asked = 0

        async def fetch(self, address: str, *, known: Validators | None = None) -> Fetched:
            self.asked += 1
            raise failure

    cache, web = cache_in(tmp_path / "cache.db", max_bytes=1_000_000), Failing()
    for _ in range(2):
        with pytest.raises(type(failure)):
            await CachedFetcher(web, cache).fetch("https://example.org/")
    assert web.asked == 2
    assert await cache.size() == 0
    await cache.close()


async def test_page_that_was_there_is_not_given_once_it_is_gone(world):
    world.site.pages = {"/": page(TEXT, HTML, 'ETag: "v1"')}
    await world.fetch()
    world.now += HOUR_S
    world.site.pages = {"/": page(status="410 Gone")}
    for _ in range(2):
        assert "not found" in await world.failure()
    assert len(world.site.heads) == 2


async def test_fetcher_that_works_in_another_way_has_pages_of_its_own(world):
    world.site.pages = {"/": page(TEXT, HTML)}
    await world.fetch(identity="robots")
    await world.fetch(identity="no robots")
    await world.fetch(identity="robots")
    assert len(world.site.heads) == 2
