"""Fetch: from a hit to a document whose bytes and text are stored."""

from functools import lru_cache

from deep_research.errors import SourceError
from deep_research.in_thread import in_thread
from deep_research.pipeline.state import RunState, Update
from deep_research.readers import Reading, read
from deep_research.request import ResearchRequest
from deep_research.sources.dating import day_of, may_be_within
from deep_research.sources.document import Document, snapshot_id, text_id
from deep_research.sources.hit import Hit
from deep_research.sources.source_quality import host_of

_REMEMBERED_BYTES = 200_000


async def fetch(state: RunState) -> Update:
    """Get a page, read it and store both; raise `CallFailed` if there is nothing to store."""
    hit, context = Hit.from_json(state.input["hit"]), state.context
    if context.fetcher is None:
        raise SourceError(f"{hit.address} was found, but nothing here can fetch it.")
    page = await context.fetcher.fetch(hit.address)
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
    _check_date(document, page.address, context.request)
    address = await context.run.address_for(document.id, page.address, hit.address)
    await context.run.store.put_document(context.run.claim, document, address=address)
    return {"document": document.id}


def _read(raw: bytes, name: str, media_type: str) -> Reading:
    return read(raw, name=name, media_type=media_type)


# Sections find the same pages, and so do runs of one process.
_read_once = lru_cache(maxsize=32)(_read)


def _check_date(document: Document, address: str, request: ResearchRequest) -> None:
    """Refuse a source that is dated outside the asked period; a partial date counts by what it says."""
    day = day_of(document.published, document.text, is_page=bool(host_of(address)))
    if not may_be_within(day, request.since, None):
        raise SourceError(f"{address} was left out: it is dated {day}, before {request.since}.")
    if not may_be_within(day, None, request.until):
        raise SourceError(f"{address} was left out: it is dated {day}, after {request.until}.")
