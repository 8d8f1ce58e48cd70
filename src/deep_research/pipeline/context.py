"""What a stage may use: `RunContext` for the whole run, `StageContext` bound to one place in it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import methodcaller
from typing import TypeVar, cast

from deep_research.charts.sandbox.port import Execution
from deep_research.errors import (
    BudgetExceeded,
    CallFailed,
    ModelBusy,
    ModelRefused,
    NetworkError,
    SourceError,
    UnusableAnswer,
)
from deep_research.events import LiveText
from deep_research.llm.port import Delta, OnDelta
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.gap import Gap, GapKind
from deep_research.pipeline.journal import Call, CallResult, Dependencies, Journal, Perform
from deep_research.pipeline.journalled import JournalledModel, Snapshot
from deep_research.pipeline.prompt_meter import PromptMeter
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.scope import Scope, fetch_scope
from deep_research.pipeline.streaming import Emitter, StreamingManager
from deep_research.reasoning.model.planning import finished_titles
from deep_research.reasoning.port import Reasoner
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import BudgetKind, ResearchRequest, Spend
from deep_research.storage.store.port import Answers, RunRow
from deep_research.value import Json, canonical_json, digest, json_of
from deep_research.web.fetch.port import Fetched
from deep_research.web.search.port import SearchEngine

Asked = TypeVar("Asked")
Result = TypeVar("Result")
# So many failures of a model in a row, and rules do the act for the rest of the run.
MAX_FAILURES = 3
_NOTHING = Spend()
# Acts whose answers are text for people.
_PROSE = frozenset({"draft"})


class Batches:
    """Lets work in until a batch is full, and more only when all of the batch is out again."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._let_in = self._inside = 0
        self._is_free = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._is_free:
            await self._is_free.wait_for(lambda: self._let_in < self._size)
            self._let_in += 1
            self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        if not self._inside:
            async with self._is_free:
                self._let_in = 0
                self._is_free.notify_all()


@dataclass(frozen=True, kw_only=True)
class RunContext(RunRecords):
    """A run in the hands of this process.

    `failures` counts how often in a row a model failed at each act. In the `last_try` of the whole run, rules stand in
    for every act at which the model fails.
    """

    row: RunRow
    adapters: Adapters
    journal: Journal
    streaming: StreamingManager
    folder: RunFolder
    answers: Answers
    failures: Counter[str] = field(default_factory=Counter)
    last_try: asyncio.Event = field(default_factory=asyncio.Event)
    meter: PromptMeter = field(default_factory=PromptMeter)
    addresses: dict[str, str] = field(default_factory=dict)

    async def address_for(self, document: str, *addresses: str) -> str:
        """Return the first of the addresses that no other document of the run has: a page may change as it is read."""
        if not self.addresses:
            self.addresses.update(await self.store.list_addresses(self.row.id))
        marked = (*addresses, f"{addresses[0]}#{document[:8]}")
        free = next(address for address in marked if self.addresses.get(address, document) == document)
        self.addresses[free] = document
        return free

    @cached_property
    def search_slots(self) -> AbstractAsyncContextManager[object]:
        """Let so many queries be searched for at once; in the strategy `batch`, no more than a batch has."""
        config = self.row.request.search
        at_once = config.max_concurrent_searches
        if config.parallel_strategy != "batch":
            return asyncio.Semaphore(at_once)
        size = min(config.batch_size, at_once)
        return asyncio.Semaphore(size) if config.enable_batch_parallel else Batches(size)

    def stage(
        self, scope: str, *, phase: Phase = "research", after: Sequence[str] = (), is_branch: bool = False
    ) -> "StageContext":
        """Return the context of a piece of work at a place in the run."""
        return StageContext(
            run=self, scope=Scope(scope), phase=phase, dependencies=Dependencies(tuple(after)), is_branch=is_branch
        )


@dataclass(frozen=True)
class StageContext:
    """Everything a stage may touch, bound to its scope: calls are journalled and events keyed by it.

    In a fan-out branch (`is_branch`) no failed call may escape, so every failing act has its stand-in there.
    `gaps` and `skips` collect what was lost or left out on the way; the node hands it on.
    """

    run: RunContext
    scope: Scope
    phase: Phase
    dependencies: Dependencies
    is_branch: bool
    gaps: list[Gap] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    @property
    def request(self) -> ResearchRequest:
        """Return what was asked."""
        return self.run.row.request

    @property
    def records(self) -> RunRecords:
        """Return what the store holds of the run."""
        return self.run

    @property
    def adapters(self) -> Adapters:
        """Return the parts that the run is built from."""
        return self.run.adapters

    @cached_property
    def emit(self) -> Emitter:
        """Return what emits this scope's events."""
        return Emitter(self.run.streaming, self.scope)

    def at(self, *path: object) -> "StageContext":
        """Return the context of a part of this work, with dependencies of its own."""
        return replace(self, scope=self.scope.at(*path), dependencies=self.dependencies.fork())

    async def call(
        self,
        kind: str,
        payload: Json,
        perform: Perform,
        estimate: Spend = _NOTHING,
        *,
        scope: Scope | None = None,
        name: str = "",
    ) -> Json:
        """Return the recorded answer of a call from here, or make it; `scope` is of a part of this work."""
        call = Call(kind, scope or self.scope, payload, estimate, self.phase, name)
        return await self.run.journal.call(call, perform, self.dependencies)

    async def search(self, name: str, query: SearchQuery) -> list[Hit]:
        """Return the hits of one search engine from the journal or from the engine."""
        engine, call = self._search(name, query)

        async def perform() -> CallResult:
            return CallResult(
                [hit.to_json() for hit in await engine.search(query, limit=self.request.search.max_results)]
            )

        found = await self.run.journal.call(call, perform, self.dependencies)
        return [Hit.from_json(hit) for hit in found] if isinstance(found, list) else []

    def call_off_search(self, name: str, query: SearchQuery) -> None:
        """Let a search that is under way go: another engine was quicker."""
        self.run.journal.call_off(self._search(name, query)[1])

    def _search(self, name: str, query: SearchQuery) -> tuple[SearchEngine, Call]:
        engine = next(engine for engine in self.adapters.engines if engine.name == name)
        payload: Json = {"engine": name, "query": query.as_asked, "limit": self.request.search.max_results}
        estimate = Spend(seconds=engine.timeout_s)
        # Two sections that ask the same of an engine ask once.
        return engine, Call("search", self.scope, payload, estimate, self.phase, name)

    async def fetch(self, address: str) -> Fetched:
        """Return the bytes from the store or from the address; each page of a run is fetched once, whoever asks."""
        fetcher, run = self.adapters.fetcher, self.run
        if not fetcher:
            raise SourceError(f"{address} was found, but nothing here can fetch it.")
        canonical, fresh = canonical_address(address), list[bytes]()

        async def perform() -> CallResult:
            page = await fetcher.fetch(address)
            fresh.append(page.raw)
            blob = await run.store.put_blob(run.lease, page.raw)
            stored_page = Snapshot(**page.model_dump(exclude={"raw", "validators"}), snapshot=blob)
            return CallResult(stored_page.to_json(), Spend(pages=1))

        estimate = Spend(pages=1, seconds=fetcher.timeout_s)
        stored_page = Snapshot.from_json(
            await self.call("fetch", canonical, perform, estimate, scope=fetch_scope(canonical))
        )
        raw = fresh[0] if fresh else await run.store.get_blob(stored_page.snapshot)
        return Fetched(**stored_page.model_dump(exclude={"snapshot"}), raw=raw)

    async def draw(
        self, kind: str, asked: Json, draw: Callable[[], Awaitable[Execution]], timeout_s: float
    ) -> Execution:
        """Return the pictures of a chart from the journal, or have them drawn."""

        async def perform() -> CallResult:
            return CallResult((await draw()).to_json())

        return Execution.from_json(await self.call(kind, asked, perform, Spend(seconds=timeout_s)))

    async def count_query(self, query: str) -> None:
        """Put a search task on record as one query, however many engines it asks, or refuse it."""
        one = Spend(queries=1)

        async def perform() -> CallResult:
            return CallResult(None, one)

        await self.call("query", query, perform, one, scope=self.scope.at("query"))

    async def kept_plan(self, key: str) -> Json:
        """Return the plan that another run kept for all, or None; it is on record, so that a replay finds it too."""
        cache = self.adapters.cache
        if not cache or not self.adapters.models:
            return None

        async def lookup() -> CallResult:
            found = await cache.get("plan", key)
            return CallResult(None if found is None else json_of(found))

        try:
            return await self.call("cache", key, lookup, scope=self.scope.at("plan"))
        except BudgetExceeded:
            return None

    async def keep_plan(self, key: str, plan: Json) -> None:
        """Keep a plan for other runs, for a while."""
        adapters = self.adapters
        if adapters.cache and adapters.plan_cache_s:
            await adapters.cache.put("plan", key, canonical_json(plan).encode(), adapters.plan_cache_s)

    async def decide(self, what: str, choices: Sequence[str], perform: Callable[[], Awaitable[str]]) -> str:
        """Return a choice that hangs on time as it was made, or make it now; no budget refuses it."""

        async def made() -> CallResult:
            return CallResult(await perform())

        return str(await self.call("decision", list(choices), made, scope=self.scope.at(what)))

    async def reason(
        self,
        method: Callable[[Reasoner, Asked], Awaitable[Result]],
        asked: Asked,
        *,
        on_failure: Callable[[CallFailed], object] = lambda _: None,
    ) -> Result:
        """Let the reasoner do one of its acts; where it cannot, the stand-in does, and that is put on record.

        An unusable answer and a spent budget always have a stand-in; other failures only in a branch, or where the
        whole run was tried again before. A model that refuses every call stops the run: its user can mend that, and
        nothing is lost.
        """
        adapters, act = self.adapters, method.__name__
        ask: Callable[[Reasoner], Awaitable[Result]] = methodcaller(act, asked)
        if not adapters.models or not adapters.reasoner:
            return await ask(adapters.fallback)
        model = JournalledModel(
            adapters.models,
            self.call,
            clock=adapters.clock,
            meter=self.run.meter,
            tries=adapters.model_tries,
            jitter=adapters.jitter,
            listen=lambda: self._listener(act),
            is_abandoned=self._is_abandoned(act),
        )
        try:
            result = await ask(adapters.reasoner(model))
        except CallFailed as failure:
            on_failure(failure)
            has_replied = isinstance(failure, BudgetExceeded | UnusableAnswer)
            stands_in = self.is_branch or self.run.last_try.is_set() or has_replied
            if isinstance(failure, ModelRefused) or not stands_in:
                raise
            await self._count_failure(act, failure)
            return await ask(adapters.fallback)
        if self.run.failures[act] < MAX_FAILURES:
            del self.run.failures[act]
        if model.passed_over:
            await self.lost("chain", model.replies[-1].model, model.passed_over)
        await self._emit_replies(act, model)
        return result

    def _listener(self, act: str) -> OnDelta:
        """Return who listens to an answer while it comes; of a plan, every title is shown as soon as it is complete."""
        plan = ""

        def on_delta(delta: Delta) -> None:
            nonlocal plan
            self.run.streaming.on_live_text(LiveText(self.run.row.id, self.scope, act, delta.kind, delta.text))
            if act != "plan" or delta.kind != "text":
                return
            plan += delta.text
            # A title ends with a quotation mark.
            for title in finished_titles(plan) if '"' in delta.text else ():
                self._show_title(title)

        return on_delta

    def _show_title(self, title: str) -> None:
        """Show a section of the plan, once, while the rest is still being written."""
        key = f"message:{self.scope}:{digest(title)[:8]}"
        self.run.streaming.emit_soon("message", key, {"type": "text", "text": title})

    def _is_abandoned(self, act: str) -> bool:
        """Say whether the model failed too often at an act; in the last try of the run, at any acts."""
        failures = self.run.failures
        return (failures.total() if self.run.last_try.is_set() else failures[act]) >= MAX_FAILURES

    async def _count_failure(self, act: str, failure: CallFailed) -> None:
        is_gone = self.run.last_try.is_set() and isinstance(failure, NetworkError | ModelBusy)
        await self.lost("model" if is_gone else "act", act, failure)
        if isinstance(failure, BudgetExceeded):
            return
        was_abandoned = self._is_abandoned(act)
        self.run.failures[act] += 1
        if self._is_abandoned(act) and not was_abandoned:
            what = "everything" if self.run.last_try.is_set() else act
            message = f"{what}: the model failed too often in a row; rules do it from here on"
            await Emitter(self.run.streaming, f"strikes/{what}")("error", {"message": message, "step": act})

    async def _emit_replies(self, act: str, model: JournalledModel) -> None:
        """Keep what the model thought aloud and wrote, and say what did not fit its window."""
        for reply in model.replies:
            if reply.reasoning:
                await self.emit("reasoning", {"type": "text", "text": reply.reasoning})
        if act == "plan" and model.replies:
            for title in finished_titles(model.replies[-1].text):
                self._show_title(title)
        if act in _PROSE and model.replies:
            await self.emit("message", {"type": "text", "text": model.replies[-1].text})
        if model.left_out:
            reason = f"{model.left_out} passages did not fit the model's window"
            await self.lost("window", act, reason, count=model.left_out)

    async def lost(self, kind: GapKind, subject: str, why: CallFailed | str, *, count: int = 0) -> None:
        """Put on record that something is missing, for the events and for the report's limits."""
        budget = cast("BudgetKind", why.args[0]) if isinstance(why, BudgetExceeded) else None
        if budget and self.request.budget.limit(budget) != self.run.journal.ledger.cap(budget, "ending"):
            # The depth ends there: nothing that the user asked for is missing.
            return
        reason = f"the {budget} budget is spent" if budget else str(why)
        gap = Gap(kind=kind, scope=self.scope, subject=subject, reason=reason, budget=budget, count=count)
        self.gaps.append(gap)
        limit = None if budget is None else self.request.budget.limit(budget)
        if budget is None or limit is None:
            await self.emit("error", {"message": gap.in_words, "step": self.scope})
            return
        spent = self.run.journal.ledger.spent.of(budget)
        left_out = f"{kind}: {subject}"
        await self.emit("budget", {"kind": budget, "limit": limit, "spent": spent, "left_out": left_out})

    async def failed(self, step: str, reason: str) -> None:
        """Report that the stage failed; under a key of its own, for it may be tried again and end well."""
        key = f"progress:{self.scope}:failed"
        await self.run.streaming.emit("progress", key, {"step": step, "status": "failed", "data": {"reason": reason}})

    def skip(self, reason: str) -> None:
        """Say that the stage has nothing to do, and why."""
        self.skips.append(reason)
