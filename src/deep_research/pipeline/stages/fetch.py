"""Fetch: from a hit to a document whose bytes and text are stored."""

from deep_research.documents.readers import Reading, read
from deep_research.errors import NetworkError, SourceError
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.earlier import Earlier
from deep_research.pipeline.state import PageState, Update
from deep_research.report.sources.dating import day_of, may_be_within
from deep_research.report.sources.document import Document, snapshot_id, text_id
from deep_research.report.sources.hit import Delivered, Hit
from deep_research.report.sources.source_quality import host_of
from deep_research.request import ResearchRequest
from deep_research.text.in_thread import in_thread


async def fetch(state: PageState, context: StageContext) -> Update:
    """Get a page, read it and store both; raise `CallFailed` if there is nothing to store.

    Where the page cannot be had or read, what the search service delivered of it takes its place. What the run before
    a follow-up read is at hand.
    """
    hit = state.hit
    if known := await _read_before(state, context):
        _check_date(known, hit.address, context.request)
        return {"document": known.id}
    try:
        document, address = await from_page(hit, context)
    except (SourceError, NetworkError):
        if not hit.delivered:
            raise
        document, address = await _from_delivered(hit, hit.delivered, context), hit.address
    _check_date(document, address, context.request)
    address = await context.run.address_for(document.id, address, hit.address)
    await context.run.store.put_document(context.run.lease, document, address=address)
    return {"document": document.id}


async def _read_before(state: PageState, context: StageContext) -> Document | None:
    """Return the document that an earlier run read at an address, if this run follows one that did."""
    if not state.earlier:
        return None
    id_ = (await context.records.load(Earlier, state.earlier)).documents.get(state.hit.address)
    return await context.records.document(id_) if id_ else None


async def from_page(hit: Hit, context: StageContext) -> tuple[Document, str]:
    """Return the document at a hit's address, and the address that it has; raise `CallFailed` if there is none."""
    page = await context.fetch(hit.address)
    reading = await in_thread(read, page.raw, name=page.address, media_type=page.media_type)
    title, published = reading.title or page.title or hit.title, reading.published or page.published or hit.published
    document = _document(reading, page.raw, title=title or hit.address, published=published, media_type=page.media_type)
    return document, page.address


async def _from_delivered(hit: Hit, delivered: Delivered, context: StageContext) -> Document:
    raw = delivered.text.encode()
    reading = await in_thread(read, raw, name="", media_type="text/plain")
    await context.run.store.put_blob(context.run.lease, raw)
    document = _document(reading, raw, title=hit.title, published=hit.published, media_type="text/plain")
    # Its lines are nobody's but the service's.
    return document.replace(places=(), delivered=delivered.replace(text=""))


def _document(reading: Reading, raw: bytes, *, title: str, published: str, media_type: str) -> Document:
    return Document(
        id=text_id(reading.extractor, reading.text),
        snapshot=snapshot_id(raw),
        title=title,
        text=reading.text,
        media_type=media_type,
        extractor=reading.extractor,
        language=reading.language,
        author=reading.author,
        published=published,
        places=reading.places,
        pictures=reading.pictures,
        links=reading.links,
        warnings=reading.warnings,
    )


def _check_date(document: Document, address: str, request: ResearchRequest) -> None:
    """Refuse a source that is dated outside the asked period; a partial date counts by what it says."""
    day = day_of(document.published, document.text, is_page=bool(host_of(address)))
    if not may_be_within(day, request.since, None):
        raise SourceError(f"{address} was left out: it is dated {day}, before {request.since}.")
    if not may_be_within(day, None, request.until):
        raise SourceError(f"{address} was left out: it is dated {day}, after {request.until}.")
