"""For tests of adapters: a clock moved by hand, a model with declared prices, search and pages in memory."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deep_research.errors import CallFailed, SourceError
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Spend
from deep_research.value import digest
from deep_research.web.fetch.port import Fetched


class CallLog:
    """One line for each outside call that was begun or ended, in a file that several processes share."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.lines: list[dict[str, object]] = []

    def write(self, event: str, kind: str, what: str) -> None:
        """Add a line; a single write to a file opened for appending is whole even if the process dies after it."""
        line = {"event": event, "kind": kind, "what": what, "pid": os.getpid()}
        self.lines.append(line)
        if self._path is not None:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, (json.dumps(line) + "\n").encode())
            finally:
                os.close(descriptor)

    @staticmethod
    def read(path: Path) -> list[dict[str, object]]:
        """Return all lines of a shared log."""
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class ActPrice:
    """What one act costs: at most, really, and in time."""

    tokens: int = 0
    max_tokens: int | None = None
    usd: float = 0.0
    max_usd: float | None = None
    delay_s: float = 0.0
    timeout_s: float = 60.0


@dataclass
class ScriptedModel:
    """A chat model that costs what it is told to, waits as long as it is told to, and fails when it is told to.

    `failures` gives, for an act, the errors of its first calls in this process.
    """

    prices: Mapping[str, ActPrice] = field(default_factory=dict)
    default: ActPrice = field(default_factory=ActPrice)
    failures: Mapping[str, Sequence[CallFailed]] = field(default_factory=dict)
    log: CallLog = field(default_factory=CallLog)
    calls: Counter[str] = field(default_factory=Counter)

    name: str = "scripted:model"
    unpriced: tuple[str, ...] = ()

    def _price(self, act: str) -> ActPrice:
        return self.prices.get(act, self.default)

    def estimate(self, request: ModelRequest) -> Spend:
        """Return the declared maximum of the act."""
        price = self._price(request.act)
        return Spend(
            tokens=price.tokens if price.max_tokens is None else price.max_tokens,
            usd=price.usd if price.max_usd is None else price.max_usd,
            seconds=price.timeout_s,
        )

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:  # noqa: ARG002 - nothing to stream
        """Spend what the act costs, or fail as scripted."""
        price, number = self._price(request.act), self.calls[request.act]
        self.calls[request.act] += 1
        asked = f"{request.act} {request.prompt}"
        self.log.write("begin", "llm", asked)
        await asyncio.sleep(price.delay_s)
        failures = self.failures.get(request.act, ())
        if number < len(failures):
            self.log.write("fail", "llm", asked)
            raise failures[number]
        self.log.write("end", "llm", asked)
        return ModelReply(text="", model=self.name, tokens_in=0, tokens_out=price.tokens, usd=price.usd)


class FakeClock:
    """Stands still until somebody sleeps or moves it; remembers every wait."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic_s = 1000.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        """Return the time of day."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return self._monotonic_s

    async def sleep(self, seconds: float) -> None:
        """Move both clocks at once."""
        self.waits.append(seconds)
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self._now += timedelta(seconds=seconds)
        self._monotonic_s += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator would."""
        self._now += timedelta(seconds=seconds)


@dataclass
class StaticSearch:
    """Finds the same pages for the same query, always; `failures` gives the errors of the first searches."""

    pages: Sequence[Hit]
    name: str = "static"
    timeout_s: float = 30.0
    hits_a_query: int = 3
    delay_s: float = 0.0
    failures: list[CallFailed] = field(default_factory=list)
    log: CallLog = field(default_factory=CallLog)

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        """Return pages chosen by the query's hash."""
        self.log.write("begin", "search", query.query)
        await asyncio.sleep(self.delay_s)
        if self.failures:
            self.log.write("fail", "search", query.query)
            raise self.failures.pop(0)
        ranked = sorted(self.pages, key=lambda hit: digest(query.query, hit.address))
        self.log.write("end", "search", query.query)
        return ranked[: min(limit, self.hits_a_query)]


@dataclass
class MemoryFetcher:
    """Serves pages from memory."""

    pages: Mapping[str, str]
    timeout_s: float = 30.0
    delay_s: float = 0.0
    log: CallLog = field(default_factory=CallLog)

    async def fetch(self, address: str) -> Fetched:
        """Return the page at the address."""
        self.log.write("begin", "fetch", address)
        await asyncio.sleep(self.delay_s)
        text = self.pages.get(canonical_address(address))
        if text is None:
            self.log.write("fail", "fetch", address)
            raise SourceError(f"There is no page at {address}.")
        self.log.write("end", "fetch", address)
        return Fetched(address=address, media_type="text/plain", raw=text.encode())
