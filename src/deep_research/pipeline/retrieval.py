"""How well retrieval went: who was asked, who found nothing or failed, what was read and what of it is cited."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deep_research.errors import CalledOff, ServiceClosed
from deep_research.pipeline.gap import in_plain_words
from deep_research.pipeline.journalled import Snapshot
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.scope import Scope, fetch_scope
from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Delivered
from deep_research.report.sources.ranking import LOCAL
from deep_research.request import ResearchRequest
from deep_research.storage.store.port import JournalRow
from deep_research.text.messages.words import Words
from deep_research.value import Json, JsonObject, Strings
from deep_research.web.search.registry import EngineSpec

# What is counted of an engine: in `retrieval.json`, and of that in the report.
_COUNTS = ("asked", "results", "empty", "failed", "read", "cited")
_SHOWN_COUNTS = ("asked", "results", "read", "cited")


@dataclass
class EngineHealth:
    """What one engine did in a run."""

    name: str
    asked: int = 0
    results: int = 0
    empty: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    found: set[str] = field(default_factory=set)
    read: int = 0
    cited: int = 0

    @property
    def failed(self) -> int:
        """Return how often it failed."""
        return self.failures.total()


@dataclass(frozen=True)
class RetrievalHealth:
    """All engines, and the pages; `blocked` names those that could not be had or not be used, and why.

    `delivered` names those of them of which an engine gave an abstract or a text, and which one; `is_followed` says
    that another run had read something before.
    """

    engines: tuple[EngineHealth, ...]
    fetched: int
    cited: int
    blocked: dict[str, str]
    delivered: dict[str, Delivered] = field(default_factory=dict)
    is_followed: bool = False

    @property
    def tried(self) -> int:
        """Return how many pages were opened."""
        return self.fetched + len(self.blocked)

    @property
    def is_unanswered(self) -> bool:
        """Say whether sources were asked and every search failed: nobody knows whether there is something to find."""
        is_asked = bool(self.engines) and not self.is_followed
        return is_asked and not any(one.results or one.empty for one in self.engines)

    def to_json(self) -> JsonObject:
        """Return it as the run folder keeps it."""
        engines: list[Json] = [
            {
                "engine": one.name,
                "not_tried": one.skipped,
                "problems": dict(one.failures),
                **{name: getattr(one, name) for name in _COUNTS},
            }
            for one in self.engines
        ]
        pages = {"tried": self.tried, "fetched": self.fetched, "cited": self.cited}
        delivered_pages: JsonObject = {
            address: {"kind": one.kind, "engine": one.engine} for address, one in sorted(self.delivered.items())
        }
        return {
            "engines": engines,
            "pages": pages | {"blocked": dict(sorted(self.blocked.items())), "delivered": delivered_pages},
        }


async def health_of(cited: Iterable[str], records: RunRecords, *, is_followed: bool) -> RetrievalHealth:
    """Return the health of a run's retrieval, from its journal; `cited` are the snapshots that the report cites."""
    # A search that has begun and not ended when the report is written failed in a way that nobody foresaw.
    wanted = {"search": ("done", "failed", "started"), "fetch": ("done", "failed")}
    rows = [row for row in await records.calls() if row.state in wanted.get(row.kind, ()) and not row.is_superseded]
    # Addresses that led to the same page are one page.
    pages = {}
    blocked = {}
    engines: dict[str, EngineHealth] = {}
    for row in rows:
        result, address = await records.answer(row), row.scope.removeprefix(fetch_scope(""))
        if row.kind == "search":
            name = Scope(row.scope).last
            _count(engines.setdefault(name, EngineHealth(name)), row, result)
        elif row.error:
            blocked[address] = str(row.error["detail"])
        else:
            pages[address] = Snapshot.from_json(result).snapshot
    used = set(cited)
    documents = [(address, await records.document(id_)) for id_, address in (await records.documents()).items()]
    delivered = {address: read.delivered for address, read in documents if read.delivered}
    delivered_pages = {(read.delivered.engine, read.snapshot) for _, read in documents if read.delivered}
    for engine in engines.values():
        read = {pages[address] for address in engine.found if address in pages}
        read |= {snapshot for name, snapshot in delivered_pages if name == engine.name}
        engine.read, engine.cited = len(read), len(read & used)
    in_order = sorted(engines.values(), key=lambda one: (one.name != LOCAL, -one.cited, -one.results, one.name))
    read_pages, texts = set(pages.values()), {snapshot for _, snapshot in delivered_pages}
    counted = len(read_pages), len(used & (read_pages | texts))
    return RetrievalHealth(tuple(in_order), *counted, blocked, delivered, is_followed)


def _count(engine: EngineHealth, row: JournalRow, result: Json) -> None:
    if row.error:
        is_skipped = row.error["name"] == ServiceClosed.__name__
        engine.skipped += is_skipped
        engine.asked += not is_skipped
        if not is_skipped and row.error["name"] != CalledOff.__name__:
            engine.failures[str(row.error["detail"])] += 1
        return
    engine.asked += 1
    if row.state == "started":
        engine.failures["unexpected error"] += 1
        return
    hits = result if isinstance(result, list) else []
    engine.results += len(hits)
    engine.empty += not hits
    engine.found |= {canonical_address(str(hit["address"])) for hit in hits if isinstance(hit, dict)}


def title_of(engine: str, specs: Mapping[str, EngineSpec]) -> str:
    """Return what users call an engine."""
    return specs[engine].title if engine in specs else engine


@dataclass(frozen=True)
class SearchSummary:
    """The account of the search in the report's language."""

    health: RetrievalHealth
    specs: Mapping[str, EngineSpec]
    words: Words

    def lines(self, request: ResearchRequest) -> list[str]:
        """Say what each engine did, what became of the pages, and why engines failed."""
        health = self.health
        did = [
            self.words("search.did", engine=self._title(one), **{name: getattr(one, name) for name in _SHOWN_COUNTS})
            for one in health.engines
        ]
        pages = {"tried": health.tried, "fetched": health.fetched, "blocked": len(health.blocked)}
        searched = self.words("search.searched", engines=self.words("report.value_separator").join(did))
        notes = [searched] if did else []
        if health.tried or not health.is_followed:
            notes.append(self.words("search.pages", **pages, cited=health.cited))
        if health.delivered:
            notes.append(self.words("search.delivered", count=len(health.delivered)))
        if request.sites or request.since or request.until:
            notes.append(self.words("search.limited"))
        return notes + self._problems()

    def notice(self) -> Strings:
        """Say that no source answered, or that the general web's engines found nothing as they mostly failed."""
        engines, specs = self.health.engines, self.specs
        if self.health.is_unanswered:
            return (self.words("search.unanswered", engines=self._listed(engines)),)
        general = [one for one in engines if one.name in specs and not specs[one.name].is_specialist]
        failed = sum(one.failed + one.skipped for one in general)
        if any(one.results for one in general) or failed <= sum(one.empty for one in general):
            return ()
        asked = sum(one.asked + one.skipped for one in general)
        lost = self.words("search.no_web", engines=self._listed(general), failed=failed, asked=asked)
        others = [one for one in engines if one not in general and one.read]
        return (lost, self.words("search.rests_on", sources=self._listed(others))) if others else (lost,)

    def _problems(self) -> list[str]:
        """Say why engines failed, in one line for those that failed in the same way."""
        alike: dict[str, list[EngineHealth]] = {}
        for one in self.health.engines:
            if one.failures:
                reason, _ = one.failures.most_common(1)[0]
                alike.setdefault(reason.removeprefix(f"{self._title(one)} "), []).append(one)
        return [
            self.words(
                "search.problem",
                engines=self._listed(failing),
                failed=sum(one.failed for one in failing),
                asked=sum(one.asked for one in failing),
                skipped=sum(one.skipped for one in failing),
                reason=in_plain_words(reason, self.words),
            )
            for reason, failing in alike.items()
        ]

    def _listed(self, engines: Iterable[EngineHealth]) -> str:
        return self.words.listed(map(self._title, engines))

    def _title(self, engine: EngineHealth) -> str:
        return self.words("search.own") if engine.name == LOCAL else title_of(engine.name, self.specs)
