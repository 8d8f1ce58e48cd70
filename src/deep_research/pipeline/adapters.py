"""The parts a run is built from, as wiring hands them over, and the values that steer the runtime."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from deep_research.charts.sandbox.port import Execution, Sandbox
from deep_research.documents.corpus.port import Corpus
from deep_research.documents.corpus.search import CorpusSearch
from deep_research.llm.port import ChatModel
from deep_research.pipeline.clock import Clock, SystemClock
from deep_research.pipeline.watching import Observer
from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.reasoning.port import Reasoner
from deep_research.report.figure import ChartType, DataRow
from deep_research.storage.store.store import OpenStore
from deep_research.web.fetch.port import Fetcher
from deep_research.web.search.port import SearchEngine
from deep_research.web.search.registry import EngineSpec

if TYPE_CHECKING:
    from deep_research.web.cache.cache import Cache

_SMALL_FOLDER = 50


class Draw(Protocol):
    """Draws a line or bar chart from rows, or raises `SourceError`."""

    async def __call__(
        self, *, title: str, chart_type: ChartType, unit: str, rows: Sequence[DataRow], language: str = "en"
    ) -> Execution:
        """Return the pictures, with the values that they show."""


@dataclass(frozen=True)
class Adapters:
    """Every adapter of a run.

    `models` is the chain of models, each tried where the one before failed, and `window` how many tokens they hold;
    `reasoner` is called with the journalled chain each time an act begins. `specs` holds what is known of the engines
    by name; one that it does not name is taken for a general one. `cache` keeps plans between runs. `sandbox` runs the
    programs of a model; `draw` is our own, and where it is missing, `no_drawing` says why; without all three there are
    no charts. `is_replay` says that everything is answered from the journal, or not at all.
    """

    open_store: OpenStore
    logs: Path
    fallback: Reasoner
    reasoner: Callable[[ChatModel], Reasoner] | None = None
    models: tuple[ChatModel, ...] = ()
    window: int = PromptOptions.window
    engines: tuple[SearchEngine, ...] = ()
    specs: Mapping[str, EngineSpec] = field(default_factory=dict)
    fetcher: Fetcher | None = None
    corpus: Corpus | None = None
    sandbox: Sandbox | None = None
    max_chart_failures: int = 2
    draw: Draw | None = None
    no_drawing: str = ""
    cache: "Cache | None" = None
    plan_cache_s: float = 1800.0
    on_close: tuple[Callable[[], Awaitable[None]], ...] = ()
    clock: Clock = field(default_factory=SystemClock)
    new_id: Callable[[], str] = lambda: uuid4().hex
    lease_s: float = 30.0
    heartbeat_s: float = 1.0
    confirm_above_usd: float = 1.0
    model_tries: int = 1
    jitter: Callable[[], float] = random
    tracing: bool = False
    observers: tuple[Observer, ...] = ()
    is_replay: bool = False

    @property
    def has_web(self) -> bool:
        """Return whether anything but the user's own documents is searched."""
        return any(engine.name != CorpusSearch.name for engine in self.engines)

    async def has_small_folder(self) -> bool:
        """Return whether the user's own documents are so few that each one that is found can be read."""
        return self.corpus is not None and len(await self.corpus.contents()) <= _SMALL_FOLDER

    async def close(self) -> None:
        """Let go of what outlives a run."""
        if self.corpus:
            await self.corpus.close()
        for close in self.on_close:
            await close()
