"""The store: runs, their journal and events, and everything that was read, in a database. Knows no dialect.

Every method is one transaction, in a thread of the store's own. Methods that take a `Claim` write only while that claim
is the run's newest, and raise `RunTaken` otherwise; they raise `RunCancelled` once a cancel was asked for, but for
`finish` and for `record_call` of a call that has ended (its answer was paid for).
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from deep_research.errors import CannotWrite, RunHeld, StopRun, StoreCorrupt, StoreLocked, UsageError
from deep_research.events import RunEvent, RunStatus
from deep_research.report.evidence.passage import Evidence, Passage
from deep_research.report.sources.document import Document, text_id
from deep_research.storage.database.port import Column, Database, Row, Session, value_of
from deep_research.storage.store import rows
from deep_research.storage.store.blobs import BlobStorage, new_name
from deep_research.storage.store.lease import Owner, holds_lease
from deep_research.storage.store.port import JournalRow, Lease, NewEvent, RunRow, StoreSize
from deep_research.value import Json, JsonObject

_MAX_BATCH = 64
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)

# `delete_run` names no lease: a live owner loses a run after this long without a heartbeat.
_DELETE_LEASE_S = 30.0
# What is smaller is read faster from a row than from a file or over the network.
_MIN_OBJECT_BYTES = 8_192
_DRAINING = "draining"


@dataclass(frozen=True)
class _Write:
    """One piece of work; `in_own_transaction` means that it must not be done twice or undone for another."""

    work: Callable[[Session], Any]
    in_own_transaction: bool
    done: Future[Any] = field(default_factory=Future)


@dataclass
class WriteQueue:
    """Hands writes to the thread that owns the database, in the order in which they came."""

    database: Database
    thread: ThreadPoolExecutor
    _waiting: deque[_Write] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def write(self, work: Callable[[Session], T], *, in_own_transaction: bool = False) -> T:
        """Do the work in a transaction; return once it is on the disk."""
        write = _Write(work, in_own_transaction)
        with self._lock:
            self._waiting.append(write)
        # Whoever comes to the thread first takes along what waits by then; the others find nothing left to do.
        self.thread.submit(self._keep_waiting)
        result: T = await asyncio.wrap_future(write.done)
        return result

    def _keep_waiting(self) -> None:
        wanted = [write for write in self._next_batch() if write.done.set_running_or_notify_cancel()]
        if len(wanted) > 1:
            try:
                results = self.database.write(lambda session: [write.work(session) for write in wanted])
            except (StoreLocked, CannotWrite, StoreCorrupt) as exc:
                # What is wrong with it is wrong for all; one after the other, they would wait for a lock in turn.
                for write in wanted:
                    write.done.set_exception(exc)
                return
            except Exception:  # Nothing was kept; each is tried by itself, and raises its own failure.
                results = []
            for write, result in zip(wanted, results, strict=False):
                write.done.set_result(result)
            wanted = wanted[len(results) :]
        for write in wanted:
            try:
                write.done.set_result(self.database.write(write.work))
            except Exception as exc:  # Raised where the write is waited for.
                write.done.set_exception(exc)

    def _next_batch(self) -> list[_Write]:
        with self._lock:
            batch: list[_Write] = []
            while self._waiting and len(batch) < _MAX_BATCH:
                if batch and (batch[-1].in_own_transaction or self._waiting[0].in_own_transaction):
                    break
                batch.append(self._waiting.popleft())
            return batch


def _reads(work: Callable[Concatenate[Session, P], T]) -> "Callable[Concatenate[Store, P], Coroutine[Any, Any, T]]":
    """Return the method of a store that does this in a transaction of its own."""

    async def method(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._read(lambda session: work(session, *args, **kwargs))

    return method


class Store:
    """All runs in one database; several processes may use it at once."""

    get_run = _reads(rows.find_run)
    list_runs = _reads(rows.list_runs)
    list_unfinished = _reads(rows.list_unfinished)
    get_answers = _reads(rows.read_answers)
    list_calls = _reads(rows.list_calls)
    read_events = _reads(rows.read_events)
    list_addresses = _reads(rows.list_addresses)

    def __init__(
        self,
        database: Database,
        *,
        blobs: BlobStorage | None = None,
        min_object_bytes: int = _MIN_OBJECT_BYTES,
    ) -> None:
        """Keep content of that many bytes, compressed, and more in `blobs`, where that is given."""
        self._database = database
        self._blobs = blobs
        self._min_object_bytes = min_object_bytes
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._writes = WriteQueue(database, self._thread)
        self._cache = rows.ReadCache(blobs)
        self._is_closed = False

    async def close(self) -> None:
        """Release every connection."""
        if not self._is_closed:
            self._is_closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
            self._thread.shutdown(wait=True)

    async def _read(self, work: Callable[[Session], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._database.read, work)

    async def _all(self, query: str, **values: Column) -> list[Row]:
        return await self._read(lambda session: session.all(query, **values))

    async def _write_as(
        self,
        lease: Lease,
        work: Callable[[Session], T],
        *,
        even_if_cancelled: bool = False,
        in_own_transaction: bool = False,
    ) -> T:
        """Do the work unless the claim is no longer the run's newest."""

        def checked(session: Session) -> T:
            rows.check_lease(session, lease, even_if_cancelled=even_if_cancelled)
            return work(session)

        return await self._writes.write(checked, in_own_transaction=in_own_transaction)

    def _now(self) -> str:
        return rows.time_column(datetime.now(UTC))

    # Runs

    async def create_run(self, run: RunRow) -> None:
        """Add a run with status `created`."""

        def work(session: Session) -> None:
            if session.run("add_run", **rows.run_columns(run)) == 0:
                raise UsageError(f"There is a run {run.id} already.")

        await self._writes.write(work)

    async def count_running(self) -> dict[str, int]:
        """Return how many runs of each user of a server are being worked on."""
        return {row["user"]: row["runs"] for row in await self._all("count_running")}

    async def count_takeovers(self) -> int:
        """Return how often a run was taken over from a process that had not let go of it, over all runs."""
        (row,) = await self._all("count_takeovers")
        return int(row["takeovers"])

    async def reopen_run(self, run: str, *, retry: bool) -> RunRow:
        """Have a run that stopped go on (status `interrupted`), with `retry` by doing its failed steps again.

        One that has not begun or is being worked on is left alone.
        """

        def work(session: Session) -> RunRow:
            rows.lock_run(session, run)
            session.run("reopen_run", run=run, retry=retry, now=self._now())
            return rows.get_run(session, run)

        return await self._writes.write(work)

    async def is_draining(self) -> bool:
        """Return whether workers are to take up no run."""
        return any(row["is_on"] for row in await self._all("get_switch", name=_DRAINING))

    async def set_draining(self, is_on: bool) -> None:
        """Tell all workers whether to take up runs."""
        await self._writes.write(lambda session: session.run("set_switch", name=_DRAINING, is_on=is_on))

    async def count_by_status(self) -> dict[str, int]:
        """Return how many runs have each status."""
        return {row["status"]: row["runs"] for row in await self._all("count_by_status")}

    async def set_tags(self, run: str, tags: Sequence[str]) -> None:
        """File a run under these words alone."""

        def work(session: Session) -> None:
            rows.run_row(session, run)
            session.run("set_tags", run=run, tags=rows.json_column(list(tags)))

        await self._writes.write(work)

    async def give_runs(self, *, before: str, after: str) -> None:
        """Make all runs of one user those of another."""
        await self._writes.write(lambda session: session.run("give_runs", before=before, after=after))

    async def delete_run(self, run: str, claimant: Owner) -> None:
        """Remove a run and all that nothing else names; `RunHeld` if it is being worked on."""

        def work(session: Session) -> list[str]:
            session.all("lock_content")
            asking = rows.in_shared_time(session, claimant)
            rows.check_removable(session, run, asking, lease_s=_DELETE_LEASE_S)
            dropped = rows.drop_run(session, run)
            self._cache.clear()
            return dropped

        # Not before the rows are gone for good: a transaction that fails would name objects that are not there.
        for name in await self._writes.write(work):
            await self._delete_object(name)

    async def lease(self, run: str, owner: Owner, *, lease_s: float, seen_epoch: int | None = None) -> Lease:
        """Raise the run's epoch, set it `running`, forget any cancel; `RunHeld` while a live owner has the lease.

        `RunHeld` too where the run was taken or cancelled since the epoch that was seen.
        """

        def work(session: Session) -> Lease:
            asking = rows.in_shared_time(session, owner)
            before = rows.require_sound(rows.lock_run(session, run), "runs", run)
            rows.refuse_held(before, asking, lease_s=lease_s)
            if seen_epoch is not None and before["epoch"] != seen_epoch:
                raise RunHeld(f"Run {run} was claimed or cancelled by another process a moment ago.")
            owner_json = rows.json_column(asking.to_json())
            counts = rows.takeover_columns(session, before)
            (row,) = session.all("claim_run", run=run, owner=owner_json, now=self._now(), **counts)
            return Lease(run=run, epoch=row["epoch"])

        return await self._writes.write(work)

    async def heartbeat(self, lease: Lease, owner: Owner, *, active_s: float) -> None:
        """Renew the lease of a running run with the owner's fresh times, and add `active_s` to its active seconds."""

        def work(session: Session) -> None:
            fresh = rows.json_column(rows.in_shared_time(session, owner).to_json())
            session.run("renew_lease", run=lease.run, owner=fresh, active_s=active_s, now=self._now())

        await self._write_as(lease, work)

    async def finish(
        self,
        lease: Lease,
        status: RunStatus,
        *,
        event: NewEvent,
        active_s: float = 0.0,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        pending: JsonObject | None = None,
    ) -> list[RunEvent]:
        """Give the run its status and last active seconds, tell it, release the lease; return the event if new."""
        values = {"result": result, "error": error, "pending": pending}
        columns = {name: rows.optional_json_column(data) for name, data in values.items()}

        def work(session: Session) -> list[RunEvent]:
            session.run("finish_run", run=lease.run, status=status, active_s=active_s, now=self._now(), **columns)
            return rows.append_events(session, lease.run, [event])

        return await self._write_as(lease, work, even_if_cancelled=True)

    async def request_cancel(self, run: str, claimant: Owner, *, lease_s: float, event: NewEvent) -> RunRow:
        """Cancel a run nobody holds at once and keep the event that tells it, or ask its owner to stop.

        A run that is done or cancelled is left alone.
        """

        def work(session: Session) -> RunRow:
            row = rows.read_run(rows.lock_run(session, run))
            if row.status in ("done", "cancelled"):
                return row
            asking = rows.in_shared_time(session, claimant)
            is_leased = holds_lease(row.owner, asking, lease_s=lease_s)
            session.run("ask_to_stop" if is_leased else "cancel_run", run=run, now=self._now())
            if not is_leased:
                rows.append_events(session, run, [event])
            return rows.get_run(session, run)

        return await self._writes.write(work)

    async def raise_attempt(self, lease: Lease) -> int:
        """Count a retry of the whole run, supersede its failed and refused calls, and return the new attempt."""

        def work(session: Session) -> int:
            session.run("supersede_failures", run=lease.run)
            (row,) = session.all("raise_attempt", run=lease.run, now=self._now())
            return int(row["attempt"])

        return await self._write_as(lease, work)

    async def while_owner(self, lease: Lease, action: Callable[[], None]) -> None:
        """Do something short outside the store (a rename) that must not happen once another process owns the run."""
        is_done = False

        def work(_: Session) -> None:
            # A transaction may be begun again after it was done.
            nonlocal is_done
            if not is_done:
                action()
                is_done = True

        await self._write_as(lease, work, in_own_transaction=True)

    # Answers of the user

    async def put_answer(self, run: str, scope: str, answer: Json) -> bool:
        """Keep the answer to a waiting question; False if it has been answered before (the first answer stands)."""

        def work(session: Session) -> bool:
            rows.run_row(session, run)
            return session.run("add_answer", run=run, scope=scope, answer=rows.json_column(answer)) == 1

        return await self._writes.write(work)

    # Journal

    async def find_call(self, run: str, key: str) -> JournalRow | None:
        """Return one row of the journal; one that its index has lost is found out by `list_calls`."""
        found = await self._all("find_call", run=run, key=key)
        return rows.read_call(found[0]) if found else None

    async def record_call(self, lease: Lease, row: JournalRow) -> None:
        """Insert a row, or replace the one with the same key, which keeps its place in the order."""
        columns = rows.call_columns(row)
        await self._write_as(
            lease,
            lambda session: session.run("record_call", run=lease.run, **columns),
            even_if_cancelled=row.state != "started",
        )

    async def supersede_calls(self, lease: Lease, keys: Sequence[str]) -> None:
        """Mark failed rows as tried again, so that the next call takes the next attempt."""
        await self._write_as(
            lease, lambda session: [session.run("supersede_call", run=lease.run, key=key) for key in keys]
        )

    # Events

    async def append_events(self, lease: Lease, events: Sequence[NewEvent]) -> list[RunEvent]:
        """Number and keep the events whose key is new; return those."""
        return await self._write_as(lease, lambda session: rows.append_events(session, lease.run, events))

    async def last_seq(self, run: str) -> int:
        """Return the sequence number of a run's newest event, 0 where it has none."""
        (row,) = await self._all("last_seq", run=run)
        return int(row["seq"])

    # What was read

    async def put_blob(self, lease: Lease, raw: bytes) -> str:
        """Keep bytes for a run under their SHA-256, compressed; an answer that was paid for is kept after a cancel."""
        packed = await asyncio.to_thread(rows.pack, raw)

        def work(session: Session, columns: dict[str, Column]) -> int:
            added = session.run("add_blob", **columns)
            session.run("keep_blob", run=lease.run, blob=packed.id)
            return added

        await self._write_content(lease, packed, work, even_if_cancelled=True)
        return packed.id

    async def get_blob(self, blob: str) -> bytes:
        """Return kept bytes; `StoreCorrupt` if they are missing or damaged."""
        row = await self._read(lambda session: session.one("get_blob", blob=blob))
        return await asyncio.to_thread(rows.unpack, row, blob, self._blobs)

    async def _write_content(
        self,
        lease: Lease,
        packed: rows.Packed,
        work: Callable[[Session, dict[str, Column]], int],
        *,
        even_if_cancelled: bool = False,
    ) -> None:
        """Do work that adds a row of `blobs` and returns how many it added; its object is written before.

        Where the row is there already no object is written: should it be removed meanwhile, the bytes go into the row.
        """
        name = None
        is_large = len(packed.packed) >= self._min_object_bytes
        if self._blobs is not None and is_large and not await self._all("find_blob", blob=packed.id):
            name = new_name(packed.id)
            await asyncio.to_thread(self._blobs.put, name, packed.packed)
        columns = packed.columns(name)
        added = await self._write_as(lease, lambda session: work(session, columns), even_if_cancelled=even_if_cancelled)
        if name is not None and not added:
            await self._delete_object(name)

    async def _delete_object(self, name: str) -> None:
        if self._blobs is None:
            _log.warning("%s is not needed any more, but `blobs` does not say where it is", name)
            return
        try:
            await asyncio.to_thread(self._blobs.delete, name)
        except StopRun as exc:
            _log.warning("%s is not needed any more and could not be deleted: %s", name, exc)

    async def put_document(self, lease: Lease, document: Document, *, address: str) -> None:
        """Keep a document by its id, and that it stood at the address; the run refers to it from now on.

        Where the same text was kept before, that document stands.
        """
        if document.id != text_id(document.extractor, document.text):
            raise ValueError("a document's id must be the id of its text")
        text = await asyncio.to_thread(rows.pack, document.text.encode("utf-8", "surrogatepass"))
        # All but its text and the ids that have columns of their own.
        about = rows.json_column(document.model_dump(mode="json", exclude={"id", "snapshot", "text"}))

        def work(session: Session, columns: dict[str, Column]) -> int:
            added = session.run("add_blob", **columns)
            session.run("add_document", id=document.id, snapshot=document.snapshot, text=text.id, about=about)
            session.run("add_address", run=lease.run, address=address, document=document.id)
            session.run("keep_blob", run=lease.run, blob=document.snapshot)
            rows.keep_document(session, lease.run, document.id)
            return added

        await self._write_content(lease, text, work)

    async def get_document(self, document: str) -> Document:
        """Return a document; `StoreCorrupt` if it is missing or damaged."""
        if known := self._cache.cached(document):
            return known
        return await self._read(lambda session: self._cache.document(session, document))

    async def put_evidence(self, lease: Lease, evidence: Sequence[Evidence]) -> None:
        """Keep passages by content id, with one finding for each section of the run.

        Of two findings about one passage for one section the one that sorts first stays, whichever came first.
        """
        for item in evidence:
            if item.id != Passage(document=item.document, start=item.start, end=item.end).id:
                raise ValueError("evidence's id must be the id of its passage")

        def work(session: Session) -> None:
            self._cache.forget_evidence(lease.run, [item.id for item in evidence])
            for document in {item.document for item in evidence}:
                rows.keep_document(session, lease.run, document)
            for item in evidence:
                session.run("add_passage", id=item.id, document=item.document, start=item.start, end=item.end)
                session.run(
                    "add_evidence",
                    run=lease.run,
                    passage=item.id,
                    section=item.section,
                    finding=rows.json_column(item.finding),
                    score=item.score,
                    header=item.header,
                )

        await self._write_as(lease, work)

    async def get_evidence(self, run: str, ids: Sequence[str], *, sections: Collection[str] = ()) -> list[Evidence]:
        """Return the run's evidence in the order of the ids, each with its quote cut from its document.

        Each with what it says for one of the sections, else for the first; `StoreCorrupt` for an id the run has not.
        """
        return await self._read(
            lambda session: [self._cache.evidence(session, run, passage, sections) for passage in ids]
        )

    async def size(self) -> StoreSize:
        """Return how much the store holds."""
        (row,) = await self._all("measure")
        return value_of(StoreSize, row)


OpenStore = Callable[[], Store]
