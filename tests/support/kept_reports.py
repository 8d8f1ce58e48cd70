"""Finished reports put into a server's store as they are: too long, too many or too hostile for a run to make."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from deep_research.report.citation import Citations, Source
from deep_research.report.edition import Edition
from deep_research.report.layout import Chapter
from deep_research.report.sources.document import Document, text_id
from deep_research.request import ResearchRequest
from deep_research.settings import Settings
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import NewEvent, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject, canonical_json
from deep_research.wiring import open_store
from tests.support.every_kind import PNG, SVG, edition
from tests.unit.export.test_html import hostile, large


def keep_report(
    settings: Settings, own: Edition, *, tags: Sequence[str] = (), is_verified: bool = True, searched: str = ""
) -> str:
    """Keep a report as a run that is done, with a text for each of its sources; return the run's id."""

    async def keep(store: Store) -> str:
        run = await _created(store, own.question)
        lease = await store.lease(run, current_owner(), lease_s=30)
        documents: dict[str, str] = {}
        for source in own.citations.sources:
            text = f"# {source.title}\n\nThe text of {source.title}, number {len(documents)}.\n"
            snapshot = await store.put_blob(lease, text.encode())
            document = Document(
                id=text_id("plain", text),
                snapshot=snapshot,
                title=source.title,
                text=text,
                media_type="text/markdown",
                extractor="plain",
            )
            await store.put_document(lease, document, address=source.address)
            documents[source.document] = document.id
        shown = canonical_json(own.to_json())
        for before, after in documents.items():
            shown = shown.replace(f'"document":"{before}"', f'"document":"{after}"')
        for kind, picture in (("svg", SVG), ("png", PNG)):
            shown = shown.replace(f'"{kind}":"{kind}"', f'"{kind}":"{await store.put_blob(lease, picture)}"')
        result: JsonObject = {
            "title": own.report.title,
            "edition": await store.put_blob(lease, shown.encode()),
            "report": await store.put_blob(lease, b"# Report\n"),
            "is_verified": is_verified,
            "text": searched,
        }
        event = NewEvent(at=datetime.now(UTC), kind="run-status", key="run-status/1/done", data={"status": "done"})
        await store.finish(lease, "done", event=event, result=result)
        await store.set_tags(run, tags)
        return run

    return _in_own_loop(_with_store(settings, keep))


def keep_runs(settings: Settings, questions: Sequence[str]) -> None:
    """Keep runs that nobody has begun, a minute between them."""

    async def keep(store: Store) -> str:
        for minute, question in enumerate(questions):
            await _created(store, question, minute=minute)
        return ""

    _in_own_loop(_with_store(settings, keep))


def long_report() -> Edition:
    """Return a report of 40 sections and 200 sources, with a title of 200 characters."""
    own = large(200, around=200)
    sources = tuple(
        Source(document=f"s{at}", title=f"Survey {at} of heat losses", address=f"https://example.org/{at}")
        for at in range(200)
    )
    passages = tuple(each.model_copy(update={"document": f"s{at % 180}"}) for at, each in enumerate(own.passages))
    body = own.report.paragraphs
    chapters = tuple(
        Chapter(title=f"Losses in city {at + 1}", paragraphs=tuple(body[at * 5 : at * 5 + 5])) for at in range(40)
    )
    title = ("How much heat do the networks of cold cities lose between plant and house, and why? " * 3)[:200]
    report = own.report.model_copy(update={"title": title, "chapters": chapters})
    citations = Citations(cited=sources[:180], additional=sources[180:])
    return own.model_copy(update={"question": title, "report": report, "passages": passages, "citations": citations})


def hostile_report(text: str) -> Edition:
    """Return a report that says a text wherever a report can say something."""
    return hostile(text, edition()).model_copy(update={"question": text})


async def _created(store: Store, question: str, *, minute: int = 0) -> str:
    at = datetime.now(UTC) - timedelta(minutes=minute)
    row = RunRow(
        id=uuid4().hex,
        created_at=at,
        updated_at=at,
        status="created",
        request=ResearchRequest(question=question),
        wiring="deep_research.wiring:default",
        folder="/nowhere",
        code_version="1",
    )
    await store.create_run(row)
    return row.id


def _in_own_loop(work: Coroutine[None, None, str]) -> str:
    """Return what some work gives; a test with a browser has a loop in its thread already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _with_store(settings: Settings, work: Callable[[Store], Awaitable[str]]) -> str:
    store = open_store(settings)
    try:
        return await work(store)
    finally:
        await store.close()
