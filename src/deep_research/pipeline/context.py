"""What a stage has at hand: `RunContext` for the whole run, `Ports` bound to one place in it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from deep_research.errors import BudgetExceeded, CallFailed, ModelRefused, UnusableAnswer
from deep_research.events import LiveText
from deep_research.llm.port import Delta
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.journal import Answer, Call, Journal, Trail
from deep_research.pipeline.journalled import (
    Desk,
    JournalledEngine,
    JournalledFetcher,
    JournalledModel,
    JournalledSandbox,
)
from deep_research.pipeline.parts import Parts
from deep_research.pipeline.prompt_meter import PromptMeter
from deep_research.pipeline.rounds import RoundLog
from deep_research.pipeline.streaming import Emitter, StreamingManager
from deep_research.reasoning.port import Reasoner
from deep_research.request import ResearchRequest, SearchEngineConfig, Spend
from deep_research.store.port import Answers, Claim, RunRow, Store
from deep_research.value import Json, Value, canonical_json, json_of

# DESIGN: three in a row switch the act over.
MOST_STRIKES = 3


class Strikes:
    """Counts the failures of one run in this process; what was decided by them is in the journal."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()

    def is_out(self, act: str) -> bool:
        """Say whether the act was given up."""
        return self._in_a_row[act] >= MOST_STRIKES

    def add(self, act: str) -> bool:
        """Count a failure; say whether it is the one that makes the difference."""
        self._in_a_row[act] += 1
        return self._in_a_row[act] == MOST_STRIKES

    def clear(self, act: str) -> None:
        """Forget earlier failures: the act succeeded."""
        if not self.is_out(act):
            self._in_a_row[act] = 0


Result = TypeVar("Result")
SomeValue = TypeVar("SomeValue", bound=Value)
# Acts whose answers are text for people.
_PROSE = frozenset({"draft", "analyze"})


@dataclass(frozen=True)
class RunContext:
    """A run in the hands of this process."""

    row: RunRow
    claim: Claim
    parts: Parts
    store: Store
    journal: Journal
    streaming: StreamingManager
    folder: RunFolder
    answers: Answers
    strikes: Strikes = field(default_factory=Strikes)
    meter: PromptMeter = field(default_factory=PromptMeter)
    addresses: dict[str, str] = field(default_factory=dict)
    rounds: RoundLog = field(default_factory=RoundLog)

    async def address_for(self, document: str, *addresses: str) -> str:
        """Return the first of the addresses that no other document of the run has: a page may change as it is read."""
        if not self.addresses:
            self.addresses.update(await self.store.list_addresses(self.row.id))
        marked = (*addresses, f"{addresses[0]}#{document[:8]}")
        free = next(address for address in marked if self.addresses.get(address, document) == document)
        self.addresses[free] = document
        return free

    @cached_property
    def search_slots(self) -> asyncio.Semaphore:
        """How many queries are searched for at once: overlapping batches, or one batch at a time."""
        return asyncio.Semaphore(_most_searches(self.row.request.search))

    def ports(self, scope: str, *, phase: Phase, after: Sequence[str] = (), is_branch: bool = False) -> "Ports":
        """Return the ports of a piece of work at a place in the run."""
        return Ports(run=self, scope=scope, phase=phase, trail=Trail(tuple(after)), is_branch=is_branch)


def _most_searches(config: SearchEngineConfig) -> int:
    if config.enable_batch_parallel:
        return config.max_concurrent_searches
    return min(config.batch_size, config.max_concurrent_searches)


@dataclass(frozen=True)
class Ports:
    """Everything a stage may touch, bound to its scope: calls are journalled and events keyed by it.

    In a fan-out branch (`is_branch`) no failed call may escape, so every failing act has its stand-in there.
    `gaps` and `skips` collect what was lost or left out on the way; the node hands it on.
    """

    run: RunContext
    scope: str
    phase: Phase
    trail: Trail
    is_branch: bool
    gaps: list[Gap] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    @property
    def request(self) -> ResearchRequest:
        """Return what was asked."""
        return self.run.row.request

    @property
    def code_version(self) -> str:
        """Return the version of the program that began the run."""
        return self.run.row.code_version

    @property
    def store(self) -> Store:
        """Return the store."""
        return self.run.store

    @cached_property
    def emit(self) -> Emitter:
        """Return the teller of this scope's events."""
        return Emitter(self.run.streaming, self.scope)

    def at(self, *path: object) -> "Ports":
        """Return the ports of a part of this work, with a trail of its own."""
        scope = "/".join((self.scope, *map(str, path)))
        return replace(self, scope=scope, trail=self.trail.fork())

    def branch(self, *path: object) -> "Ports":
        """Return the ports of one of several parts at work side by side."""
        return replace(self.at(*path), is_branch=True)

    @property
    def _desk(self) -> Desk:
        return Desk(self.run.journal, self.run.store, self.run.claim, self.scope, self.phase, self.trail)

    def engine(self, name: str) -> JournalledEngine:
        """Return one search engine, to be asked from here."""
        engine = next(engine for engine in self.run.parts.engines if engine.name == name)
        return JournalledEngine(engine, self._desk)

    async def count_query(self, query: str) -> None:
        """Put a search task on record as one query, however many engines it asks (SPEC R9), or refuse it."""

        async def perform() -> Answer:
            return Answer(None, Spend(queries=1))

        call = Call("query", f"{self.scope}/query", query, Spend(queries=1), self.phase, is_decision=True)
        await self.run.journal.call(call, perform, self.trail)

    async def kept(self, kind: str, key: str) -> Json:
        """Return what another run kept for all, or None; what was found is on record, so that a replay finds it too."""
        cache = self.run.parts.cache
        if cache is None or not self.run.parts.models:
            return None

        async def look() -> Answer:
            found = await cache.get(kind, key)
            return Answer(None if found is None else json_of(found))

        call = Call("cache", f"{self.scope}/{kind}", key, Spend(), self.phase, is_decision=True)
        try:
            return await self.run.journal.call(call, look, self.trail)
        except BudgetExceeded:
            return None

    async def keep_for_others(self, kind: str, key: str, data: Json, *, seconds: float) -> None:
        """Keep something for other runs, for a while."""
        if self.run.parts.cache is not None and seconds:
            await self.run.parts.cache.put(kind, key, canonical_json(data).encode(), seconds)

    async def decide(self, what: str, choices: Sequence[str], perform: Callable[[], Awaitable[str]]) -> str:
        """Return a choice that hangs on time as it was made, or make it now."""

        async def made() -> Answer:
            return Answer(await perform())

        call = Call("decision", f"{self.scope}/{what}", list(choices), Spend(), self.phase, is_decision=True)
        return str(await self.run.journal.call(call, made, self.trail))

    @property
    def fetcher(self) -> JournalledFetcher | None:
        """Return the fetcher, if there is one."""
        return None if self.run.parts.fetcher is None else JournalledFetcher(self.run.parts.fetcher, self._desk)

    @property
    def sandbox(self) -> JournalledSandbox | None:
        """Return the sandbox, if there is one."""
        return None if self.run.parts.sandbox is None else JournalledSandbox(self.run.parts.sandbox, self._desk)

    async def reason(self, act: str, ask: Callable[[Reasoner], Awaitable[Result]]) -> Result:
        """Let the reasoner judge; where it cannot, the stand-in does, and that is put on record.

        An unusable answer and a spent budget always have a stand-in; other failures only in a branch. A model that
        refuses every call stops the run: its asker can mend that, and nothing is lost.
        """
        parts = self.run.parts
        if not parts.models or parts.reasoner is None:
            return await ask(parts.stand_in)
        model = self._model(act)
        try:
            result = await ask(parts.reasoner(model))
        except CallFailed as failure:
            stands_in = self.is_branch or isinstance(failure, BudgetExceeded | UnusableAnswer)
            if isinstance(failure, ModelRefused) or not stands_in:
                raise
            await self._stood_in(act, failure)
            return await ask(parts.stand_in)
        self.run.strikes.clear(act)
        await self._told(act, model)
        return result

    def _model(self, act: str) -> JournalledModel:
        parts, streaming = self.run.parts, self.run.streaming

        def hear(delta: Delta) -> None:
            streaming.hear(LiveText(self.run.row.id, self.scope, act, delta.kind, delta.text))

        return JournalledModel(
            parts.models,
            self._desk,
            clock=parts.clock,
            meter=self.run.meter,
            tries=parts.model_tries,
            jitter=parts.jitter,
            on_delta=hear,
            is_struck=self.run.strikes.is_out(act),
        )

    async def _stood_in(self, act: str, failure: CallFailed) -> None:
        await self.lost(Gap.of(failure, kind="act", scope=self.scope, subject=act))
        if not isinstance(failure, BudgetExceeded) and self.run.strikes.add(act):
            message = f"{act}: the model failed too often in a row; rules do it from here on"
            await Emitter(self.run.streaming, f"strikes/{act}")("error", {"message": message, "step": act})

    async def _told(self, act: str, model: JournalledModel) -> None:
        """Keep what the model thought aloud and wrote, and say what did not fit its window."""
        for reply in model.replies:
            if reply.reasoning:
                await self.emit("reasoning", {"type": "text", "text": reply.reasoning})
        if act in _PROSE and model.replies:
            await self.emit("message", {"type": "text", "text": model.replies[-1].text})
        if model.left_out:
            reason = f"{model.left_out} passages did not fit the model's window"
            await self.lost(Gap(kind="window", scope=self.scope, subject=act, reason=reason))

    async def lost(self, gap: Gap) -> None:
        """Put on record that something is missing, for the events and for the report's limits."""
        self.gaps.append(gap)
        limit = None if gap.budget is None else self.request.budget.limit(gap.budget)
        if gap.budget is None or limit is None:
            await self.emit("error", {"message": gap.in_words, "step": self.scope})
            return
        spent = self.run.journal.ledger.spent.of(gap.budget)
        await self.emit(
            "budget", {"kind": gap.budget, "limit": limit, "spent": spent, "left_out": f"{gap.kind}: {gap.subject}"}
        )

    def skip(self, reason: str) -> None:
        """Say that the stage has nothing to do, and why."""
        self.skips.append(reason)

    async def keep(self, value: Value | Sequence[Value]) -> str:
        """Keep a value, or a list of values, in the store; return its content id for the state."""
        data = value.to_json() if isinstance(value, Value) else [item.to_json() for item in value]
        return await self.store.put_blob(self.run.claim, canonical_json(data).encode())

    async def load(self, kind: type[SomeValue], blob: str) -> SomeValue:
        """Return a kept value."""
        return kind.from_json(json_of(await self.store.get_blob(blob)))

    async def load_all(self, kind: type[SomeValue], blob: str) -> list[SomeValue]:
        """Return a kept list of values."""
        data = json_of(await self.store.get_blob(blob))
        return [kind.from_json(item) for item in data] if isinstance(data, list) else []
