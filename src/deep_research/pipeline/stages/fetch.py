"""Fetch: from a hit to a document whose bytes and text are stored."""

from functools import lru_cache

from deep_research.errors import SourceError
from deep_research.in_thread import in_thread
from deep_research.pipeline.context import Ports
from deep_research.readers import Reading, read
from deep_research.request import ResearchRequest
from deep_research.sources.document import Document, snapshot_id, text_id
from deep_research.sources.hit import Hit

_REMEMBERED_BYTES = 200_000


async def fetch(hit: Hit, *, ports: Ports) -> Document:
    """Get a page, read it and keep both; raise `CallFailed` if there is nothing to keep."""
    if ports.fetcher is None:
        raise SourceError(f"{hit.address} was found, but nothing here can fetch it.")
    page = await ports.fetcher.fetch(hit.address)
    reader = _read_once if len(page.raw) <= _REMEMBERED_BYTES else _read
    reading = await in_thread(reader, page.raw, page.address, page.media_type)
    document = Document(
        id=text_id(reading.extractor, reading.text),
        snapshot=snapshot_id(page.raw),
        title=reading.title or page.title or hit.title or hit.address,
        text=reading.text,
        media_type=page.media_type,
        extractor=reading.extractor,
        language=reading.language,
        author=reading.author,
        published=reading.published or page.published or hit.published,
        places=reading.places,
        warnings=reading.warnings,
    )
    _check_date(document, page.address, ports.request)
    address = await ports.run.address_for(document.id, page.address, hit.address)
    await ports.store.put_document(ports.run.claim, document, address=address)
    return document


def _read(raw: bytes, name: str, media_type: str) -> Reading:
    return read(raw, name=name, media_type=media_type)


# Sections find the same pages, and so do runs of one process.
_read_once = lru_cache(maxsize=32)(_read)


def _check_date(document: Document, address: str, request: ResearchRequest) -> None:
    """Refuse a source that is dated outside the asked period; a partial date counts by what it says."""
    published = document.published[:10]
    if not published:
        return
    if request.since is not None and published < request.since.isoformat()[: len(published)]:
        raise SourceError(f"{address} was left out: it is dated {published}, before {request.since}.")
    if request.until is not None and published > request.until.isoformat()[: len(published)]:
        raise SourceError(f"{address} was left out: it is dated {published}, after {request.until}.")
