"""A report as text for somebody elsewhere: its figures and sources at addresses, its citations as stretches of it."""

import re
from typing import NamedTuple
from urllib.parse import quote

from deep_research.errors import UsageError
from deep_research.pipeline.control import words_of
from deep_research.report.citation import Source
from deep_research.report.edition import Edition
from deep_research.service.accounts.identity import Identity
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import words_in

# Brackets in anybody's words are escaped: what is not is ours.
_FILE = re.compile(r"(?<!\\)\]\((figures/[^)]+)\)")
_MARKER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
SCHEME = "deep-research"


class Links(NamedTuple):
    """Where things are found: below the address of a server, or, where there is none, as resources of MCP."""

    site: str = ""

    def report(self, run: str) -> str:
        """Return where a report is read."""
        return f"{self.site}/runs/{run}" if self.site else f"{SCHEME}://runs/{run}/report.md"

    def picture(self, run: str, picture: str) -> str:
        """Return where a figure of a report is seen."""
        return f"{self.site}/api/runs/{run}/pictures/{picture}" if self.site else self.report(run)

    def source(self, run: str, source: Source) -> str:
        """Return where a source is read: on the web, or as it is kept here."""
        if source.address.startswith(("http://", "https://")):
            return source.address
        start = f"{self.site}/api" if self.site else f"{SCHEME}:/"
        return f"{start}/runs/{run}/sources/{source.document}"

    def document(self, collection: str, address: str) -> str:
        """Return where a document of a collection is found."""
        return f"{self.site}/documents" if self.site else f"{SCHEME}://documents/{collection}/{quote(address)}"


class Citation(NamedTuple):
    """A marker in a text, from `start` up to `end` in characters, and the source that it names."""

    start: int
    end: int
    url: str
    title: str
    number: int


class ReportText(NamedTuple):
    """A report as Markdown, its citations in order, and its numbered sources."""

    title: str
    text: str
    citations: tuple[Citation, ...]
    sources: tuple[Source, ...]
    is_verified: bool


async def report_text(service: ResearchService, row: RunRow, who: Identity, links: Links) -> ReportText:
    """Return the report of a run that is done."""
    result = await service.result(row.id, who)
    edition = await _edition(service, row)
    captions = edition.captions if edition else []
    files = {
        caption.file(".png"): links.picture(row.id, caption.figure.png) for caption in captions if caption.figure.png
    }
    text = _FILE.sub(lambda link: f"]({files.get(link[1], links.report(row.id))})", result.final_report)
    sources = tuple(Source.from_json(source) for source in result.sources)
    # The list of references repeats each number once; it is no citation.
    words = words_in(edition.language) if edition else words_of(row)
    body = text.rpartition(f"\n## {words('report.references')}\n")[0] or text
    citations = tuple(_citations(body, sources, row.id, links))
    return ReportText(result.title, text, citations, sources, result.is_verified)


async def _edition(service: ResearchService, row: RunRow) -> Edition | None:
    try:
        return (await service.contents_of(row)).edition
    except UsageError:  # a run of an earlier version kept its Markdown only
        return None


def _citations(text: str, sources: tuple[Source, ...], run: str, links: Links) -> list[Citation]:
    found = []
    for marker in _MARKER.finditer(text):
        number = int(marker[1])
        if 0 < number <= len(sources):
            source = sources[number - 1]
            found.append(Citation(*marker.span(), links.source(run, source), source.title, number))
    return found
