"""Signing in with a real browser, which also shows a page of somebody who wants to use that sign-in."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page

from tests.support.accounts import PASSWORD, Operator
from tests.support.longer import first_of
from tests.support.page import chromium, needs_chromium, reading
from tests.support.server import QUESTION, Client, serving, settings_for

pytestmark = needs_chromium
# A form that sends itself, a script that asks, a frame, and a stream of events.
_EVIL = """<!doctype html><title>evil</title><iframe src="{address}/runs"></iframe>
<form id="f" method="post" action="{address}/" target="t"><input name="question" value="Who pays for this?"></form>
<iframe name="t"></iframe>
<script>
document.getElementById("f").submit();
window.said = [];
const note = name => answer => window.said.push(name + " " + answer);
for (const [name, options] of [
  ["get", {{credentials: "include"}}],
  ["plain", {{method: "POST", credentials: "include", mode: "no-cors", body: '{{"question": "Who pays for this?"}}'}}],
  ["json", {{method: "POST", credentials: "include", headers: {{"content-type": "application/json"}},
             body: '{{"question": "Who pays for this?"}}'}}]])
  fetch("{address}/api/runs", options).then(answer => answer.text()).then(note(name), () => note(name)("refused"));
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Client]:
    Operator(folder).users("add", "小明")
    with serving(settings_for(folder)) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module", params=["localhost", "127.0.0.1"])
def evil(request: pytest.FixtureRequest, server: Client) -> Iterator[str]:
    """A page on another port: of another site by the name localhost, of the same site by the same address."""
    page = _EVIL.format(address=server.address).encode()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://{request.param}:{listening.server_port}/"
    listening.shutdown()
    listening.server_close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("locale", "heading", "wrong"),
    first_of([("en-US", "Sign in", "password is wrong"), ("zh-CN", "登录", "不正确"), ("zh-TW", "登入", "不正確")]),
)
def test_somebody_signs_in_asks_and_signs_out(server, browser, locale, heading, wrong):
    with reading(browser, server.address, locale=locale) as reader:
        page = reader.page
        page.goto("/runs")
        assert page.locator("h1").inner_text() == heading
        assert reader.overflow() <= 0
        page.fill("#name", "小明")
        page.fill("#password", "not the password")
        page.press("#password", "Enter")
        assert wrong in page.locator("[role=alert]").inner_text()
        assert page.input_value("#name") == "小明"
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        page.wait_for_url("**/runs")
        page.goto("/")
        page.fill("#question", QUESTION)
        page.locator("form.ask button.primary").click()
        page.wait_for_url("**/runs/*")
        page.locator("summary[title*='小明']").click()
        page.locator("form[action='/sign-out'] button").first.click()
        page.wait_for_url("**/sign-in")
        page.goto("/runs")
        assert "/sign-in" in page.url
        # The browser notes the wrong password, and what the run's page asked for after the sign-out.
        assert [problem for problem in reader.problems if "401" not in problem] == []
        reader.problems.clear()


def _runs(page: Page) -> set[str]:
    """Return the addresses of the runs listed; what stands beside them changes while they go on."""
    return set(page.locator("main a[href^='/runs/']").evaluate_all("links => links.map(link => link.pathname)"))


@pytest.mark.long
def test_a_page_of_somebody_else_can_do_nothing_with_a_sign_in(server, browser, evil, folder):
    with reading(browser, server.address) as reader:
        page = reader.page
        page.goto("/sign-in")
        page.fill("#name", "小明")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        page.wait_for_url(f"{server.address}/")
        page.goto("/runs")
        before = _runs(page)
        page.goto(evil)
        page.wait_for_function("window.said.length === 3")
        said = page.evaluate("window.said.sort()")
        assert said == ["get refused", "json refused", "plain refused"]
        frame = page.frames[1].locator("body").inner_text() if page.frames[1].url.startswith(server.address) else ""
        assert "小明" not in frame
        page.goto(f"{server.address}/runs")
        assert _runs(page) == before
        assert "Who pays" not in page.locator("main").inner_text()
        reader.problems.clear()  # The browser notes what was refused.
