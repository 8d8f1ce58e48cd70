"""The way in from Python: `research`, and the names of document 002."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version

from deep_research.events import OnEvent
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.processor import DeepResearchProcessor, Result
from deep_research.pipeline.runtime import OnQuestion, answer_needed
from deep_research.reasoning.clarifier import usable_question
from deep_research.request import Budget, Depth, ResearchRequest
from deep_research.settings import Settings, load_settings
from deep_research.value import Json, JsonObject
from deep_research.wiring import parts_for

OnClarifyQuestion = Callable[[str], Awaitable[str]]


@dataclass(frozen=True)
class DeepResearchGraph:
    """Everything a run needs but its question: settings and the machine whose stages it will go through."""

    settings: Settings
    machine: StateMachine

    def processor(self) -> DeepResearchProcessor:
        """Return the facade that runs questions."""
        parts = parts_for(self.settings)
        wiring = self.settings.wiring
        return DeepResearchProcessor(parts, machine=self.machine, wiring=wiring, code_version=code_version())

    def draw_mermaid(self) -> str:
        """Return a picture of the graph as Mermaid text."""
        from deep_research.pipeline.graph import build_graph

        return build_graph(self.machine).get_graph(xray=True).draw_mermaid()


def build_deep_research_graph(
    *, settings: Settings | None = None, machine: StateMachine | None = None, max_iterations: int | None = None
) -> DeepResearchGraph:
    """Return what `run_deep_research` needs; without settings they come from the environment and `config.toml`."""
    chosen = settings or load_settings(max_iterations=max_iterations)
    if settings is not None and max_iterations is not None:
        chosen = settings.model_copy(update={"max_iterations": max_iterations})
    return DeepResearchGraph(settings=chosen, machine=machine or StateMachine())


async def run_deep_research(
    query: str,
    graph: DeepResearchGraph,
    max_iterations: int | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
    on_event: OnEvent | None = None,
) -> str:
    """Research a question and return the text of its report (document 002)."""
    given = request_from(graph.settings, query)
    if max_iterations is not None:
        depth = Depth.from_json({**given.depth.to_json(), "max_iterations": max_iterations})
        given = given.model_copy(update={"depth": depth})
    on_question = None if on_clarify_question is None else _plain_question(on_clarify_question)
    return (await _run(graph, given, on_event=on_event, on_question=on_question)).final_report


async def research(
    question: str,
    *,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    budget: Budget | None = None,
    on_event: OnEvent | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
) -> Result:
    """Research a question and return its report with sources and findings."""
    graph = build_deep_research_graph(settings=settings, machine=machine)
    given = request_from(graph.settings, question)
    if budget is not None:
        given = given.model_copy(update={"budget": budget})
    on_question = None if on_clarify_question is None else _plain_question(on_clarify_question)
    return await _run(graph, given, on_event=on_event, on_question=on_question)


def research_sync(
    question: str,
    *,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    budget: Budget | None = None,
    on_event: OnEvent | None = None,
) -> Result:
    """Do what `research` does, for code without an event loop."""
    return asyncio.run(research(question, settings=settings, machine=machine, budget=budget, on_event=on_event))


def code_version() -> str:
    """Return the version that journal rows carry."""
    return version("deep-research")


def request_from(settings: Settings, question: str) -> ResearchRequest:
    """Return the request that settings and a question make."""
    return ResearchRequest(
        question=usable_question(question),
        docs="" if settings.docs is None else str(settings.docs),
        language=settings.language,
        length=settings.length,
        offline=settings.offline,
        clarify=settings.clarify,
        depth=settings.depth(),
        budget=settings.budget(),
        search=settings.search_config(),
    )


async def _run(
    graph: DeepResearchGraph, request: ResearchRequest, *, on_event: OnEvent | None, on_question: OnQuestion | None
) -> Result:
    processor = graph.processor()
    try:
        row = await processor.process(request, on_event=on_event, on_question=on_question)
        if row.status == "waiting":
            raise answer_needed(row)
        return await processor.result(row)
    finally:
        await processor.parts.close()


def _plain_question(ask: OnClarifyQuestion) -> OnQuestion:
    async def on_question(pending: JsonObject) -> Json:
        return await ask(str(pending.get("question", "")))

    return on_question
