"""What of a page becomes part of its document."""

import asyncio
from types import SimpleNamespace
from typing import cast

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.stages.fetch import from_page
from deep_research.report.sources.hit import Hit

PROSE = (
    "<p>This standard names nine kinds of valves, and says which of them may be used below the level of the sea.</p>"
)
HEAD = (
    "<dl><dt>Author:</dt><dd>Ann Lee</dd><dt>Created:</dt><dd>30-Sep-2015</dd>"
    "<dt>Superseded-By:</dt><dd><a href='../v-8/'>8</a></dd></dl>"
)


def test_links_author_and_day_of_a_page_are_its_documents() -> None:
    raw = f"<html><body><main><h1>V-7</h1>{HEAD}{PROSE * 9}</main></body></html>".encode()

    async def fetched(address: str) -> SimpleNamespace:
        return SimpleNamespace(raw=raw, address=f"{address}/", media_type="text/html", title="", published="")

    hit = Hit(address="https://valves.test/v-7", title="V-7")
    context = cast(StageContext, SimpleNamespace(fetch=fetched))
    document, address = asyncio.run(from_page(hit, context))
    assert address == "https://valves.test/v-7/"
    assert (document.author, document.published) == ("Ann Lee", "2015-09-30")
    (link,) = document.links
    assert (link.address, link.text, link.near) == ("https://valves.test/v-8/", "8", "Superseded-By: 8")
