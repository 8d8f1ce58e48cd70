"""The way in from Python: `research`, and the two functions that graph users know."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from deep_research.events import OnEvent, OnLive
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor, OnQuestion, Result, answer_needed
from deep_research.reasoning.rules.question.clarifier import usable_question
from deep_research.reasoning.rules.question.intake_rules import load_rules
from deep_research.request import Budget, Depth, DepthName, ResearchRequest, SearchKind
from deep_research.settings import Settings, load_settings
from deep_research.value import Json, JsonObject
from deep_research.wiring import adapters_for
from deep_research.wiring.models import chosen_models
from deep_research.wiring.search import NO_ENGINES, chosen_engines

OnClarifyQuestion = Callable[[str], Awaitable[str]]


@dataclass(frozen=True)
class DeepResearchGraph:
    """Everything a run needs but its question: settings and the machine whose stages it will go through."""

    settings: Settings
    machine: StateMachine

    def processor(self) -> DeepResearchProcessor:
        """Return the facade that runs questions."""
        adapters = adapters_for(self.settings)
        wiring = self.settings.wiring
        return DeepResearchProcessor(adapters, machine=self.machine, wiring=wiring, code_version=code_version())

    def draw_mermaid(self) -> str:
        """Return a picture of the graph as Mermaid text."""
        from deep_research.pipeline.graph import build_graph

        return build_graph(self.machine).get_graph(xray=True).draw_mermaid()


def build_deep_research_graph(
    *,
    model_provider: str | None = None,
    model_name: str | None = None,
    max_iterations: int | None = None,
    docs: str | Path | None = None,
    strategy: SearchKind | None = None,
    depth: DepthName | None = None,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
) -> DeepResearchGraph:
    """Return what `run_deep_research` needs; what is not given comes from the settings, these from the environment."""
    given = {
        "provider": model_provider,
        "thinking_model": model_name,
        "max_iterations": max_iterations,
        "docs": docs,
        "strategy": strategy,
        "depth": depth,
    }
    flags = {name: value for name, value in given.items() if value is not None}
    chosen = load_settings(**flags) if settings is None else settings.with_changes(**flags)
    return DeepResearchGraph(settings=chosen, machine=machine or StateMachine())


async def run_deep_research(
    query: str,
    graph: DeepResearchGraph,
    max_iterations: int | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
    on_event: OnEvent | None = None,
) -> str:
    """Research a question and return the text of its report."""
    given = request_from(graph.settings, query)
    if max_iterations is not None:
        depth = Depth.from_json({**given.depth.to_json(), "max_iterations": max_iterations})
        given = given.model_copy(update={"depth": depth})
    return (await _run(graph, given, on_event, None, on_clarify_question)).final_report


async def research(
    question: str,
    *,
    docs: str | Path | None = None,
    strategy: SearchKind | None = None,
    depth: DepthName | None = None,
    model: str | None = None,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    budget: Budget | None = None,
    on_event: OnEvent | None = None,
    on_live: OnLive | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
) -> Result:
    """Research a question and return its report with sources and findings.

    `docs` is a folder of documents, `strategy` the kind of source (`local` for `docs` alone, `academic`, …), `depth`
    how far to go (`quick`, `standard`, `deep`), `model` a name such as `openai:gpt-5` or `none`. Without
    `on_clarify_question` nobody can be asked: a question too vague to research raises `AnswerNeeded`.
    """
    graph = build_deep_research_graph(
        model_provider=model, docs=docs, strategy=strategy, depth=depth, settings=settings, machine=machine
    )
    given = request_from(graph.settings, question)
    if budget is not None:
        given = given.model_copy(update={"budget": budget})
    return await _run(graph, given, on_event, on_live, on_clarify_question)


def research_sync(
    question: str,
    *,
    docs: str | Path | None = None,
    strategy: SearchKind | None = None,
    depth: DepthName | None = None,
    model: str | None = None,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    budget: Budget | None = None,
    on_event: OnEvent | None = None,
) -> Result:
    """Do what `research` does, for code without an event loop."""
    return asyncio.run(
        research(
            question,
            docs=docs,
            strategy=strategy,
            depth=depth,
            model=model,
            settings=settings,
            machine=machine,
            budget=budget,
            on_event=on_event,
        )
    )


def code_version() -> str:
    """Return the version that journal rows carry."""
    return version("deep-research")


def settings_of(request: ResearchRequest, settings: Settings) -> Settings:
    """Return the settings with which a run goes on: its own documents, models and sources, else as it is set now."""
    thinking, task, *others = request.models or (None, None)
    own: dict[str, object] = {
        "docs": request.docs or None,
        "offline": request.offline,
        "strategy": request.search.strategy,
        "engines": request.search.engines or NO_ENGINES,
        "cache": request.search.cache and settings.cache,
        "provider": "auto" if request.models else "none",
        "thinking_model": thinking,
        "task_model": task,
        "fallback_models": tuple(others),
    }
    return settings.with_changes(**own)


def request_from(settings: Settings, question: str) -> ResearchRequest:
    """Return the request that settings and a question make."""
    return ResearchRequest(
        question=usable_question(question),
        docs="" if settings.docs is None else str(settings.docs),
        language=settings.language,
        length=settings.length,
        offline=settings.offline,
        models=chosen_models(settings),
        rules=load_rules(settings.clarify_rules),
        clarify=settings.clarify,
        depth=settings.research_depth(),
        budget=settings.budget(),
        search=settings.search_config().model_copy(update={"engines": chosen_engines(settings)}),
    )


async def _run(
    graph: DeepResearchGraph,
    request: ResearchRequest,
    on_event: OnEvent | None,
    on_live: OnLive | None,
    on_clarify_question: OnClarifyQuestion | None,
) -> Result:
    processor = graph.processor()
    try:
        on_question = _plain_question(on_clarify_question)
        row = await processor.process(request, on_event=on_event, on_live=on_live, on_question=on_question)
        if row.status == "waiting":
            raise answer_needed(row)
        return await processor.result(row)
    finally:
        await processor.adapters.close()


def _plain_question(ask: OnClarifyQuestion | None) -> OnQuestion | None:
    if ask is None:
        return None

    async def on_question(pending: JsonObject) -> Json:
        return await ask(str(pending.get("question", "")))

    return on_question
