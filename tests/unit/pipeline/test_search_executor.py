"""Search tasks over several engines: all at once, the quickest, along the chain; what fails or hangs stops nobody."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from deep_research.errors import NetworkError, SourceBusy, SourceError
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.budget import BudgetLedger
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.folder import RunFolder
from deep_research.pipeline.journal import Journal, longest_chain_s
from deep_research.pipeline.stages.harvest import SearchExecutor, harvest
from deep_research.pipeline.state import TaskState
from deep_research.pipeline.streaming import StreamingManager
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Budget, EarlierRun, ResearchRequest, SearchEngineConfig, Spend
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import JournalRow, Lease
from deep_research.storage.store.store import Store
from deep_research.web.search.registry import ENGINES, EngineSpec
from tests.support.store_samples import LEASE_S, make_run
from tests.support.waiting import until

QUERY = SearchQuery(query="harbour heat pump cost")


@dataclass
class Engine:
    """Finds one page of its own, fails, or waits until it is let go."""

    name: str
    finds: bool = True
    failure: Exception | None = None
    gate: asyncio.Event | None = None
    timeout_s: float = 30.0
    asked: list[SearchQuery] = field(default_factory=list)
    was_cancelled: bool = False

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        self.asked.append(query)
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self.failure is not None:
            raise self.failure
        hit = Hit(address=f"https://{self.name}.org/a", title="Harbour heat pump cost", engine=self.name)
        return [hit][:limit] if self.finds else []


class SearchSetup:
    """A run over given engines, of which each search is a task of its own."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self._folder = folder
        self._runs = 0
        self._claims: dict[str, Lease] = {}

    async def context(
        self,
        *engines: Engine,
        specs: tuple[str | EngineSpec, ...] = (),
        budget: Budget | None = None,
        request: ResearchRequest | None = None,
        resumed: str = "",
        **search: object,
    ) -> StageContext:
        if not resumed:
            self._runs += 1
            row = make_run(f"run{self._runs:05}")
            given = (request or ResearchRequest(question="?")).model_copy(
                update={"search": SearchEngineConfig.from_json(search), "budget": budget or Budget()}
            )
            await self.store.create_run(row.model_copy(update={"request": given}))
        run = resumed or f"run{self._runs:05}"
        if not resumed:
            self._claims[run] = await self.store.lease(run, current_owner(), lease_s=LEASE_S)
        lease = self._claims[run]
        row, clock = await self.store.get_run(run), SystemClock()
        named = [spec if isinstance(spec, EngineSpec) else ENGINES[spec] for spec in specs]
        adapters = Adapters(
            open_store=lambda: self.store,
            logs=self._folder,
            fallback=ExtractiveReasoner(),
            engines=engines,
            specs={spec.name: spec for spec in named},
        )
        ledger = BudgetLedger(row.request.budget, Spend(), active_s=lambda: 0.0)
        context = RunContext(
            row=row,
            lease=lease,
            adapters=adapters,
            store=self.store,
            journal=Journal(store=self.store, lease=lease, ledger=ledger, clock=clock, code_version="1"),
            streaming=StreamingManager(store=self.store, lease=lease, clock=clock),
            folder=RunFolder(self._folder / "run", store=self.store, lease=lease),
            answers={},
        )
        return context.stage("section/1/round/1/task/1", phase="research", is_branch=True)

    async def rows(self, context: StageContext, kind: str) -> dict[str, JournalRow]:
        rows = await self.store.list_calls(context.run.row.id)
        return {row.scope.rsplit("/", 1)[-1]: row for row in rows if row.kind == kind}


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[SearchSetup]:
    store = Store(SqliteFile(tmp_path / "store.db"))
    yield SearchSetup(store, tmp_path)
    await store.close()


async def _search(context: StageContext, query: SearchQuery = QUERY) -> list[str]:
    return [hit.engine for hit in await SearchExecutor().execute(query, context=context)]


async def test_batch_asks_everybody_at_once_and_merges(setup: SearchSetup) -> None:
    gate = asyncio.Event()
    engines = [Engine("one", gate=gate), Engine("two", gate=gate), Engine("three", gate=gate)]
    context = await setup.context(*engines, parallel_strategy="batch")
    search = asyncio.create_task(_search(context))
    await until(lambda: all(engine.asked for engine in engines))
    gate.set()
    assert sorted(await search) == ["one", "three", "two"]
    rows = await setup.store.list_calls(context.run.row.id)
    assert len(context.dependencies.heads) == 3
    assert longest_chain_s(rows) < sum((row.ended_at - row.started_at).total_seconds() for row in rows if row.ended_at)


async def test_a_search_task_is_one_query_however_many_engines_it_asks(setup: SearchSetup) -> None:
    context = await setup.context(Engine("one"), Engine("two"), parallel_strategy="batch", budget=Budget(queries=1))
    assert len(await _search(context)) == 2
    assert context.run.journal.ledger.spent.queries == 1
    assert await _search(context.at("next")) == []
    assert [gap.budget for gap in context.gaps] == ["queries"]


async def test_the_first_answer_wins_a_race_and_the_others_are_cancelled(setup: SearchSetup) -> None:
    slow, quick, empty = Engine("slow", gate=asyncio.Event()), Engine("quick"), Engine("empty", finds=False)
    context = await setup.context(slow, quick, empty, parallel_strategy="race")
    assert await _search(context) == ["quick"]
    assert slow.was_cancelled
    rows = await setup.rows(context, "search")
    assert rows["slow"].error is not None
    assert rows["slow"].error["name"] == "CalledOff"
    assert (await setup.rows(context, "decision"))["race"].answer == "quick"
    assert context.gaps == []


async def test_a_race_is_run_once_in_a_run(setup: SearchSetup) -> None:
    slow = Engine("slow", gate=asyncio.Event())
    context = await setup.context(slow, Engine("quick"), parallel_strategy="race")
    assert await _search(context) == ["quick"]
    assert slow.gate is not None
    slow.gate.set()
    late = Engine("quick", gate=asyncio.Event())
    again = await setup.context(slow, late, parallel_strategy="race", resumed=context.run.row.id)
    assert await _search(again) == ["quick"]
    assert late.asked == []
    assert len(slow.asked) == 1


async def test_nobody_wins_a_race_in_which_all_fail(setup: SearchSetup) -> None:
    engines = [Engine("one", failure=NetworkError("gone")), Engine("two", failure=SourceError("shut"))]
    context = await setup.context(*engines, parallel_strategy="race")
    assert await _search(context) == []
    assert [(gap.kind, gap.subject) for gap in context.gaps] == [("search", QUERY.query)]


async def test_along_the_chain_one_that_fails_or_finds_nothing_is_followed_by_the_next(setup: SearchSetup) -> None:
    chain = [Engine("down", failure=NetworkError("gone")), Engine("empty", finds=False), Engine("good"), Engine("last")]
    context = await setup.context(*chain)
    assert await _search(context) == ["good"]
    assert [len(engine.asked) for engine in chain] == [1, 1, 1, 0]
    assert context.gaps == []


async def test_specialists_are_asked_beside_the_chain(setup: SearchSetup) -> None:
    gate = asyncio.Event()
    engines = [Engine("duckduckgo", gate=gate), Engine("wikipedia", gate=gate), Engine("local", gate=gate)]
    context = await setup.context(*engines, specs=("duckduckgo", "wikipedia"))
    search = asyncio.create_task(_search(context))
    await until(lambda: all(engine.asked for engine in engines))
    gate.set()
    assert sorted(await search) == ["duckduckgo", "local", "wikipedia"]


async def test_the_chain_can_race(setup: SearchSetup) -> None:
    slow = Engine("tavily", gate=asyncio.Event())
    context = await setup.context(slow, Engine("duckduckgo"), specs=("tavily", "duckduckgo"), enable_race_mode=True)
    assert await _search(context) == ["duckduckgo"]
    assert slow.was_cancelled


async def test_a_reasoners_choice_of_specialists_counts_as_far_as_there_are_such(setup: SearchSetup) -> None:
    names = ("duckduckgo", "wikipedia", "arxiv", "pubmed")
    engines = [Engine(name) for name in names]
    context = await setup.context(*engines, specs=names)
    chosen = QUERY.model_copy(update={"engines": ("arxiv", "made-up")})
    assert sorted(await _search(context, chosen)) == ["arxiv", "duckduckgo"]


async def test_for_papers_the_general_web_is_the_last_resort(setup: SearchSetup) -> None:
    engines = [Engine("duckduckgo"), Engine("arxiv"), Engine("openalex")]
    names = tuple(engine.name for engine in engines)
    context = await setup.context(*engines, specs=names, strategy="academic")
    found = await _search(context)
    assert found
    assert "duckduckgo" not in found
    for engine in engines[1:]:
        engine.finds = False
    assert await _search(await setup.context(*engines, specs=names, strategy="academic")) == ["duckduckgo"]
    assert engines[0].asked[0].kind == "academic"


async def test_patents_without_an_office_are_looked_for_on_its_sites(setup: SearchSetup) -> None:
    web = Engine("duckduckgo")
    context = await setup.context(web, specs=("duckduckgo",), strategy="patents")
    await _search(context)
    assert "patents.google.com" in web.asked[0].sites


async def test_only_named_sites_are_kept_and_own_documents_always(setup: SearchSetup) -> None:
    request = ResearchRequest(question="?", sites=("two.org",))
    engines = [Engine("one"), Engine("two"), Engine("local")]
    context = await setup.context(*engines, parallel_strategy="batch", request=request)
    found = [hit.address for hit in await SearchExecutor().execute(QUERY, context=context)]
    assert "https://two.org/a" in found
    assert "https://one.org/a" not in found
    assert engines[0].asked[0].sites == ("two.org",)


async def test_local_asks_the_own_documents_alone(setup: SearchSetup) -> None:
    engines = [Engine("duckduckgo"), Engine("wikipedia"), Engine("local")]
    context = await setup.context(*engines, specs=("duckduckgo", "wikipedia"), strategy="local")
    assert await _search(context) == ["local"]
    assert [len(engine.asked) for engine in engines] == [0, 0, 1]


async def test_more_sources_are_asked_where_the_chosen_ones_find_nothing(setup: SearchSetup) -> None:
    names = ("duckduckgo", "wikipedia", "openalex", "crossref", "semantic-scholar", "hacker-news")
    engines = {name: Engine(name, finds=name in ("crossref", "hacker-news", "semantic-scholar")) for name in names}
    context = await setup.context(*engines.values(), specs=names)
    query = SearchQuery(query="Kirchberg chapel fresco", engines=("wikipedia",))
    assert await _search(context, query)
    assert engines["openalex"].asked or engines["crossref"].asked


@pytest.mark.parametrize("strategy", ["hybrid", "batch", "race"])
async def test_open_sources_do_the_work_of_a_general_web_that_cannot_be_had(setup: SearchSetup, strategy: str) -> None:
    names = ("duckduckgo", "wikipedia", "openalex", "crossref", "semantic-scholar")
    query = SearchQuery(query="Kirchberg chapel fresco", engines=("wikipedia",))
    for failure, widened in ((SourceBusy("a challenge"), strategy != "race"), (None, False)):
        engines = {name: Engine(name) for name in names}
        engines["duckduckgo"].failure = failure
        context = await setup.context(*engines.values(), specs=names, parallel_strategy=strategy)
        assert "wikipedia" in await _search(context, query) or strategy == "race"
        assert [bool(engines[name].asked) for name in names[2:]] == [widened] * 3


async def test_engine_that_answers_with_nothing_is_not_one_that_cannot_be_had(setup: SearchSetup) -> None:
    names = ("duckduckgo", "wikipedia", "openalex")
    engines = {name: Engine(name, finds=name != "duckduckgo") for name in names}
    context = await setup.context(*engines.values(), specs=names)
    query = SearchQuery(query="Kirchberg chapel fresco", engines=("wikipedia",))
    assert await _search(context, query) == ["wikipedia"]
    assert engines["openalex"].asked == []


def _has_asked(engine: Engine, count: int) -> bool:
    return len(engine.asked) == count


async def test_at_most_ten_tasks_search_at_once_and_in_batches_a_batch(setup: SearchSetup) -> None:
    batch = {"parallel_strategy": "batch"}
    for options, most in (
        ({}, 10),
        ({"max_concurrent_searches": 2}, 2),
        ({"batch_size": 3}, 10),
        (batch, 5),
        (batch | {"batch_size": 3}, 3),
        (batch | {"batch_size": 3, "enable_batch_parallel": False}, 3),
        (batch | {"max_concurrent_searches": 2}, 2),
    ):
        gate = asyncio.Event()
        engine = Engine("one", gate=gate)
        context = await setup.context(engine, **options)
        queries = [SearchQuery(query=f"harbour {number}") for number in range(14)]
        tasks = [asyncio.create_task(_search(context.at(query.query), query)) for query in queries]
        await until(partial(_has_asked, engine, most))
        await asyncio.sleep(0.02)
        assert len(engine.asked) == most
        gate.set()
        await asyncio.gather(*tasks)
        assert len(engine.asked) == 14


@pytest.mark.parametrize(("overlap", "begun"), [(True, 4), (False, 3)])
async def test_the_next_batch_waits_for_all_of_the_last_unless_batches_may_overlap(
    setup: SearchSetup, overlap: bool, begun: int
) -> None:
    context = await setup.context(Engine("one"), parallel_strategy="batch", batch_size=3, enable_batch_parallel=overlap)
    slots, gates = context.run.search_slots, [asyncio.Event() for _ in range(5)]
    running: list[int] = []

    async def work(number: int) -> None:
        async with slots:
            running.append(number)
            await gates[number].wait()

    tasks = [asyncio.create_task(work(number)) for number in range(5)]
    await until(lambda: len(running) == 3)
    gates[0].set()
    await asyncio.sleep(0.02)
    assert len(running) == begun
    for gate in gates:
        gate.set()
    await asyncio.gather(*tasks)
    assert len(running) == 5


async def test_a_hanging_engine_costs_its_own_timeout_and_nobody_elses(setup: SearchSetup) -> None:
    hanging = Engine("hanging", gate=asyncio.Event(), timeout_s=0.05)
    context = await setup.context(hanging, Engine("good"), parallel_strategy="batch")
    assert await _search(context) == ["good"]
    assert hanging.was_cancelled
    row = (await setup.rows(context, "search"))["hanging"]
    assert "no answer within" in cast("dict[str, str]", row.error)["detail"]


@pytest.mark.parametrize("titles", [("What it cost",), ("Costs", "Noise")], ids=["this version", "an earlier one"])
async def test_the_first_task_of_an_update_reads_again_what_the_earlier_report_cites(titles: tuple[str, ...]) -> None:
    class Nothing(SearchExecutor):
        async def execute(self, query: SearchQuery, context: StageContext) -> list[Hit]:
            return []

    class Kept:
        async def keep(self, hits: list[Hit]) -> list[Hit]:
            return hits

    sources = {title: {f"https://{title}.test": title} for title in titles}
    request = ResearchRequest(question="q?", update=EarlierRun(run="r", brief={}, plan={}, sources=sources))
    context = cast(StageContext, SimpleNamespace(request=request, records=Kept()))
    state = TaskState(round=1)
    first, second = [(await harvest(state.replace(task=task), context, Nothing()))["hits"] for task in (1, 2)]
    assert [hit.address for hit in first] == [f"https://{title}.test" for title in titles]
    assert second == []
