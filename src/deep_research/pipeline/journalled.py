"""The outside ports as a stage sees them: the same calls, each one journalled under the stage's scope."""

from dataclasses import dataclass

from pydantic import Field

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
    """A search engine whose answers are kept."""

    def __init__(self, engine: SearchEngine, desk: Desk) -> None:
        self._engine = engine
        self._desk = desk

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
            return Answer([hit.to_json() for hit in await self._engine.search(query, limit=limit)])

        answer = await self._desk.journal.call(self._call(query, limit), perform, self._desk.trail)
        return [Hit.from_json(hit) for hit in answer] if isinstance(answer, list) else []

    def call_off(self, query: SearchQuery, *, limit: int) -> None:
        """Let a search that is under way go: another engine was quicker."""
        self._desk.journal.call_off(self._call(query, limit))

    def _call(self, query: SearchQuery, limit: int) -> Call:
        payload: Json = {"engine": self.name, "query": query.as_asked, "limit": limit}
        estimate = Spend(seconds=self.timeout_s)
        # Two sections that ask the same of an engine ask once.
        return Call("search", self._desk.scope, payload, estimate, self._desk.phase, is_run_wide=True)


class Snapshot(Value):
    """What the journal keeps of a fetch, with time and headers: the bytes lie in the store under `snapshot`."""

    address: str
    media_type: str
    snapshot: str
    title: str
    published: str
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    fetched_at: str = ""


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
        fresh: list[bytes] = []

        async def perform() -> Answer:
            page = await self._fetcher.fetch(address)
            fresh.append(page.raw)
            blob = await self._desk.store.put_blob(self._desk.claim, page.raw)
            kept = Snapshot(
                address=page.address,
                media_type=page.media_type,
                snapshot=blob,
                title=page.title,
                published=page.published,
                status=page.status,
                headers=page.headers,
                fetched_at=page.fetched_at,
            )
            return Answer(kept.to_json(), Spend(pages=1))

        estimate = Spend(pages=1, seconds=self.timeout_s)
        call = Call("fetch", f"fetch/{canonical}", canonical, estimate, self._desk.phase)
        kept = Snapshot.from_json(await self._desk.journal.call(call, perform, self._desk.trail))
        return Fetched(
            address=kept.address,
            media_type=kept.media_type,
            raw=fresh[0] if fresh else await self._desk.store.get_blob(kept.snapshot),
            title=kept.title,
            published=kept.published,
            status=kept.status,
            headers=kept.headers,
            fetched_at=kept.fetched_at,
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
