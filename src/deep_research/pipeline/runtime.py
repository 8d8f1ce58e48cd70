"""`AgentRuntime`: creates runs, claims them, drives the graph, and leaves every run in a known state."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig
from pydantic import TypeAdapter

from deep_research.documents.corpus.scan import require_documents
from deep_research.documents.readers import warm_up
from deep_research.errors import (
    CallFailed,
    CannotWrite,
    ConfigurationError,
    DeepResearchError,
    ErrorClassifier,
    RunCancelled,
    RunInterrupted,
    RunTaken,
    StopRun,
    UsageError,
)
from deep_research.events import OnEvent, OnLive, RunStatus
from deep_research.export.contents import Contents
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.budget import BudgetLedger
from deep_research.pipeline.clock import Clock, Stopwatch
from deep_research.pipeline.context import RunContext
from deep_research.pipeline.control import answer_run, cancel_run, has_work, words_of
from deep_research.pipeline.earlier import request_following
from deep_research.pipeline.fan_out import describe_error, out_of_files
from deep_research.pipeline.folder import RunFolder, folder_of, with_files
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.graph import RECURSION_LIMIT, build_graph
from deep_research.pipeline.heartbeat import LeaseRenewal
from deep_research.pipeline.journal import Journal, spent_so_far
from deep_research.pipeline.journalled import journalled_lookup, working_for
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.result import Result, contents_of, result_of
from deep_research.pipeline.state import DeepResearchState
from deep_research.pipeline.streaming import Emitter, StreamingManager
from deep_research.pipeline.watching import Work, watched
from deep_research.request import ResearchRequest
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease, RunRow
from deep_research.storage.store.store import Store
from deep_research.text.in_thread import in_thread
from deep_research.text.masking import masked
from deep_research.text.messages.language import report_language
from deep_research.value import Json, JsonObject, json_of

_log = logging.getLogger(__name__)
T = TypeVar("T")
OnQuestion = Callable[[JsonObject], Awaitable[Json]]

MAX_RETRIES = 2
# How long a cancelled run waits for calls in flight: most searches and pages come meanwhile, and somebody waits.
_CANCEL_DRAIN_S = 3.0
# Somebody who never answers a plan with sense is not asked for ever.
_MAX_QUESTIONS = 20


async def retry_with_backoff(
    work: Callable[[], Awaitable[T]], *, clock: Clock, on_retry: Callable[[Exception, int], Awaitable[None]]
) -> T:
    """Do the work; after a retryable failure wait 2, then 4 seconds, and do it again."""
    for retry in range(1, MAX_RETRIES + 1):
        try:
            return await work()
        except (DeepResearchError, TimeoutError, ConnectionError) as exc:
            if not ErrorClassifier.classify(exc).is_retryable:
                raise
            await on_retry(exc, retry)
            await clock.sleep(2**retry)
    return await work()


class _End(NamedTuple):
    """How far the graph came: to its end, or to a question."""

    status: Literal["done", "waiting"]
    pending: JsonObject | None = None
    result: JsonObject | None = None


@dataclass(eq=False)
class _RunSession:
    """One process at work on one run, from taking its lease on; `stop` may come at any time."""

    journal: Journal | None = None
    task: asyncio.Task[_End] | None = None
    reason: StopRun | None = None

    def stop(self, reason: StopRun) -> None:
        self.reason = self.reason or reason
        if self.journal:
            self.journal.stop(reason)
        if self.task:
            self.task.cancel()


class AgentRuntime:
    """Runs research that survives its process. One runtime may drive many runs, also at once."""

    def __init__(
        self, adapters: Adapters, *, machine: StateMachine | None = None, wiring: str = "", code_version: str = ""
    ) -> None:
        self.adapters = adapters
        self.machine = machine or StateMachine()
        self._wiring = wiring
        self._code_version = code_version
        self._sessions: set[_RunSession] = set()
        self._open: Store | None = None
        self._borrowers = 0

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """Lend the store; all runs of this process share one, so that what they write at once is one wait."""
        store = self._open = self._open or self.adapters.open_store()
        self._borrowers += 1
        try:
            yield store
        finally:
            self._borrowers -= 1
            if not self._borrowers:
                self._open = None
                await store.close()

    async def create(self, request: ResearchRequest, *, user: str = "", run: str = "") -> RunRow:
        """Write down a new run, under this id if one is given; nothing is spent yet.

        A limit in money needs models whose price is known; what a model that searches by itself costs is not.
        """
        unpriced = dict.fromkeys(name for model in self.adapters.models for name in model.unpriced)
        unpriced |= dict.fromkeys(spec.name for spec in self.adapters.specs.values() if spec.is_model_search)
        if request.budget.usd is not None and unpriced:
            raise ConfigurationError().with_message("fault.no_price", models=", ".join(unpriced))
        if request.follow:
            async with self.store() as store:
                request = request_following(request, await store.get_run(request.follow))
        elif request.add:
            raise UsageError().with_message("fault.add_alone")
        now, run = self.adapters.clock.now(), run or self.adapters.new_id()
        row = RunRow(
            id=run,
            created_at=now,
            updated_at=now,
            status="created",
            request=request,
            wiring=self._wiring,
            folder=str(folder_of(self.adapters.logs, run, now)),
            code_version=self._code_version,
            user=user,
        )
        async with self.store() as store:
            await store.create_run(row)
        return row

    async def resume(
        self,
        run: str,
        *,
        on_event: OnEvent | None = None,
        on_question: OnQuestion | None = None,
        on_live: OnLive | None = None,
        retry: bool = False,
    ) -> RunRow:
        """Go on with a run until it is done or waits; a question is put to `on_question`, if there is one.

        `retry` plays the run back from its journal and makes its failed calls again. Raise `StopRun` if this process
        must let go of the run, and whatever made the run fail.
        """
        for questions_left in range(_MAX_QUESTIONS, -1, -1):
            row = await self._session(run, on_event=on_event, on_live=on_live, retry=retry)
            if row.status != "waiting" or row.pending is None or on_question is None or not questions_left:
                break
            await self.answer(row.id, await on_question(row.pending))
            retry = False
        return row

    async def answer(self, run: str, answer: Json) -> None:
        """Answer the question that a run waits for; the first answer stands."""
        async with self.store() as store:
            await answer_run(store, await store.get_run(run), answer)

    async def cancel(self, run: str) -> RunRow:
        """Cancel a run, or ask the process that holds it to stop."""
        async with self.store() as store:
            row = await store.get_run(run)
            return await cancel_run(store, row, clock=self.adapters.clock, lease_s=self.adapters.lease_s)

    def interrupt(self, reason: StopRun | None = None) -> None:
        """Stop all runs of this runtime cleanly: no new call begins, calls in flight are kept."""
        for session in self._sessions:
            session.stop(reason or RunInterrupted())

    async def _session(self, run: str, *, on_event: OnEvent | None, on_live: OnLive | None, retry: bool) -> RunRow:
        session = _RunSession()
        self._sessions.add(session)
        try:
            async with self.store() as store:
                row = await store.get_run(run)
                retry = retry or row.retry_requested
                if not retry and row.status == "cancelled":
                    raise UsageError(
                        f"Run {row.id} was cancelled; take it up again with: deep-research runs retry {row.id}"
                    )
                if not retry and not await has_work(store, row):
                    return row
                lease = await store.lease(row.id, current_owner(), lease_s=self.adapters.lease_s, seen_epoch=row.epoch)
                try:
                    if retry:
                        await store.raise_attempt(lease)
                    row = await store.get_run(row.id)
                    context, stopwatch = await self._context(store, row, lease, on_event, on_live)
                except DeepResearchError as exc:
                    await _leave(StreamingManager(store=store, lease=lease, clock=self.adapters.clock), exc)
                    raise
                session.journal = context.journal
                loop = asyncio.get_running_loop()
                with LeaseRenewal(
                    self.adapters.open_store,
                    lease,
                    self.adapters.heartbeat_s,
                    stopwatch,
                    on_stop=lambda reason: loop.call_soon_threadsafe(session.stop, reason),
                ):
                    return await self._drive(session, context)
        finally:
            self._sessions.discard(session)

    async def _context(
        self, store: Store, row: RunRow, lease: Lease, on_event: OnEvent | None, on_live: OnLive | None
    ) -> tuple[RunContext, Stopwatch]:
        clock = self.adapters.clock
        stopwatch = Stopwatch(clock, before_s=row.active_s)
        spent = spent_so_far(await store.list_calls(row.id))
        ledger = BudgetLedger(row.request.budget, spent, active_s=stopwatch.active_s)
        context = RunContext(
            row=row,
            lease=lease,
            adapters=self.adapters,
            store=store,
            journal=Journal(
                store=store,
                lease=lease,
                ledger=ledger,
                clock=clock,
                code_version=self._code_version,
                is_closed=self.adapters.is_replay,
                observers=self.adapters.observers,
            ),
            streaming=StreamingManager(
                store=store,
                lease=lease,
                clock=clock,
                attempt=row.attempt,
                on_event=on_event,
                on_live=on_live,
                take_s=stopwatch.take_s,
            ),
            folder=RunFolder(Path(row.folder), store=store, lease=lease),
            answers=await store.get_answers(row.id),
        )
        return context, stopwatch

    async def _drive(self, session: _RunSession, context: RunContext) -> RunRow:
        emit = Emitter(context.streaming, f"epoch/{context.lease.epoch}")
        try:
            await emit("run-status", {"status": "running"})
            if self.adapters.specs:
                # What reads pages takes a moment to load; meanwhile the first answers of a model are awaited.
                warming = asyncio.ensure_future(in_thread(warm_up))
                warming.add_done_callback(lambda done: done.cancelled() or done.exception())
            skipped = await self._refresh_index(context)
            work = Work("run", "", context.row.id)
            with working_for(context.journal), watched(self.adapters.observers, work):
                end = await self._run_graph(session, context, await _initial_state(context.row, skipped))
            await context.streaming.finish(**end._asdict())
            return await context.store.get_run(context.row.id)
        except asyncio.CancelledError:
            await _leave(context.streaming, RunInterrupted())
            raise
        except Exception as exc:  # Every run is left in a known state, and whatever ended it is raised again.
            stop = None if isinstance(exc, StopRun) else out_of_files(exc)
            if taken := exc if isinstance(exc, RunTaken) else await _leave(context.streaming, stop or exc):
                raise taken from None
            if stop:
                raise stop from exc
            raise

    async def _run_graph(self, session: _RunSession, context: RunContext, initial: DeepResearchState) -> _End:
        """Run the graph in a task that a signal, a cancel or a takeover can stop; keep what is in flight."""
        session.task = asyncio.ensure_future(self._retried(context, initial))
        if session.reason:
            session.task.cancel()
        try:
            return await session.task
        except asyncio.CancelledError:
            if not session.reason:  # Our caller was cancelled: stop as cleanly as on Ctrl-C, then obey.
                session.stop(RunInterrupted())
                raise
            raise session.reason from None
        except StopRun as stop:
            session.reason = session.reason or stop
            raise
        finally:
            if isinstance(session.reason, RunTaken):
                context.journal.abandon()
            else:
                timeout_s = _CANCEL_DRAIN_S if isinstance(session.reason, RunCancelled) else None
                # What cannot be kept is asked for again; only an answer that was paid for is worth a try.
                await context.journal.drain(timeout_s=timeout_s, with_pages=not isinstance(session.reason, CannotWrite))

    async def _refresh_index(self, context: RunContext) -> list[Gap]:
        """Bring the documents' index up to date; what cannot be read is reported, and named in the report's limits."""
        if not self.adapters.corpus or self.adapters.is_replay:
            return []
        stage = context.stage("index")
        await stage.emit("progress", {"step": "index", "status": "started"})
        survey = await self.adapters.corpus.refresh()
        require_documents(survey, Path(context.row.request.docs))
        words = words_of(context.row)
        for one in survey.skipped:
            # A reader says in English what is wrong with a file.
            await stage.lost("page", one.address, words("failed.file", address=one.address, reason=one.reason))
        counted: JsonObject = {"files": survey.files, "indexed": survey.indexed, "read_now": survey.read_now}
        await stage.emit("progress", {"step": "index", "status": "done", "data": counted})
        return stage.gaps

    async def _retried(self, context: RunContext, initial: DeepResearchState) -> _End:
        """Run the graph from its beginning, also when it is tried again: what was done comes from the journal."""

        async def drive() -> _End:
            context.failures.clear()
            return await self._invoke(context, initial)

        async def on_retry(exc: Exception, retry: int) -> None:
            emit = Emitter(context.streaming, f"epoch/{context.lease.epoch}/retry/{retry}")
            category = ErrorClassifier.classify(exc)
            message = masked(str(exc))
            await emit("error", {"message": message, "category": category, "retry_count": retry, "step": "workflow"})
            if self.adapters.is_replay:
                # What was tried again is superseded: what fails here failed in the run's last try.
                retry = MAX_RETRIES
            elif isinstance(exc, CallFailed) and exc.call_key:
                await context.store.supersede_calls(context.lease, list(exc.call_keys or (exc.call_key,)))
            if retry == MAX_RETRIES:
                context.last_try.set()

        return await retry_with_backoff(drive, clock=self.adapters.clock, on_retry=on_retry)

    async def _invoke(self, context: RunContext, initial: DeepResearchState) -> _End:
        from langsmith import tracing_context

        graph = build_graph(self.machine)
        config = RunnableConfig(recursion_limit=RECURSION_LIMIT)
        # Private by default: what the environment says about LangSmith does not count, only our own setting.
        with tracing_context(enabled=self.adapters.tracing):
            result = await graph.ainvoke(initial, config, context=context)
        if questions := result.get("__interrupt__"):
            return _End("waiting", pending=questions[0].value)
        stored = json_of(await context.store.get_blob(result["final_report"]))
        assert isinstance(stored, dict)
        ends: JsonObject = {"is_verified": bool(result.get("is_verified")), "files": await context.folder.keep()}
        return _End("done", result=stored | ends)


async def _leave(streaming: StreamingManager, exc: Exception) -> RunTaken | None:
    """Write down how the run ended here; return what says so where another process has taken it over.

    Where it cannot be written down for another reason, the first error is what the caller must see.
    """
    status: RunStatus = "failed"
    if isinstance(exc, StopRun):
        status = "cancelled" if isinstance(exc, RunCancelled) else "interrupted"
    error: JsonObject = {
        "name": type(exc).__name__,
        "detail": describe_error(exc),
        "category": ErrorClassifier.classify(exc),
    }
    try:
        await streaming.finish(status, error=error)
    except RunTaken as taken:
        _log.debug("another process took the run over while this one failed", exc_info=exc)
        return taken
    except DeepResearchError as second:
        _log.warning("the run's end could not be written down: %s", second)
    return None


async def _initial_state(row: RunRow, skipped: list[Gap]) -> DeepResearchState:
    """Return what a run begins with; which files it could not read is reported as it was when this try of it began."""

    async def lookup() -> list[Gap]:
        return skipped

    request = row.request
    gaps = await journalled_lookup("skipped", [row.attempt], lookup, TypeAdapter(list[Gap])) if request.docs else []
    return DeepResearchState(
        original_query=request.question,
        language=report_language(request.question, request.language),
        gaps=tuple(gaps),
    )


class DeepResearchProcessor(AgentRuntime):
    """Composes planner, executor, analyzer, computation, reporter and streaming; holds nothing about a run."""

    async def process(
        self,
        request: ResearchRequest,
        *,
        on_event: OnEvent | None = None,
        on_live: OnLive | None = None,
        on_question: OnQuestion | None = None,
    ) -> RunRow:
        """Start a run and stay with it until it is done or waits for an answer."""
        row = await self.create(request)
        return await self.resume(row.id, on_event=on_event, on_live=on_live, on_question=on_question)

    async def with_files(self, row: RunRow) -> RunRow:
        """Return a run whose folder is on this host."""
        async with self.store() as store:
            return await with_files(row, store, self.adapters.logs)

    async def contents(self, row: RunRow, *, with_sources: bool = False) -> Contents:
        """Return the report of a run that is done in parts, for an export."""
        async with self.store() as store:
            return await contents_of(row, store, with_sources=with_sources)

    async def result(self, row: RunRow) -> Result:
        """Return the report of a run that is done."""
        async with self.store() as store:
            return await result_of(row, store)
