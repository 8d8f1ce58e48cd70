"""Somebody who reads our pages in a real Chromium, and notes what goes wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from deep_research.web.fetch.chromium import find_chromium
from tests.support.programs import needs
from tests.support.waiting import HANG_S

# A browser, a server and a run on a busy machine take their time.
expect.set_options(timeout=HANG_S * 1_000)
needs_chromium = needs("chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=["--no-sandbox"])
        yield browser
        browser.close()


class Reader:
    """One reader with one page; `problems` are what the console complained of, scripts that failed, and dialogs."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.context = browser.new_context(base_url=address, **{"locale": "en-US", **options})
        self.context.set_default_timeout(HANG_S * 1_000)
        self.page: Page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on("console", lambda said: self._note(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("dialog", self._refuse)

    def _note(self, problem: str) -> None:
        # A connection that a test breaks is noted by the browser too.
        if "net::ERR_" not in problem:
            self.problems.append(problem)

    def _refuse(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def close(self) -> None:
        """Leave."""
        self.context.close()


@contextmanager
def reading(browser: Browser, address: str, **options: Any) -> Iterator[Reader]:
    """Yield a reader; nothing may go wrong in its browser meanwhile."""
    reader = Reader(browser, address, **options)
    try:
        yield reader
        assert reader.problems == []
    finally:
        reader.close()
