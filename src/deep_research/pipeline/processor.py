"""`DeepResearchProcessor` (document 000): the facade that owns a state machine and runs questions through it."""

from deep_research.errors import StageFailed
from deep_research.events import OnEvent, OnLive
from deep_research.pipeline.adapters import Adapters
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import AgentRuntime, OnQuestion
from deep_research.request import ResearchRequest
from deep_research.store.port import RunRow
from deep_research.value import Value


class Result(Value):
    """The result of a run (SPEC W5)."""

    title: str
    final_report: str
    learnings: tuple[str, ...]
    sources: tuple[dict[str, object], ...]
    images: tuple[str, ...]
    is_verified: bool
    run: str
    folder: str


class DeepResearchProcessor:
    """Composes planner, executor, analyzer, computation, reporter and streaming; holds nothing about a run."""

    def __init__(
        self, adapters: Adapters, *, machine: StateMachine | None = None, wiring: str = "", code_version: str = ""
    ) -> None:
        self.adapters = adapters
        self.machine = machine or StateMachine()
        self.runtime = AgentRuntime(adapters, machine=self.machine, wiring=wiring, code_version=code_version)

    async def process(
        self,
        request: ResearchRequest,
        *,
        on_event: OnEvent | None = None,
        on_live: OnLive | None = None,
        on_question: OnQuestion | None = None,
    ) -> RunRow:
        """Start a run and stay with it until it is done or waits for an answer."""
        row = await self.runtime.create(request)
        return await self.runtime.resume(row.id, on_event=on_event, on_live=on_live, on_question=on_question)

    async def result(self, row: RunRow) -> Result:
        """Return the report of a run that is done."""
        if row.result is None:
            raise StageFailed(f"Run {row.id} has no report; it is {row.status}.")
        store = self.adapters.open_store()
        try:
            text = (await store.get_blob(str(row.result["report"]))).decode()
        finally:
            await store.close()
        kept = {key: row.result[key] for key in ("title", "learnings", "sources", "images", "is_verified")}
        return Result.from_json({**kept, "final_report": text, "run": row.id, "folder": row.folder})
