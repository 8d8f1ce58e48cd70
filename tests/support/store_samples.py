"""Runs, calls, events, documents and evidence to try a store with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone

from deep_research.events import RunStatus
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.sources.document import Document, Place, snapshot_id, text_id
from deep_research.request import ResearchRequest
from deep_research.storage.store.lease import Owner, current_owner
from deep_research.storage.store.port import CallState, JournalRow, Lease, NewEvent, RunRow
from deep_research.storage.store.store import OpenStore, Store

START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE_S = 30.0
# Half of a surrogate pair: text that came out of a broken file and that no encoder takes.
BROKEN_TEXT = "broken \ud83d text"


def make_run(run: str = "a1b2c3d4", *, minute: int = 0) -> RunRow:
    """Return a new run."""
    at = START + timedelta(minutes=minute)
    request = ResearchRequest(question="Wie groß? 有多大?", focus=("体积",))
    return RunRow(
        id=run,
        created_at=at,
        updated_at=at,
        status="created",
        request=request,
        wiring="m:f",
        folder="/r",
        code_version="1",
    )


def make_call(key: str, *, state: CallState = "done", **fields: object) -> JournalRow:
    """Return a journal row."""
    given = {"key": key, "kind": "search", "scope": f"s1/{key}", "attempt": 0, "state": state, "started_at": START}
    return JournalRow.from_json(given | fields)


def make_event(key: str) -> NewEvent:
    """Return an event, timed in another zone than UTC."""
    at = START.astimezone(timezone(timedelta(hours=8)))
    return NewEvent(at=at, kind="message", key=key, data={"type": "text", "text": f"讯息 {key}"})


def make_status(status: RunStatus, *, epoch: int = 1) -> NewEvent:
    """Return the event that tells a run's status."""
    return NewEvent(at=START, kind="run-status", key=f"run-status/{epoch}/{status}", data={"status": status})


def make_document(text: str, *, snapshot: str = "", title: str = "标题") -> Document:
    """Return a document with a place."""
    return Document(
        id=text_id("plain 1", text),
        snapshot=snapshot or snapshot_id(text.encode("utf-8", "surrogatepass")),
        title=title,
        text=text,
        media_type="text/plain",
        extractor="plain 1",
        language="zh-Hans",
        places=(Place(kind="page", label="1", start=0, end=len(text)),),
    )


def make_evidence(document: Document, start: int, end: int, *, section: str, finding: str = "发现") -> Evidence:
    """Return evidence from a document."""
    passage = Passage(document=document.id, start=start, end=end)
    return evidence_from(passage, text=document.text, finding=finding, section=section)


def make_stranger(*, seconds_ago: float) -> Owner:
    """Return a process on another host, by the last sign of its life."""
    me = current_owner()
    return me.model_copy(update={"host": "elsewhere", "beat_wall_s": me.beat_wall_s - seconds_ago})


@asynccontextmanager
async def opened(open_store: OpenStore) -> AsyncIterator[Store]:
    """Open a store and close it in the end."""
    store = open_store()
    try:
        yield store
    finally:
        await store.close()


async def start_run(store: Store, run: str = "a1b2c3d4", *, minute: int = 0) -> Lease:
    """Create a run and claim it."""
    await store.create_run(make_run(run, minute=minute))
    return await store.lease(run, current_owner(), lease_s=LEASE_S)
