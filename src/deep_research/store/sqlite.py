"""The store port on one SQLite file: a single connection in a thread of its own, one transaction a method."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from deep_research.errors import UsageError
from deep_research.events import RunEvent, RunStatus
from deep_research.evidence.passage import Evidence, Passage
from deep_research.sources.document import Document, text_id
from deep_research.store import sqlite_rows as rows
from deep_research.store.lease import Owner, holds_lease
from deep_research.store.port import Claim, JournalRow, NewEvent, RunRow, StoreSize
from deep_research.store.sqlite_file import Session, SqliteFile, WriteQueue
from deep_research.store.sqlite_rows import (
    ReadCache,
    append_events,
    check_claim,
    check_exists,
    check_free,
    check_removable,
    drop_run,
    find_run,
    get_evidence,
    get_run,
    keep_document,
    list_addresses,
    list_calls,
    list_runs,
    read_answers,
    read_events,
)
from deep_research.value import Json, JsonObject

T = TypeVar("T")
Clock = Callable[[], datetime]

# `delete_run` names no lease: a live owner loses a run after this long without a heartbeat.
_DELETE_LEASE_S = 30.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteStore:
    """All runs of one user in one file; several processes may use the file at once."""

    def __init__(self, path: Path, *, busy_timeout_s: float = 30.0, clock: Clock = _utc_now) -> None:
        self._file = SqliteFile(path, busy_timeout_s=busy_timeout_s)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._writes = WriteQueue(self._file, self._thread)
        self._cache = ReadCache()
        self._clock = clock
        self._is_closed = False

    async def close(self) -> None:
        """Close the connection and end the thread."""
        if not self._is_closed:
            self._is_closed = True
            await self._in_thread(self._file.close)
            self._thread.shutdown(wait=True)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _read(self, work: Callable[[Session], T]) -> T:
        return await self._in_thread(lambda: self._file.read(work))

    async def _write(self, work: Callable[[Session], T]) -> T:
        return await self._writes.write(work)

    def _now(self) -> str:
        return rows.time_column(self._clock())

    # Runs

    async def create_run(self, run: RunRow) -> None:
        """Add a run with status `created`."""

        def work(session: Session) -> None:
            if session.run("add_run", **rows.run_columns(run)) == 0:
                raise UsageError(f"There is a run {run.id} already.")

        await self._write(work)

    async def get_run(self, run: str) -> RunRow:
        """Return a run by its id or by a prefix that is no other run's."""
        return await self._read(lambda session: find_run(session, run))

    async def list_runs(self, *, limit: int, status: RunStatus | None = None) -> list[RunRow]:
        """Return the newest runs first; a damaged one is left out with a warning, so that the others stay in reach."""
        return await self._read(lambda session: list_runs(session, limit=limit, status=status))

    async def delete_run(self, run: str, claimant: Owner) -> None:
        """Remove a run and everything only it named."""

        def work(session: Session) -> None:
            check_removable(session, run, claimant, lease_s=_DELETE_LEASE_S)
            drop_run(session, run)
            self._cache.clear()

        await self._write(work)

    async def claim(self, run: str, owner: Owner, *, lease_s: float) -> Claim:
        """Raise the run's epoch for this owner."""

        def work(session: Session) -> Claim:
            check_free(session, run, owner, lease_s=lease_s)
            (row,) = session.all("claim_run", run=run, owner=rows.json_column(owner.to_json()), now=self._now())
            return Claim(run=run, epoch=row["epoch"])

        return await self._write(work)

    async def heartbeat(self, claim: Claim, owner: Owner, *, active_s: float) -> None:
        """Renew the lease and add to the run's active seconds."""
        fresh = rows.json_column(owner.to_json())

        def work(session: Session) -> None:
            check_claim(session, claim)
            session.run("renew_lease", run=claim.run, owner=fresh, active_s=active_s, now=self._now())

        await self._write(work)

    async def finish(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        event: NewEvent,
        active_s: float = 0.0,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        pending: JsonObject | None = None,
    ) -> list[RunEvent]:
        """Give the run its status, tell it and release the lease, also after a cancel was asked for."""
        given = {"result": result, "error": error, "pending": pending}
        columns = {name: rows.optional_json_column(data) for name, data in given.items()}

        def work(session: Session) -> list[RunEvent]:
            check_claim(session, claim, even_if_cancelled=True)
            session.run("finish_run", run=claim.run, status=status, active_s=active_s, now=self._now(), **columns)
            return append_events(session, claim.run, [event])

        return await self._write(work)

    async def request_cancel(self, run: str, claimant: Owner, *, lease_s: float, event: NewEvent) -> RunRow:
        """Cancel a run nobody holds at once, or ask its owner to stop."""

        def work(session: Session) -> RunRow:
            row = get_run(session, run)
            if row.status in ("done", "cancelled"):
                return row
            is_held = row.owner is not None and holds_lease(row.owner, claimant, lease_s=lease_s)
            session.run("ask_to_stop" if is_held else "cancel_run", run=run, now=self._now())
            if not is_held:
                append_events(session, run, [event])
            return get_run(session, run)

        return await self._write(work)

    async def raise_attempt(self, claim: Claim) -> int:
        """Count a retry of the run and supersede its failed and refused calls."""

        def work(session: Session) -> int:
            check_claim(session, claim)
            session.run("supersede_failures", run=claim.run)
            (row,) = session.all("raise_attempt", run=claim.run, now=self._now())
            attempt: int = row["attempt"]
            return attempt

        return await self._write(work)

    async def while_owner(self, claim: Claim, action: Callable[[], None]) -> None:
        """Do something short while no other process can claim the run."""

        def work(session: Session) -> None:
            check_claim(session, claim)
            action()

        await self._writes.write(work, is_alone=True)

    # Answers of the asker

    async def put_answer(self, run: str, scope: str, answer: Json) -> bool:
        """Keep the first answer to a question."""

        def work(session: Session) -> bool:
            check_exists(session, run)
            return session.run("add_answer", run=run, scope=scope, answer=rows.json_column(answer)) == 1

        return await self._write(work)

    async def get_answers(self, run: str) -> dict[str, Json]:
        """Return all answers by scope."""
        return await self._read(lambda session: read_answers(session, run))

    # Journal

    async def find_call(self, run: str, key: str) -> JournalRow | None:
        """Return one row of the journal; one that its index has lost is found out by `list_calls`."""
        row = await self._read(lambda session: session.one("find_call", run=run, key=key))
        return None if row is None else rows.read_call(row)

    async def record_call(self, claim: Claim, row: JournalRow) -> None:
        """Insert a row, or replace the one with the same key, which keeps its place in the order."""
        columns = rows.call_columns(row)

        def work(session: Session) -> None:
            check_claim(session, claim, even_if_cancelled=row.state != "started")
            session.run("record_call", run=claim.run, **columns)

        await self._write(work)

    async def supersede_calls(self, claim: Claim, keys: Sequence[str]) -> None:
        """Mark failed rows as tried again."""

        def work(session: Session) -> None:
            check_claim(session, claim)
            for key in keys:
                session.run("supersede_call", run=claim.run, key=key)

        await self._write(work)

    async def list_calls(self, run: str) -> list[JournalRow]:
        """Return the journal in the order in which the calls were started."""
        return await self._read(lambda session: list_calls(session, run))

    # Events

    async def append_events(self, claim: Claim, events: Sequence[NewEvent]) -> list[RunEvent]:
        """Number and keep the events whose key is new; return those."""

        def work(session: Session) -> list[RunEvent]:
            check_claim(session, claim)
            return append_events(session, claim.run, events)

        return await self._write(work)

    async def read_events(self, run: str, *, after: int = 0, limit: int | None = None) -> list[RunEvent]:
        """Return events with a sequence number above `after`."""
        return await self._read(lambda session: read_events(session, run, after=after, limit=limit))

    # What was read

    async def put_blob(self, claim: Claim, raw: bytes) -> str:
        """Keep bytes for a run under their SHA-256, compressed; an answer that was paid for is kept after a cancel."""
        columns = await asyncio.to_thread(rows.pack, raw)
        blob = str(columns["id"])

        def work(session: Session) -> str:
            check_claim(session, claim, even_if_cancelled=True)
            session.run("add_blob", **columns)
            session.run("keep_blob", run=claim.run, blob=blob)
            return blob

        return await self._write(work)

    async def get_blob(self, blob: str) -> bytes:
        """Return kept bytes, checked against their id."""
        row = await self._read(lambda session: session.one("get_blob", blob=blob))
        return await asyncio.to_thread(rows.unpack, row, blob)

    async def put_document(self, claim: Claim, document: Document, *, address: str) -> None:
        """Keep a document by its id; where the same text was kept before, that document stands."""
        if document.id != text_id(document.extractor, document.text):
            raise ValueError("a document's id must be the id of its text")
        text = await asyncio.to_thread(rows.pack, rows.text_bytes(document))
        columns = {"snapshot": document.snapshot, "text": text["id"], "about": rows.about_column(document)}

        def work(session: Session) -> None:
            check_claim(session, claim)
            session.run("add_blob", **text)
            session.run("add_document", id=document.id, **columns)
            session.run("add_address", run=claim.run, address=address, document=document.id)
            session.run("keep_blob", run=claim.run, blob=document.snapshot)
            keep_document(session, claim.run, document.id)

        await self._write(work)

    async def get_document(self, document: str) -> Document:
        """Return a document, checked against its id."""
        return await self._read(lambda session: self._cache.document(session, document))

    async def list_addresses(self, run: str) -> dict[str, str]:
        """Return address → document id for everything the run read."""
        return await self._read(lambda session: list_addresses(session, run))

    async def put_evidence(self, claim: Claim, evidence: Sequence[Evidence]) -> None:
        """Keep passages by content id, with one finding for each section of the run.

        Of two findings about one passage for one section the one that sorts first stays, whichever came first.
        """
        for item in evidence:
            if item.id != Passage(document=item.document, start=item.start, end=item.end).id:
                raise ValueError("evidence's id must be the id of its passage")

        def work(session: Session) -> None:
            check_claim(session, claim)
            # Of several findings about a passage another one may stand from now on.
            self._cache.evidence.clear()
            for document in {item.document for item in evidence}:
                keep_document(session, claim.run, document)
            for item in evidence:
                session.run("add_passage", id=item.id, document=item.document, start=item.start, end=item.end)
                finding = rows.json_column(item.finding)
                session.run(
                    "add_evidence",
                    run=claim.run,
                    passage=item.id,
                    section=item.section,
                    finding=finding,
                    score=item.score,
                    header=item.header,
                )

        await self._write(work)

    async def get_evidence(self, run: str, ids: Sequence[str], *, section: str = "") -> list[Evidence]:
        """Return the run's evidence in the order of the ids; of several sections this one's, else the first one's."""
        return await self._read(lambda session: get_evidence(session, self._cache, run, ids, section))

    async def size(self) -> StoreSize:
        """Say how much the store holds."""

        def work(session: Session) -> StoreSize:
            (counts,) = session.all("count_rows")
            files = [session.path.with_name(session.path.name + end) for end in ("", "-wal", "-shm")]
            return StoreSize(bytes_on_disk=sum(file.stat().st_size for file in files if file.exists()), **dict(counts))

        return await self._read(work)
