"""The outside ports as a stage sees them: the same calls, each one journalled under the stage's scope."""

from dataclasses import dataclass

from deep_research.fetch.port import Fetched, Fetcher
from deep_research.pipeline.budget import Phase
from deep_research.pipeline.journal import Answer, Call, Journal, Trail
from deep_research.request import Spend
from deep_research.sandbox.port import Execution, Sandbox
from deep_research.search.port import SearchEngine
from deep_research.sources.address import canonical_address
from deep_research.sources.hit import Hit, SearchQuery
from deep_research.store.port import Claim, Store
from deep_research.value import Json, Value


@dataclass(frozen=True)
class Desk:
    """Where calls are made from: the journal, the scope in the run, and the answers the work rests on."""

    journal: Journal
    store: Store
    claim: Claim
    scope: str
    phase: Phase
    trail: Trail


class JournalledEngine:
    """A search engine whose answers are kept. Only a task's first request counts as a query (SPEC R9)."""

    def __init__(self, engine: SearchEngine, desk: Desk, *, queries: int) -> None:
        self._engine = engine
        self._desk = desk
        self._queries = queries

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    @property
    def timeout_s(self) -> float:
        """The time after which a search gives up."""
        return self._engine.timeout_s

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return the hits from the journal or from the engine."""

        async def perform() -> Answer:
            hits = await self._engine.search(query, limit=limit)
            return Answer([hit.to_json() for hit in hits], Spend(queries=self._queries))

        estimate = Spend(queries=self._queries, seconds=self.timeout_s)
        payload: Json = {"engine": self.name, "query": query.to_json(), "limit": limit}
        call = Call("search", f"{self._desk.scope}/{self.name}", payload, estimate, self._desk.phase)
        answer = await self._desk.journal.call(call, perform, self._desk.trail)
        return [Hit.from_json(hit) for hit in answer] if isinstance(answer, list) else []


class Snapshot(Value):
    """What the journal keeps of a fetch: the bytes lie in the store under `snapshot`."""

    address: str
    media_type: str
    snapshot: str
    title: str
    published: str


class JournalledFetcher:
    """A fetcher that gets each page of a run once, whichever section asks, and keeps its bytes."""

    def __init__(self, fetcher: Fetcher, desk: Desk) -> None:
        self._fetcher = fetcher
        self._desk = desk

    @property
    def timeout_s(self) -> float:
        """The time after which a fetch gives up."""
        return self._fetcher.timeout_s

    async def fetch(self, address: str) -> Fetched:
        """Return the bytes from the store or from the address."""
        canonical = canonical_address(address)

        async def perform() -> Answer:
            page = await self._fetcher.fetch(canonical)
            blob = await self._desk.store.put_blob(self._desk.claim, page.raw)
            kept = Snapshot(
                address=page.address,
                media_type=page.media_type,
                snapshot=blob,
                title=page.title,
                published=page.published,
            )
            return Answer(kept.to_json(), Spend(pages=1))

        estimate = Spend(pages=1, seconds=self.timeout_s)
        call = Call("fetch", f"fetch/{canonical}", canonical, estimate, self._desk.phase)
        kept = Snapshot.from_json(await self._desk.journal.call(call, perform, self._desk.trail))
        return Fetched(
            address=kept.address,
            media_type=kept.media_type,
            raw=await self._desk.store.get_blob(kept.snapshot),
            title=kept.title,
            published=kept.published,
        )


class JournalledSandbox:
    """A sandbox whose figures are kept."""

    def __init__(self, sandbox: Sandbox, desk: Desk) -> None:
        self._sandbox = sandbox
        self._desk = desk

    @property
    def timeout_s(self) -> float:
        """The time after which code is stopped."""
        return self._sandbox.timeout_s

    async def execute(self, code: str) -> Execution:
        """Return the figures from the journal or from the sandbox."""

        async def perform() -> Answer:
            return Answer((await self._sandbox.execute(code)).to_json())

        call = Call("sandbox", self._desk.scope, code, Spend(seconds=self.timeout_s), self._desk.phase)
        return Execution.from_json(await self._desk.journal.call(call, perform, self._desk.trail))
