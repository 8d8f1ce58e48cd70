"""The journal: a call that finished is never made again, and no call is made that the budget does not allow.

Finished calls happen once; calls in flight at a crash happen at least once.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from deep_research.errors import (
    BudgetExceeded,
    CalledOff,
    CallFailed,
    DeepResearchError,
    NetworkError,
    NotInJournal,
    StopRun,
    error_named,
)
from deep_research.pipeline.budget import BudgetLedger, Phase
from deep_research.pipeline.clock import Clock
from deep_research.pipeline.watching import Observer, Work, watched
from deep_research.request import Spend
from deep_research.storage.store.port import JournalRow, Lease
from deep_research.storage.store.store import Store
from deep_research.value import Json, JsonObject, Strings, canonical_json, digest_of, json_of

# Larger answers lie in a blob, so that a row stays quick to read.
_INLINE_RESULT_BYTES = 8_192
_BLOB = "journal_blob"
_POLL_INTERVAL_S = 1.0
# What calls nobody is written down once it was made: a choice or a count.
DECISIONS = frozenset({"query", "decision", "cache", "look"})
# What is never refused, whatever was spent.
_FREE = frozenset({"decision", "look"})
# What is the same call wherever in the run it is made from.
_RUN_WIDE = frozenset({"search", "llm", "look"})


class Dependencies:
    """The calls whose results the current work rests on; gives each journal row its `after`."""

    def __init__(self, heads: Strings = ()) -> None:
        self.heads = heads

    def follow(self, key: str, after: Strings | None = None) -> None:
        """Go on from the result of this call; alone, if the call was made from here and rests on everything before."""
        is_own = after is None or set(after) == set(self.heads)
        self.heads = (key,) if is_own else tuple(sorted({*self.heads, key}))

    def fork(self) -> "Dependencies":
        """Return a copy for work that goes on beside this one."""
        return Dependencies(self.heads)

    def join(self, others: list["Dependencies"]) -> None:
        """Go on from the results of all these."""
        self.heads = tuple(sorted({head for dependencies in others for head in dependencies.heads})) or self.heads


@dataclass(frozen=True)
class Call:
    """One outside call: what is asked, where in the run, and the most it can cost.

    `name` says who is called; another may give the same answer.
    """

    kind: str
    scope: str
    payload: Json
    estimate: Spend
    phase: Phase
    name: str = ""

    def key(self, attempt: int) -> str:
        """Return the key of one attempt: the digest of kind, scope, payload and attempt."""
        return digest_of(f"{self._spelled}{attempt}]")

    @cached_property
    def _spelled(self) -> str:
        """Return the parts of the key but the last as JSON, once: a payload may be a long prompt."""
        return f"{canonical_json([self.kind, '' if self.kind in _RUN_WIDE else self.scope, self.payload])[:-1]},"


class CallResult(NamedTuple):
    """What a call gave and what it cost."""

    data: Json
    spend: Spend = Spend()


Perform = Callable[[], Awaitable[CallResult]]


class _RecordedResult(NamedTuple):
    """The result of a call, and the calls that it rests on, wherever it was made from."""

    key: str
    answer: Json
    after: Strings


@dataclass(kw_only=True, eq=False)
class Journal:
    """All outside calls of one run, for the process that owns it.

    One that is closed holds all there is: it answers as it did, and no call is made.
    """

    store: Store
    lease: Lease
    ledger: BudgetLedger
    clock: Clock
    code_version: str
    is_closed: bool = False
    observers: tuple[Observer, ...] = ()
    # What was learned from the user's documents, which the same rules ask again and again.
    lookups: dict[str, object] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[_RecordedResult]] = field(default_factory=dict)
    _performing: dict[str, str] = field(default_factory=dict)
    _called_off: set[str] = field(default_factory=set)
    _keys: set[str] = field(default_factory=set)
    _is_known: bool = False
    _stop: StopRun | None = None

    def stop(self, reason: StopRun) -> None:
        """Start no further call; calls in flight may finish and be kept."""
        self._stop = self._stop or reason

    async def drain(self, *, timeout_s: float | None = None, with_pages: bool = True) -> None:
        """Wait until the calls in flight have finished and their results are kept; drop what takes longer."""
        awaited = {self._tasks[key] for key, kind in self._performing.items() if with_pages or kind != "fetch"}
        self.abandon(awaited)
        if awaited:
            await asyncio.wait(awaited, timeout=timeout_s)
        self.abandon()

    def abandon(self, awaited: Collection["asyncio.Task[_RecordedResult]"] = ()) -> None:
        """Drop every call in flight but those."""
        for task in self._tasks.values():
            if task not in awaited:
                task.cancel()

    def call_off(self, call: Call) -> None:
        """Drop one call in flight whose result nobody needs any more; it is put on record as failed."""
        task = self._tasks.get(call.key(0))
        if task:
            self._called_off.add(call.key(0))
            task.cancel()

    async def call(self, call: Call, perform: Perform, dependencies: Dependencies) -> Json:
        """Return the recorded result of the call, or make it; a recorded failure is raised again.

        The same call made from two branches at once is made once. The call itself runs in a task of its own, so that
        a branch that is cancelled does not lose a result that was paid for.
        """
        task_key = call.key(0)
        task = self._tasks.get(task_key)
        if not task:
            task = asyncio.create_task(self._find_or_make(call, perform, dependencies.heads))
            self._tasks[task_key] = task
            task.add_done_callback(lambda done: self._forget_task(task_key, done))
        try:
            recorded = await asyncio.shield(task)
        except CallFailed as failure:
            if failure.call_key:
                dependencies.follow(failure.call_key)
            raise
        dependencies.follow(recorded.key, recorded.after)
        return recorded.answer

    def _forget_task(self, task_key: str, task: "asyncio.Task[_RecordedResult]") -> None:
        self._tasks.pop(task_key, None)
        self._called_off.discard(task_key)
        if not task.cancelled():
            task.exception()  # Marks it as seen: the branch that waited for it may be gone.

    async def _find_or_make(self, call: Call, perform: Perform, after: Strings) -> "_RecordedResult":
        attempt, row = await self._newest(call)
        key = call.key(attempt)
        if row and row.state == "done":
            return _RecordedResult(key, await unpacked(row.answer, self.store), row.after)
        if row and row.error and row.state != "started":
            waits = row.error.get("retry_after_s")
            retry_after_s = waits if isinstance(waits, int | float) else None
            recorded = error_named(str(row.error["name"]), str(row.error["detail"]), retry_after_s)
            recorded.call_key, recorded.is_recorded = key, True
            raise recorded
        if self.is_closed:
            if row and row.error:
                raise type(str(row.error["name"]), (Exception,), {})
            raise NotInJournal(
                f"The run asks for something that its journal does not hold: {call.kind} {call.scope}. "
                "Settings that shape what is asked (model_window, prompts) must be those that it was made with."
            )
        if self._stop:
            raise self._stop
        started = JournalRow(
            key=key,
            kind=call.kind,
            scope=call.scope,
            attempt=attempt,
            state="started",
            estimate=call.estimate,
            orphaned=Spend() if not row else row.orphaned + _at_stake(row.estimate),
            started_at=self.clock.now(),
            after=after,
            code_version=self.code_version,
        )
        self._performing[call.key(0)] = call.kind
        try:
            return _RecordedResult(key, await self._make(call, perform, started), after)
        finally:
            self._performing.pop(call.key(0), None)

    async def _newest(self, call: Call) -> tuple[int, JournalRow | None]:
        attempt = 0
        if not self._is_known:
            # Most calls are new: who knows all keys need not look for each.
            self._keys |= {row.key for row in await self.store.list_calls(self.lease.run)}
            self._is_known = True
        while True:
            key = call.key(attempt)
            row = await self.store.find_call(self.lease.run, key) if key in self._keys else None
            if not row or not row.is_superseded:
                return attempt, row
            attempt += 1

    async def _make(self, call: Call, perform: Perform, started: JournalRow) -> Json:
        refused = None if call.kind in _FREE else await self.ledger.admit(call.estimate, call.phase)
        if refused:
            raise await self._failed(started, BudgetExceeded(refused), state="refused")
        spend = Spend()
        try:
            if self._stop:  # It may have waited for the budget meanwhile.
                raise self._stop
            if call.kind not in DECISIONS:
                await self._write(started)
            work = Work(call.kind, call.name, self.lease.run, call.scope, call.payload)
            with watched(() if call.kind in DECISIONS else self.observers, work):
                answer = await _within(call.estimate.seconds, perform())
                work.answer = answer.data
            spend = answer.spend
            await self._end(started, state="done", spend=spend, answer=await self._pack(answer.data))
            return answer.data
        except TimeoutError:
            late = NetworkError(f"no answer within {call.estimate.seconds:g} s")
            raise await self._failed(started, late) from None
        except asyncio.CancelledError:
            if call.key(0) not in self._called_off:
                raise
            raise await self._failed(started, CalledOff("another source answered first", spend=spend)) from None
        except CallFailed as failed:
            spend = failed.spend
            await self._failed(started, failed)
            raise
        except Exception as exc:
            # It counts as begun, so that whoever resumes makes it again; its name is what a replay needs.
            if not isinstance(exc, DeepResearchError):
                error = {"name": type(exc).__name__, "detail": "unexpected error"}
                await self._write(started.replace(error=error))
            raise
        finally:
            if call.kind not in _FREE:
                self.ledger.charge(call.estimate, spend)

    async def _failed(self, started: JournalRow, failure: CallFailed, *, state: str = "failed") -> CallFailed:
        """Put a failure on record and return it, with the key of its call."""
        failure.call_key = started.key
        error: dict[str, Json] = {
            "name": type(failure).__name__,
            "detail": str(failure),
            "category": str(failure.category),
        }
        if failure.retry_after_s:
            error["retry_after_s"] = failure.retry_after_s
        await self._end(started, state=state, spend=failure.spend, error=error)
        return failure

    async def _end(self, started: JournalRow, **ended: object) -> None:
        await self._write(started.replace(**ended, ended_at=self.clock.now()))

    async def _write(self, row: JournalRow) -> None:
        self._keys.add(row.key)
        await self.store.record_call(self.lease, row)

    async def _pack(self, data: Json) -> Json:
        text = canonical_json(data).encode("utf-8", "surrogatepass")
        if len(text) <= _INLINE_RESULT_BYTES:
            return data
        return {_BLOB: await self.store.put_blob(self.lease, text)}


def blob_of(answer: Json) -> str:
    """Return the blob in which the answer of a journal's row lies, "" where it stands in the row."""
    return str(answer[_BLOB]) if isinstance(answer, dict) and set(answer) == {_BLOB} else ""


async def unpacked(answer: Json, store: Store) -> Json:
    """Return the answer of a journal's row, which may lie in a blob."""
    blob = blob_of(answer)
    return json_of(await store.get_blob(blob)) if blob else answer


async def model_calls(rows: list[JournalRow], store: Store) -> list[JsonObject]:
    """Return what a journal keeps of the calls to models that were answered."""
    answers = [await unpacked(row.answer, store) for row in rows if row.kind == "llm" and row.state == "done"]
    return [answer for answer in answers if isinstance(answer, dict)]


async def _within(seconds: float, answer: Awaitable[CallResult]) -> CallResult:
    """Wait for an answer, at most that long (0: for ever). Time in which this process was frozen does not count."""
    waiting, left = asyncio.ensure_future(answer), seconds or math.inf
    try:
        while not waiting.done() and left > 0:
            slice_s, begun = min(left, _POLL_INTERVAL_S, (seconds or math.inf) / 4), time.monotonic()
            await asyncio.wait({waiting}, timeout=slice_s)
            left -= min(time.monotonic() - begun, slice_s)
        if not waiting.done():
            raise TimeoutError
        return waiting.result()
    finally:
        waiting.cancel()


def spent_so_far(rows: list[JournalRow]) -> Spend:
    """Sum what a run's calls cost; a call lost in a crash counts with its estimate, because it may have been paid."""
    total = Spend()
    for row in rows:
        total = total + row.spend + row.orphaned
        if row.state == "started":
            total = total + _at_stake(row.estimate)
    return total.replace(seconds=0.0)


def longest_chain_s(rows: list[JournalRow]) -> float:
    """Return the seconds of the longest chain of calls in which each needed the answer of the one before."""
    longest: dict[str, float] = {}
    for row in sorted(rows, key=lambda row: row.started_at):
        own_s = (row.ended_at - row.started_at).total_seconds() if row.ended_at else 0.0
        longest[row.key] = own_s + max((longest.get(key, 0.0) for key in row.after), default=0.0)
    return max(longest.values(), default=0.0)


def _at_stake(estimate: Spend) -> Spend:
    """Return what a lost call may have cost; a query or page counts once however often it is tried."""
    return Spend(usd=estimate.usd, tokens=estimate.tokens)
