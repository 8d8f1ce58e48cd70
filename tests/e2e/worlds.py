"""Scripted worlds for processes that are killed, frozen, starved or left alone; chosen by `--wiring worlds:NAME`."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deep_research.charts.sandbox.port import Execution
from deep_research.errors import CallFailed, NetworkError
from deep_research.events import RunEvent, RunStatus
from deep_research.pipeline.adapters import Adapters
from deep_research.report.figure import DataRow
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.settings import Settings
from deep_research.storage.store.port import Lease, NewEvent
from deep_research.testing import ActPrice, CallLog, MemoryFetcher, StaticSearch
from deep_research.web.fetch.port import Fetched, Fetcher
from deep_research.web.search.port import SearchEngine
from deep_research.wiring import build as build_real
from tests.support.analyst import ScriptedAnalyst
from tests.support.charts import drawn_by_ours, with_series
from tests.support.faults import Fault, FaultyStore
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World, with_models


def _log() -> CallLog:
    return CallLog(Path(os.environ["TEST_CALL_LOG"]))


def quick(settings: Settings) -> Adapters:
    """Every call answers at once; the store dies at write TEST_KILL_AT, if that is set."""
    return _dying(World(log=_log(), pages=8).adapters(settings))


def written(settings: Settings) -> Adapters:
    """A model's reasoner, asked with real prompts, over the same pages; dies like `quick`."""
    log = _log()
    return _dying(with_models(World(log=log, pages=8).adapters(settings), ScriptedAnalyst(log=log)))


def charted(settings: Settings) -> Adapters:
    """Pages with series of figures, by rules; dies as the drawing of chart TEST_KILL_DRAWING begins, if that is set."""
    log, dies_at = _log(), int(os.environ.get("TEST_KILL_DRAWING", "0"))

    async def draw(*, title: str, rows: Sequence[DataRow], **more: Any) -> Execution:
        log.write("begin", "draw", title)
        if (
            sum(
                line["kind"] == "draw" and line["event"] == "begin"
                for line in CallLog.read(Path(os.environ["TEST_CALL_LOG"]))
            )
            == dies_at
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        drawn = await drawn_by_ours(title=title, rows=rows, **more)
        log.write("end", "draw", title)
        return drawn

    adapters = with_series(World(log=log, pages=8).adapters(settings))
    return replace(adapters, models=(), reasoner=None, draw=draw)


def _dying(adapters: Adapters) -> Adapters:
    at, fault = int(os.environ.get("TEST_KILL_AT", "0")), os.environ.get("TEST_FAULT", "kill_before")
    return replace(adapters, open_store=lambda: _Counted(adapters.open_store(), at=at, fault=cast("Fault", fault)))


class _Counted(FaultyStore):
    """Leaves behind which of its writes told the beginning of which stage, and how many there were.

    A run is done only once the file TEST_GATE exists, if that is set.
    """

    async def append_events(self, lease: Lease, events: Sequence[NewEvent]) -> list[RunEvent]:
        begun = [str(event.data["step"]) for event in events if event.data.get("status") == "started"]
        for step in begun:
            self._note(f"{self.writes + 1} {step}")
        kept = await super().append_events(lease, events)
        if os.environ.get("TEST_KILL_STAGE") in begun:
            os.kill(os.getpid(), signal.SIGKILL)
        return kept

    async def finish(self, lease: Lease, status: RunStatus, **given: Any) -> list[RunEvent]:
        gate = os.environ.get("TEST_GATE")
        while gate and status == "done" and not Path(gate).exists():
            await asyncio.sleep(0.05)
        return await super().finish(lease, status, **given)

    async def close(self) -> None:
        if self.writes > 1:
            self._note(f"{self.writes} end")
        await super().close()

    def _note(self, line: str) -> None:
        with Path(os.environ["TEST_CALL_LOG"]).with_name("writes").open("a") as file:
            file.write(line + "\n")


def documents(settings: Settings) -> Adapters:
    """Research over real documents without a model, its searches and fetches logged; dies like `quick`."""
    adapters, log = build_real(settings), _log()
    assert adapters.fetcher is not None
    return _dying(
        replace(
            adapters,
            engines=tuple(_LoggedSearch(engine, log) for engine in adapters.engines),
            fetcher=_LoggedFetcher(adapters.fetcher, log),
        )
    )


class _LoggedSearch:
    def __init__(self, engine: SearchEngine, log: CallLog) -> None:
        self._engine, self._log = engine, log
        self.name, self.timeout_s = engine.name, engine.timeout_s

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        self._log.write("begin", "search", query.query)
        return await self._engine.search(query, limit=limit)


class _LoggedFetcher:
    def __init__(self, fetcher: Fetcher, log: CallLog) -> None:
        self._fetcher, self._log = fetcher, log
        self.timeout_s = fetcher.timeout_s

    async def fetch(self, address: str) -> Fetched:
        self._log.write("begin", "fetch", address)
        return await self._fetcher.fetch(address)


def slow(settings: Settings) -> Adapters:
    """Every act takes a while, so that the process can be caught in the middle of one."""
    patient = World(log=_log(), pages=8, act=ActPrice(tokens=100, usd=0.001, delay_s=0.25))
    return replace(patient, long_act=ActPrice(tokens=400, usd=0.004, delay_s=1.0)).adapters(settings)


def asking(settings: Settings) -> Adapters:
    """The question is unclear: one answer is needed."""
    return _dying(World(log=_log(), pages=8, reasoner=ScriptedReasoner(questions=1)).adapters(settings))


def planless(settings: Settings) -> Adapters:
    """The model cannot be reached for the plan, until the file TEST_MENDED exists."""
    world = World(log=_log(), pages=8)
    adapters = world.adapters(settings)
    if _is_mended():
        return adapters
    model = world.model()
    down: list[CallFailed] = [NetworkError("the model's service does not answer")] * 3
    return replace(adapters, models=(replace(model, failures={"plan": down}),), clock=_Hasty())


class _Hasty:
    """The real clock, but it waits for nothing."""

    def __init__(self) -> None:
        from deep_research.pipeline.clock import SystemClock

        self._real = SystemClock()
        self.now = self._real.now
        self.monotonic = self._real.monotonic

    async def sleep(self, seconds: float) -> None:
        await self._real.sleep(0)


def hanging(settings: Settings) -> Adapters:
    """The model does not come back from the plan, until the file TEST_MENDED exists."""
    world = World(log=_log(), pages=8)
    if not _is_mended():
        world = replace(world, long_act=ActPrice(tokens=400, usd=0.004, delay_s=600.0, timeout_s=900.0))
    return world.adapters(settings)


def hurried(settings: Settings) -> Adapters:
    """A search takes half of the time it has."""
    adapters = World(log=_log(), pages=8, search_s=1.0).adapters(settings)
    engines = tuple(replace(cast("StaticSearch", engine), timeout_s=2.0) for engine in adapters.engines)
    return replace(adapters, engines=engines)


def paced(settings: Settings) -> Adapters:
    """Every call takes its time, so that seconds can run out."""
    world = World(log=_log(), pages=8, act=ActPrice(tokens=100, usd=0.001, delay_s=0.2), search_s=0.2, page_s=0.1)
    return replace(world, long_act=ActPrice(tokens=400, usd=0.004, delay_s=0.2)).adapters(settings)


class _TornSearch(StaticSearch):
    """Fails for two queries of the first round."""

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        if query.query in ("Costs 1.1", "Results 1.1"):
            self.failures.append(NetworkError("the engine does not answer"))
        return await super().search(query, limit=limit)


def torn(settings: Settings) -> Adapters:
    """Two searches fail and two pages are missing, until the file TEST_MENDED exists."""
    adapters = World(log=_log(), pages=8).adapters(settings)
    if _is_mended():
        return adapters
    engines = tuple(_TornSearch(cast("StaticSearch", engine).pages, log=_log()) for engine in adapters.engines)
    fetcher = cast("MemoryFetcher", adapters.fetcher)
    there = {address: text for address, text in fetcher.pages.items() if not address.endswith(("/1", "/2"))}
    return replace(adapters, engines=engines, fetcher=replace(fetcher, pages=there))


def _is_mended() -> bool:
    return Path(os.environ["TEST_MENDED"]).exists()
