"""A page that scripts fill, in a real Chromium that has no network but ours."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from deep_research.documents.readers import read
from deep_research.errors import NetworkError, SourceError
from deep_research.web.fetch.chromium import ChromiumRenderer, find_chromium
from deep_research.web.fetch.web import WebFetcher
from tests.support.programs import needs
from tests.support.waiting import HANG_S
from tests.unit.web.net.site import Site, client_of, page

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.long,
    pytest.mark.processes,
    needs("chromium"),
]
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


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> float:
    """Wait longer until a page counts as finished, for machines on which a script may not go on for a while."""
    monkeypatch.setattr("deep_research.web.fetch.chromium._QUIET_S", 3.0)
    monkeypatch.setattr("deep_research.web.fetch.chromium._LOAD_TIMEOUT_S", HANG_S)
    return HANG_S


async def test_a_shell_is_filled_and_the_browser_reaches_nothing_by_itself(patience: float):
    data = page(f'{{"title": "Leaks rose", "text": "{TEXT}北"}}'.encode(), "Content-Type: application/json")
    async with Site({"/secret": page(b"the secret", "Access-Control-Allow-Origin: *")}) as inner:
        script = page(SCRIPT.replace("OTHER", str(inner.port)).encode(), "Content-Type: text/javascript")
        pages = {"/": page(SHELL, "Content-Type: text/html"), "/main.js": script, "/data.json": data}
        async with Site(pages) as site, client_of(site) as client:
            renderer = ChromiumRenderer(client, str(CHROMIUM), timeout_s=patience)
            fetcher = WebFetcher(client, honours_robots=False, renderer=renderer)
            fetched = await fetcher.fetch(f"http://127.0.0.1:{site.port}/")
    reading = read(fetched.raw, name=fetched.address, media_type=fetched.media_type)
    assert TEXT.strip() in reading.text
    assert "北" in reading.text
    assert b"the secret" not in fetched.raw
    assert inner.connections == 0


# All the ways by which a page may talk that are no request of its own, and a dialog that nobody is there to answer.
WAYS_OUT = """<!doctype html><title>Ways</title><p>The page.</p>
<iframe src="http://127.0.0.1:OTHER/secret"></iframe><img src="http://127.0.0.1:OTHER/secret">
<script>
alert("Anybody there?");
new Worker("/worker.js");
new WebSocket("ws://127.0.0.1:OTHER/secret");
navigator.sendBeacon("http://127.0.0.1:OTHER/secret");
window.open("http://127.0.0.1:OTHER/secret");
const call = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:DATAGRAMS"}]});
call.createDataChannel("x");
call.createOffer().then(offer => call.setLocalDescription(offer));
document.body.append("And it went on.");
</script>"""


class Datagrams(asyncio.DatagramProtocol):
    """Counts what arrives by UDP."""

    count = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.count += 1


async def test_no_other_way_leads_out_of_the_browser(patience: float):
    transport, datagrams = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", 0)
    )
    async with Site({"/secret": page(b"the secret", "Access-Control-Allow-Origin: *")}) as inner:
        html = WAYS_OUT.replace("OTHER", str(inner.port))
        html = html.replace("DATAGRAMS", str(transport.get_extra_info("sockname")[1]))
        worker = page(f'fetch("http://127.0.0.1:{inner.port}/secret")'.encode(), "Content-Type: text/javascript")
        pages = {"/": page(html.encode(), "Content-Type: text/html"), "/worker.js": worker}
        async with Site(pages) as site, client_of(site) as client:
            raw = await ChromiumRenderer(client, str(CHROMIUM), timeout_s=patience).render(
                f"http://127.0.0.1:{site.port}/"
            )
    transport.close()
    assert b"And it went on.</body>" in raw
    assert "/worker.js" in site.paths
    assert (inner.connections, datagrams.count) == (0, 0)


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["time over", "cancelled"])
async def test_a_page_that_never_rests_leaves_no_process_and_no_file(
    is_cancelled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    endless = page(b"<p>Hello</p><script>while (true) {}</script>", "Content-Type: text/html")
    async with Site({"/": endless}) as site, client_of(site) as client:
        renderer = ChromiumRenderer(client, str(CHROMIUM), timeout_s=30 if is_cancelled else 2)
        rendering = asyncio.ensure_future(renderer.render(f"http://127.0.0.1:{site.port}/"))
        while not site.heads and not rendering.done():
            await asyncio.sleep(0.01)
        if is_cancelled:
            assert processes_of(tmp_path)
            rendering.cancel()
        with pytest.raises(asyncio.CancelledError if is_cancelled else NetworkError):
            await rendering
    assert list(tmp_path.iterdir()) == []
    async with asyncio.timeout(HANG_S):
        # The browser's reporter of crashes sees for itself that it is over.
        while processes_of(tmp_path):
            await asyncio.sleep(0.01)


def processes_of(folder: Path) -> list[str]:
    """Return the processes that were started with a path in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


async def test_a_page_gets_no_more_than_its_share_of_bytes(monkeypatch: pytest.MonkeyPatch, patience: float):
    monkeypatch.setattr("deep_research.web.fetch.chromium._MAX_BYTES_IN_ALL", 2_000)
    # One asks for the other, so that it is known which comes first.
    small = b"document.body.append('small ran', Object.assign(document.createElement('script'), {src: '/large.js'}))"
    large = b"document.body.append('large ran');" + b" " * 5_000
    scripts = {"/small.js": page(small), "/large.js": page(large)}
    html = b'<p>Hello</p><script src="/small.js"></script>'
    async with Site({"/": page(html, "Content-Type: text/html"), **scripts}) as site, client_of(site) as client:
        raw = await ChromiumRenderer(client, str(CHROMIUM), timeout_s=patience).render(f"http://127.0.0.1:{site.port}/")
    assert b"small ran" in raw
    assert "/large.js" in site.paths
    assert b"large ran" not in raw


@pytest.mark.usefixtures("processes_end_at_once")
async def test_a_browser_that_ended_at_once_is_an_error_of_the_page():
    async with Site({}) as site, client_of(site) as client:
        with pytest.raises(SourceError, match="browser"):
            await ChromiumRenderer(client, "/bin/false").render("http://127.0.0.1/")


async def test_a_browser_that_cannot_start_is_an_error_of_the_page():
    async with Site({}) as site, client_of(site) as client:
        with pytest.raises(SourceError, match="browser"):
            await ChromiumRenderer(client, "/bin/false").render("http://127.0.0.1/")
