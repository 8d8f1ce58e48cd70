"""A page that scripts fill, in a real Chromium that has no network but ours."""

import pytest

from deep_research.errors import SourceError
from deep_research.fetch.chromium import ChromiumRenderer, find_chromium
from deep_research.fetch.web import WebFetcher
from deep_research.readers import read
from tests.unit.net.site import Site, client_of, page

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; make system installs one")
SHELL = b"""<!doctype html><html><head><title>Leaks</title></head><body><div id="root"></div>
<script src="/main.js"></script></body></html>"""
SCRIPT = """
const root = document.getElementById("root");
fetch("/data.json").then(answer => answer.json()).then(data => {
  root.innerHTML = "<article><h1>" + data.title + "</h1><p>" + data.text + "</p></article>";
  return fetch("http://127.0.0.1:OTHER/secret").then(answer => answer.text());
}).then(word => { root.innerHTML += "<p>The inner page said: " + word + ".</p>"; });
"""
TEXT = "Leaks in the northern districts rose by a tenth within a year, and they now cost about two million euros. " * 3


async def test_a_shell_is_filled_and_the_browser_reaches_nothing_by_itself():
    data = page(f'{{"title": "Leaks rose", "text": "{TEXT}北"}}'.encode(), "Content-Type: application/json")
    async with Site({"/secret": page(b"the secret", "Access-Control-Allow-Origin: *")}) as inner:
        script = page(SCRIPT.replace("OTHER", str(inner.port)).encode(), "Content-Type: text/javascript")
        pages = {"/": page(SHELL, "Content-Type: text/html"), "/main.js": script, "/data.json": data}
        async with Site(pages) as site, client_of(site) as client:
            renderer = ChromiumRenderer(client, str(CHROMIUM))
            fetcher = WebFetcher(client, honours_robots=False, renderer=renderer)
            fetched = await fetcher.fetch(f"http://127.0.0.1:{site.port}/")
    reading = read(fetched.raw, name=fetched.address, media_type=fetched.media_type)
    assert TEXT.strip() in reading.text
    assert "北" in reading.text
    assert b"the secret" not in fetched.raw
    assert inner.connections == 0


async def test_a_browser_that_cannot_start_is_an_error_of_the_page():
    async with Site({}) as site, client_of(site) as client:
        with pytest.raises(SourceError, match="browser"):
            await ChromiumRenderer(client, "/bin/false").render("http://127.0.0.1/")
