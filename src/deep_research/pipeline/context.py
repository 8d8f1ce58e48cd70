"""What a stage has at hand: `RunContext` for the whole run, `Ports` bound to one place in it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from deep_research.errors import BudgetExceeded, CallFailed
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.journal import Journal, Trail
from deep_research.pipeline.journalled import (
    Desk,
    JournalledEngine,
    JournalledFetcher,
    JournalledModel,
    JournalledSandbox,
)
from deep_research.pipeline.parts import Parts
from deep_research.pipeline.streaming import Emitter, StreamingManager
from deep_research.reasoning.port import Reasoner
from deep_research.request import ResearchRequest
from deep_research.store.port import Answers, Claim, RunRow, Store
from deep_research.value import Value, canonical_json, json_of

Result = TypeVar("Result")
SomeValue = TypeVar("SomeValue", bound=Value)


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

    def ports(self, scope: str, *, phase: Phase, after: Sequence[str] = (), is_branch: bool = False) -> "Ports":
        """Return the ports of a piece of work at a place in the run."""
        return Ports(run=self, scope=scope, phase=phase, trail=Trail(tuple(after)), is_branch=is_branch)


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

    @property
    def _desk(self) -> Desk:
        return Desk(self.run.journal, self.run.store, self.run.claim, self.scope, self.phase, self.trail)

    def engine(self, number: int, *, queries: int) -> JournalledEngine:
        """Return one search engine; `queries` is 1 for the request that makes a search task a query."""
        return JournalledEngine(self.run.parts.engines[number], self._desk, queries=queries)

    @property
    def engine_names(self) -> tuple[str, ...]:
        """Return the names of the engines in their configured order."""
        return tuple(engine.name for engine in self.run.parts.engines)

    @property
    def fetcher(self) -> JournalledFetcher | None:
        """Return the fetcher, if there is one."""
        return None if self.run.parts.fetcher is None else JournalledFetcher(self.run.parts.fetcher, self._desk)

    @property
    def sandbox(self) -> JournalledSandbox | None:
        """Return the sandbox, if there is one."""
        return None if self.run.parts.sandbox is None else JournalledSandbox(self.run.parts.sandbox, self._desk)

    async def reason(self, act: str, ask: Callable[[Reasoner], Awaitable[Result]]) -> Result:
        """Let the reasoner judge; where the budget (or, in a branch, any failure) forbids it, the stand-in does."""
        parts = self.run.parts
        if parts.model is None or parts.reasoner is None:
            return await ask(parts.stand_in)
        try:
            return await ask(parts.reasoner(JournalledModel(parts.model, self._desk)))
        except CallFailed as failure:
            if not (self.is_branch or isinstance(failure, BudgetExceeded)):
                raise
            await self.lost(Gap.of(failure, kind="act", scope=self.scope, subject=act))
        return await ask(parts.stand_in)

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
