"""How well retrieval went: who was asked, who found nothing or failed, what was read and what of it is cited."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deep_research.errors import CalledOff, ServiceClosed
from deep_research.messages.words import Words
from deep_research.pipeline.journalled import Snapshot
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.scope import Scope, fetch_scope
from deep_research.request import ResearchRequest
from deep_research.search.registry import EngineSpec
from deep_research.sources.address import canonical_address
from deep_research.sources.ranking import LOCAL
from deep_research.store.port import JournalRow
from deep_research.value import Json, JsonObject


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
class Health:
    """All engines, and the pages; `blocked` names those that could not be had or not be used, and why."""

    engines: tuple[EngineHealth, ...]
    fetched: int
    cited: int
    blocked: dict[str, str]

    @property
    def tried(self) -> int:
        """Return how many pages were opened."""
        return self.fetched + len(self.blocked)

    def to_json(self) -> JsonObject:
        """Return it as the run folder keeps it."""
        engines: list[Json] = [
            {
                "engine": one.name,
                "asked": one.asked,
                "results": one.results,
                "empty": one.empty,
                "failed": one.failed,
                "not_tried": one.skipped,
                "problems": dict(one.failures),
                "read": one.read,
                "cited": one.cited,
            }
            for one in self.engines
        ]
        pages: JsonObject = {"tried": self.tried, "fetched": self.fetched, "cited": self.cited}
        return {"engines": engines, "pages": pages | {"blocked": dict(sorted(self.blocked.items()))}}


async def health_of(cited: Iterable[str], records: RunRecords) -> Health:
    """Return the health of a run's retrieval, from its journal; `cited` are the snapshots that the report cites."""
    rows = [row for row in await records.calls() if not row.is_superseded]
    fetches = [row for row in rows if row.kind == "fetch" and row.state in ("done", "failed")]
    # Addresses that led to the same page are one page.
    pages: dict[str, str] = {}
    for row in fetches:
        if row.state == "done":
            kept = Snapshot.from_json(await records.answer(row))
            pages[row.scope.removeprefix(fetch_scope(""))] = kept.snapshot
    used = set(cited)
    engines: dict[str, EngineHealth] = {}
    for row in rows:
        if row.kind == "search" and row.state in ("done", "failed"):
            name = Scope(row.scope).last
            _count(engines.setdefault(name, EngineHealth(name)), row, await records.answer(row))
    for engine in engines.values():
        read = {pages[address] for address in engine.found if address in pages}
        engine.read, engine.cited = len(read), len(read & used)
    blocked = {
        row.scope.removeprefix(fetch_scope("")): str(row.error["detail"]) for row in fetches if row.error is not None
    }
    in_order = sorted(engines.values(), key=lambda one: (one.name != LOCAL, -one.cited, -one.results, one.name))
    read_pages = set(pages.values())
    return Health(tuple(in_order), len(read_pages), len(used & read_pages), blocked)


def _count(engine: EngineHealth, row: JournalRow, answer: Json) -> None:
    if row.error is not None:
        is_skipped = row.error["name"] == ServiceClosed.__name__
        engine.skipped += is_skipped
        engine.asked += not is_skipped
        if not is_skipped and row.error["name"] != CalledOff.__name__:
            engine.failures[str(row.error["detail"])] += 1
        return
    hits = answer if isinstance(answer, list) else []
    engine.asked += 1
    engine.results += len(hits)
    engine.empty += not hits
    engine.found |= {canonical_address(str(hit["address"])) for hit in hits if isinstance(hit, dict)}


def account_of(
    health: Health, request: ResearchRequest, specs: Mapping[str, EngineSpec], said: Words
) -> tuple[list[list[str]], list[str]]:
    """Return the account of the search in the report's language: the rows of a table, and what is to be said to it."""
    head = [said(f"search.{column}") for column in ("engine", "asked", "results", "empty", "failed", "read", "cited")]
    rows = [
        [
            _title(one.name, specs, said),
            *map(str, (one.asked, one.results, one.empty, one.failed, one.read, one.cited)),
        ]
        for one in health.engines
    ]
    notes = [
        said(
            "search.pages",
            tried=health.tried,
            fetched=health.fetched,
            blocked=len(health.blocked),
            cited=health.cited,
        )
    ]
    if request.sites or request.since or request.until:
        notes.append(said("search.limited"))
    return [head, *rows], notes + _problems(health, specs, said)


def notice_of(health: Health, specs: Mapping[str, EngineSpec], said: Words) -> tuple[str, ...]:
    """Say that the general web could not be searched, where its engines found nothing because they mostly failed."""
    general = [one for one in health.engines if one.name in specs and not specs[one.name].is_specialist]
    failed = sum(one.failed + one.skipped for one in general)
    if any(one.results for one in general) or failed <= sum(one.empty for one in general):
        return ()
    listed = said("report.list_separator").join
    lost = said(
        "search.no_web",
        engines=listed(_title(one.name, specs, said) for one in general),
        failed=failed,
        asked=sum(one.asked + one.skipped for one in general),
    )
    others = [one for one in health.engines if one not in general and one.read]
    rest = said("search.rests_on", sources=listed(_title(one.name, specs, said) for one in others)) if others else ""
    return tuple(filter(None, (lost, rest)))


def _problems(health: Health, specs: Mapping[str, EngineSpec], said: Words) -> list[str]:
    """Say why engines failed, in one line for those that failed in the same way."""
    alike: dict[str, list[EngineHealth]] = {}
    for one in health.engines:
        if one.failures:
            reason, _ = one.failures.most_common(1)[0]
            alike.setdefault(reason.removeprefix(f"{_title(one.name, specs, said)} "), []).append(one)
    return [
        said(
            "search.problem",
            engines=said("report.list_separator").join(_title(one.name, specs, said) for one in failing),
            failed=sum(one.failed for one in failing),
            asked=sum(one.asked for one in failing),
            skipped=sum(one.skipped for one in failing),
            reason=reason,
        )
        for reason, failing in alike.items()
    ]


def _title(name: str, specs: Mapping[str, EngineSpec], said: Words) -> str:
    if name == LOCAL:
        return said("search.own")
    return specs[name].title if name in specs else name
