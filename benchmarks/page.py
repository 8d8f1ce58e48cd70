"""Views of the page in Chromium on loopback: when something is first painted, when all is there, and what is sent."""

import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.support.page import Reader, chromium
from tests.support.server import Client, serving, settings_for
from tests.support.staged_runs import research_events, stage_run

TIMES = 5
SECTIONS, SOURCES, QUERIES = 40, 200, 60
_MEASURED = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint").length;
  while (!painted()) await new Promise((go) => setTimeout(go, 10));
  const [page] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const sent = [page, ...performance.getEntriesByType("resource")].reduce((sum, each) => sum + each.transferSize, 0);
  return [paint.startTime, page.loadEventEnd, sent];
}"""


def report() -> None:
    """Print the table: medians of visits by somebody who has never been here."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        settings = settings_for(Path(folder))
        with serving(settings) as client:
            told = research_events(
                [f"Section {number}" for number in range(SECTIONS)],
                [f"A source with a title, number {number}" for number in range(SOURCES)],
                [f"What query {number} asks" for number in range(QUERIES)],
            )
            views = {
                "new research": "/",
                f"run, {SOURCES} sources": f"/runs/{stage_run(settings, 'What did it cost?', told)}",
                "report": f"/runs/{client.finished()['id']}",
                "history": "/runs",
                "documents": "/documents",
                "settings": "/settings",
            }
            print("\nView                     first paint ms   loaded ms   KB sent")
            for name, path in views.items():
                paint, loaded, sent = _median(browser, client, path)
                print(f"  {name:24}{paint:13.0f}{loaded:12.0f}{sent / 1e3:10.1f}")


def _median(browser: Browser, client: Client, path: str) -> tuple[float, ...]:
    visits = []
    for _ in range(TIMES):
        reader = Reader(browser, client.address)
        reader.page.goto(path)
        visits.append(reader.page.evaluate(_MEASURED))
        reader.close()
    return tuple(statistics.median(each) for each in zip(*visits, strict=True))


if __name__ == "__main__":
    report()
