"""A newcomer's first page: `deep-research serve` in an empty home, with no documents, no runs, no model, no web."""

import os
import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.support.page import chromium, needs_chromium, reading
from tests.support.server import ServerProcess
from tests.support.waiting import HANG_S, wait_until

QUESTIONS: dict[Language, str] = {
    "en": "How much did the Harbour Heat retrofit cost in total?",
    "zh-Hans": "青岚市的海绵城市改造一共花了多少钱？",
    "zh-Hant": "青嵐市的海綿城市改造一共花了多少錢？",
}
LOCALES = {"en": "en-US", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}
SIZES = {"desktop": (1400, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve as a newcomer does: nothing is set; the one engine it may ask is down."""
    folder = tmp_path_factory.mktemp("newcomer")
    started = ServerProcess(folder)
    web = {"DEEP_RESEARCH_ENGINES": "duckduckgo", "DEEP_RESEARCH_DUCKDUCKGO_ADDRESS": "http://127.0.0.1:1"}
    env = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    with (folder / "server.log").open("ab") as log:
        started.process = subprocess.Popen(
            [sys.executable, "-m", "deep_research", "serve", "--port", str(started.port)],
            cwd=folder,
            env=env | web | {"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    wait_until(lambda: started._answers() or not started._is_alive())
    assert started._is_alive(), started.log
    yield started.client.address
    started.kill()
    started.client.http.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("language", LOCALES.values())
@pytest.mark.parametrize("path", ["/", "/documents", "/runs", "/settings", "/api/settings", "/api/collections"])
def test_every_page_opens_where_nothing_is_set(server: str, path: str, language: str) -> None:
    with httpx2.Client(
        base_url=server, trust_env=False, timeout=HANG_S, headers={"Accept-Language": language}
    ) as client:
        answer = client.get(path, follow_redirects=True)
    assert answer.status_code == 200, answer.text


@pytest.mark.long
@needs_chromium
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", QUESTIONS)
def test_a_first_question_has_an_honest_outcome(server: str, browser: Browser, language: Language, size: str) -> None:
    width, height = SIZES[size]
    options = {"locale": LOCALES[language], "viewport": {"width": width, "height": height}}
    with reading(browser, server, **options) as reader:
        page = reader.page
        page.goto("/")
        assert reader.overflow() <= 0
        page.locator("#question").fill(QUESTIONS[language])
        page.locator("[data-start]").click()
        page.wait_for_url("**/runs/*")
        # Nothing could be searched: the page says so, and shows no answer.
        expect(page.get_by_text(words_in(language)("search.unanswered", engines="DuckDuckGo")).first).to_be_visible()
        assert reader.overflow() <= 0
