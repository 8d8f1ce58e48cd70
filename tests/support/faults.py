"""A store that kills its own process or fails at a chosen write, so that tests can stop a run anywhere."""

import os
import signal
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Literal, TypeVar

from deep_research.errors import CannotWrite
from deep_research.events import RunEvent, RunStatus
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.document import Document
from deep_research.storage.store.lease import Owner
from deep_research.storage.store.port import JournalRow, Lease, NewEvent, RunChoice, RunRow, StoreSize, UnfinishedRun
from deep_research.storage.store.store import Store
from deep_research.value import Json, JsonObject

T = TypeVar("T")
Fault = Literal["kill_before", "kill_after", "fail"]


class FaultyStore(Store):
    """Passes every call on to `inner`, and brings its fault at write number `at` (counted from 1; 0 is never).

    Heartbeats come by the clock, so they are not counted: the same run meets its fault at the same write each time.
    """

    def __init__(self, inner: Store, *, at: int, fault: Fault, error: Exception | None = None) -> None:
        self._inner = inner
        self._at = at
        self._fault = fault
        self._error = error or CannotWrite()
        self._counted = 0

    @property
    def writes(self) -> int:
        """How many writes were asked for so far."""
        return self._counted

    async def _write(self, write: Coroutine[Any, Any, T]) -> T:
        self._counted += 1
        is_due = self._counted == self._at
        if is_due and self._fault == "kill_before":
            _kill_self()
        if is_due and self._fault == "fail":
            write.close()
            raise self._error
        done = await write
        if is_due and self._fault == "kill_after":
            _kill_self()
        return done

    # Writes

    async def create_run(self, run: RunRow) -> None:
        """Count, then pass on."""
        await self._write(self._inner.create_run(run))

    async def lease(self, run: str, owner: Owner, *, lease_s: float, seen_epoch: int | None = None) -> Lease:
        """Count, then pass on."""
        return await self._write(self._inner.lease(run, owner, lease_s=lease_s, seen_epoch=seen_epoch))

    async def reopen_run(self, run: str, *, retry: bool) -> RunRow:
        """Count, then pass on."""
        return await self._write(self._inner.reopen_run(run, retry=retry))

    async def set_draining(self, is_on: bool) -> None:
        """Count, then pass on."""
        await self._write(self._inner.set_draining(is_on))

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
        """Count, then pass on."""
        return await self._write(
            self._inner.finish(
                lease, status, event=event, active_s=active_s, result=result, error=error, pending=pending
            )
        )

    async def raise_attempt(self, lease: Lease) -> int:
        """Count, then pass on."""
        return await self._write(self._inner.raise_attempt(lease))

    async def while_owner(self, lease: Lease, action: Callable[[], None]) -> None:
        """Count, then pass on."""
        await self._write(self._inner.while_owner(lease, action))

    async def put_answer(self, run: str, scope: str, answer: Json) -> bool:
        """Count, then pass on."""
        return await self._write(self._inner.put_answer(run, scope, answer))

    async def record_call(self, lease: Lease, row: JournalRow) -> None:
        """Count, then pass on."""
        await self._write(self._inner.record_call(lease, row))

    async def supersede_calls(self, lease: Lease, keys: Sequence[str]) -> None:
        """Count, then pass on."""
        await self._write(self._inner.supersede_calls(lease, keys))

    async def append_events(self, lease: Lease, events: Sequence[NewEvent]) -> list[RunEvent]:
        """Count, then pass on."""
        return await self._write(self._inner.append_events(lease, events))

    async def put_blob(self, lease: Lease, raw: bytes) -> str:
        """Count, then pass on."""
        return await self._write(self._inner.put_blob(lease, raw))

    async def put_document(self, lease: Lease, document: Document, *, address: str) -> None:
        """Count, then pass on."""
        await self._write(self._inner.put_document(lease, document, address=address))

    async def put_evidence(self, lease: Lease, evidence: Sequence[Evidence]) -> None:
        """Count, then pass on."""
        await self._write(self._inner.put_evidence(lease, evidence))

    # Everything else

    async def close(self) -> None:
        """Pass on."""
        await self._inner.close()

    async def heartbeat(self, lease: Lease, owner: Owner, *, active_s: float) -> None:
        """Pass on."""
        await self._inner.heartbeat(lease, owner, active_s=active_s)

    async def delete_run(self, run: str, claimant: Owner) -> None:
        """Pass on."""
        await self._inner.delete_run(run, claimant)

    async def request_cancel(self, run: str, claimant: Owner, *, lease_s: float, event: NewEvent) -> RunRow:
        """Pass on."""
        return await self._inner.request_cancel(run, claimant, lease_s=lease_s, event=event)

    async def get_run(self, run: str) -> RunRow:
        """Pass on."""
        return await self._inner.get_run(run)

    async def list_runs(
        self, *, limit: int, status: RunStatus | None = None, choice: RunChoice | None = None
    ) -> list[RunRow]:
        """Pass on."""
        return await self._inner.list_runs(limit=limit, status=status, choice=choice)

    async def count_running(self) -> dict[str, int]:
        """Pass on."""
        return await self._inner.count_running()

    async def count_takeovers(self) -> int:
        """Pass on."""
        return await self._inner.count_takeovers()

    async def is_draining(self) -> bool:
        """Pass on."""
        return await self._inner.is_draining()

    async def list_unfinished(self) -> list[UnfinishedRun]:
        """Pass on."""
        return await self._inner.list_unfinished()

    async def count_by_status(self) -> dict[str, int]:
        """Pass on."""
        return await self._inner.count_by_status()

    async def set_tags(self, run: str, tags: Sequence[str]) -> None:
        """Pass on."""
        await self._inner.set_tags(run, tags)

    async def give_runs(self, *, before: str, after: str) -> None:
        """Pass on."""
        await self._inner.give_runs(before=before, after=after)

    async def get_answers(self, run: str) -> dict[str, Json]:
        """Pass on."""
        return await self._inner.get_answers(run)

    async def find_call(self, run: str, key: str) -> JournalRow | None:
        """Pass on."""
        return await self._inner.find_call(run, key)

    async def list_calls(self, run: str) -> list[JournalRow]:
        """Pass on."""
        return await self._inner.list_calls(run)

    async def last_seq(self, run: str) -> int:
        """Pass on."""
        return await self._inner.last_seq(run)

    async def read_events(self, run: str, *, after: int = 0, limit: int | None = None) -> list[RunEvent]:
        """Pass on."""
        return await self._inner.read_events(run, after=after, limit=limit)

    async def get_blob(self, blob: str) -> bytes:
        """Pass on."""
        return await self._inner.get_blob(blob)

    async def get_document(self, document: str) -> Document:
        """Pass on."""
        return await self._inner.get_document(document)

    async def list_addresses(self, run: str) -> dict[str, str]:
        """Pass on."""
        return await self._inner.list_addresses(run)

    async def get_evidence(self, run: str, ids: Sequence[str], *, sections: Collection[str] = ()) -> list[Evidence]:
        """Pass on."""
        return await self._inner.get_evidence(run, ids, sections=sections)

    async def size(self) -> StoreSize:
        """Pass on."""
        return await self._inner.size()


def _kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
