"""The way in from Python: `research`, and the two functions that graph users know."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, ParamSpec, cast
from urllib.parse import urlsplit

from deep_research.errors import UsageError
from deep_research.events import OnEvent, OnLive
from deep_research.llm.registry import model_named
from deep_research.pipeline.control import answer_needed, question_lines, words_of
from deep_research.pipeline.control import answer_run as put_answer
from deep_research.pipeline.folder import with_files
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.replay import Difference, copy_run, differences, require_done
from deep_research.pipeline.result import Result, edition_of
from deep_research.pipeline.runtime import DeepResearchProcessor, OnQuestion
from deep_research.pipeline.watching import Observer
from deep_research.reasoning.rules.question.clarifier import usable_question
from deep_research.reasoning.rules.question.intake_rules import load_rules
from deep_research.reasoning.values import Plan
from deep_research.report.sources.dating import period_named
from deep_research.request import (
    ClarifyMode,
    Depth,
    DepthName,
    EarlierRun,
    Language,
    ReportLength,
    ResearchRequest,
    SearchKind,
)
from deep_research.settings import Settings, load_settings
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import Words
from deep_research.value import Json, JsonObject
from deep_research.wiring import adapters_for
from deep_research.wiring.models import chosen_models, window_of
from deep_research.wiring.search import NO_ENGINES, chosen_engines, known_engines
from deep_research.wiring.stores import opened_store, read_run

# Gets the question with its options, numbered, and returns one's number or an answer in words.
OnClarifyQuestion = Callable[[str], Awaitable[str | int]]
P = ParamSpec("P")
# Keywords of `research` that the command line does not have.
_NO_OPTIONS = ("question", "settings", "machine", "on_event", "on_live", "on_clarify_question")
# Options that say what is asked; the others are settings.
_OF_REQUEST = ("context", "follow", "add", "assume", "confirm_plan", "focus", "since", "until", "site")


@dataclass(frozen=True)
class DeepResearchGraph:
    """Everything a run needs but its question: settings and the machine whose stages it will go through."""

    settings: Settings
    machine: StateMachine

    def processor(self) -> DeepResearchProcessor:
        """Return the facade that runs questions."""
        return processor_from(self.settings, machine=self.machine)

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
    options = {
        "provider": model_provider,
        "thinking_model": model_name,
        "max_iterations": max_iterations,
        "docs": docs,
        "strategy": strategy,
        "depth": depth,
    }
    flags = _set_options(options)
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
    request = await asyncio.to_thread(request_from, graph.settings, query)
    if max_iterations is not None:
        depth = Depth.from_json({**(request.depth or Depth()).to_json(), "max_iterations": max_iterations})
        request = request.replace(depth=depth)
    return (await _finished(graph.processor(), request, on_event, None, on_clarify_question)).final_report


async def research(
    question: str,
    *,
    docs: str | Path | None = None,
    language: Language | None = None,
    length: ReportLength | None = None,
    enable_citation_image: bool | None = None,
    enable_references: bool | None = None,
    enable_file_format_resource: bool | None = None,
    focus: Sequence[str] = (),
    since: date | str | None = None,
    until: date | str | None = None,
    context: str = "",
    follow: str | None = None,
    add: bool = False,
    clarify: ClarifyMode | None = None,
    assume: bool = False,
    confirm_plan: bool = False,
    depth: DepthName | None = None,
    max_iterations: int | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    budget_seconds: float | None = None,
    budget_queries: int | None = None,
    budget_pages: int | None = None,
    provider: str | None = None,
    model: str | None = None,
    task_model: str | None = None,
    strategy: SearchKind | None = None,
    site: Sequence[str] = (),
    no_cache: bool = False,
    offline: bool = False,
    wiring: str | None = None,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    on_event: OnEvent | None = None,
    on_live: OnLive | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
) -> Result:
    """Research a question and return its report with sources and findings.

    Up to `wiring` the keywords are the options of the command line; what is not given comes from `settings`, else from
    the environment and `config.toml`. `machine` replaces stages. Without `on_clarify_question` nobody can be asked: a
    question too vague to research raises `AnswerNeeded`, and `answer_run` goes on. `follow` is the id of a run that is
    done: its sources are asked first and keep their numbers, and with `add` its report gets a new section.
    """
    options = {name: value for name, value in locals().items() if name not in _NO_OPTIONS}
    flags, fields = split_options(options)
    chosen = load_settings(**flags) if settings is None else settings.with_changes(**flags)
    if follow:
        chosen = settings_to_follow((await read_run(follow, settings=chosen)).request, chosen, flags)
    request = (await asyncio.to_thread(request_from, chosen, question)).replace(**fields)
    processor = processor_from(chosen, machine=machine)
    return await _finished(processor, request, on_event, on_live, on_clarify_question)


def _without_loop(work: Callable[P, Coroutine[None, None, Result]]) -> Callable[P, Result]:
    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> Result:
        return asyncio.run(work(*args, **kwargs))

    return run


# The same for code without an event loop.
research_sync = _without_loop(research)


async def resume_run(
    run: str,
    *,
    retry: bool = False,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    on_event: OnEvent | None = None,
    on_live: OnLive | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
) -> Result:
    """Go on with a run from where it stood, with the parts it began with, and return its report.

    `retry` does its failed steps again, past the cache; what succeeded is kept.
    """
    row = await read_run(run, settings=settings)
    own = settings_of(row.request, settings or load_settings())
    processor = processor_from(own.with_changes(cache=False) if retry else own, row.wiring, machine=machine)
    return await _finished(processor, row, on_event, on_live, on_clarify_question, retry=retry)


async def answer_run(
    run: str,
    answer: str | int,
    *,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    on_event: OnEvent | None = None,
    on_live: OnLive | None = None,
    on_clarify_question: OnClarifyQuestion | None = None,
) -> Result:
    """Answer what a run waits for, in words or by the number of an option, go on with it and return its report."""
    row = await read_run(run, settings=settings)
    async with opened_store(settings) as (store, _):
        await put_answer(store, row, str(answer))
    return await resume_run(
        row.id,
        settings=settings,
        machine=machine,
        on_event=on_event,
        on_live=on_live,
        on_clarify_question=on_clarify_question,
    )


async def update_run(
    run: str,
    *,
    settings: Settings | None = None,
    machine: StateMachine | None = None,
    on_event: OnEvent | None = None,
    on_live: OnLive | None = None,
) -> Result:
    """Research a finished run's question again, past the cache, by its own plan; the earlier run stays as it is.

    The folder of the new run holds `changes.json` and `changes.md`: what still holds, has changed, is gone, or is new.
    """
    settings = settings or load_settings()
    row, request = await update_request(run, settings)
    processor = processor_from(settings_of(request, settings), row.wiring, machine=machine)
    return await _finished(processor, request, on_event, on_live, None)


async def update_request(run: str, settings: Settings) -> tuple[RunRow, ResearchRequest]:
    """Return a run that is done, and the request of one that brings it up to date."""
    async with opened_store(settings) as (store, _):
        row = await store.get_run(run)
        edition = await edition_of(row, store)
    result = row.result or {}
    if "plan" not in result:
        raise UsageError(f"Run {row.id} was made by an earlier version, which did not keep its plan: ask again.")
    plan = Plan.from_json(result["plan"])
    cited = {source.address: source.title for source in edition.citations.used}
    earlier = EarlierRun(
        run=row.id,
        brief=cast("dict[str, Any]", result["brief"]),
        plan=plan.to_json(),
        sources={plan.research_title: cited},
    )
    request = row.request
    changes = {
        "update": earlier,
        "interactive": False,
        "confirm_plan": False,
        "search": request.search.replace(cache=False),
    }
    return row, request.replace(**changes)


class Replay(NamedTuple):
    """What a replay came to: which files were compared, where they differ, and which version made the run."""

    row: RunRow
    files: list[str]
    differences: list[Difference]


async def replay_run(
    run: str, *, folder: Path | None = None, settings: Settings | None = None, machine: StateMachine | None = None
) -> Replay:
    """Run again from the journal, without any outside call, and compare; `folder` keeps the files that come out.

    The settings must be those of the run, but for keys and the folder of documents; the run itself is left alone.
    """
    settings = settings or load_settings()
    with TemporaryDirectory(prefix="deep-research-replay-") as scratch:
        home = Path(scratch)
        # The copy is a file of its own, also where the run lies in a database.
        changes: dict[str, object] = {"home": home, "logs": home / "logs", "database_url": None, "blobs": ""}
        async with opened_store(settings) as (store, _), opened_store(settings.with_changes(**changes)) as (to, _):
            row = await store.get_run(run)
            require_done(row)
            row = await with_files(row, store, settings.logs)
            begun = await copy_run(row, store, to, logs=home / "logs")
        documents = home / "documents"
        documents.mkdir()
        own = settings_of(row.request, settings.with_changes(**_unset_keys(row.request, settings)))
        own = own.with_changes(**changes, **({"docs": documents, "also_docs": None} if row.request.docs else {}))
        processor = processor_from(own, row.wiring, machine=machine, is_replay=True)
        try:
            await processor.resume(begun.id)
        finally:
            await processor.adapters.close()
        if folder is not None:
            shutil.copytree(begun.folder, folder, dirs_exist_ok=True)
        return Replay(row, *differences(Path(row.folder), Path(begun.folder)))


def _unset_keys(request: ResearchRequest, settings: Settings) -> dict[str, str]:
    """Return something for each key and address that a run's models and sources want and nobody set: none is used."""
    providers = [model_named(name).provider for name in request.models]
    specs = [spec for name, spec in known_engines(settings).items() if name in request.search.engines]
    keys = [*(f"{provider.setting}_api_key" for provider in providers), *(spec.key_setting for spec in specs)]
    addresses = [*(f"{provider.setting}_address" for provider in providers), *(spec.address_setting for spec in specs)]
    unused = dict.fromkeys(keys, "unused") | dict.fromkeys(addresses, "http://localhost")
    return {
        name: value for name, value in unused.items() if name in Settings.model_fields and not getattr(settings, name)
    }


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a question as settings, None left out, and as fields of its request."""
    flags = {name: value for name, value in options.items() if name not in _OF_REQUEST}
    flags |= {"cache": False if options["no_cache"] else None, "offline": options["offline"] or None}
    flags["thinking_model"] = flags.pop("model")
    del flags["no_cache"]
    fields = {name: options[name] for name in _OF_REQUEST if name != "site"}
    fields |= {name: options[name] or "" for name in ("context", "follow")} | {"focus": tuple(options["focus"] or ())}
    fields |= {"since": _bound("since", options, last=False), "until": _bound("until", options, last=True)}
    return _set_options(flags), fields | {"sites": hosts_of(options["site"] or ())}


def _set_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _bound(name: str, options: Mapping[str, Any], *, last: bool) -> date | None:
    """Return the day with which a period begins or ends; a month or a year is one too."""
    option: date | str | None = options[name]
    if not isinstance(option, str):
        return option
    try:
        return period_named(option)[last]
    except ValueError:
        raise UsageError(f"{option!r} is no date for {name}: write 2025, 2025-01 or 2025-01-31.") from None


def hosts_of(sites: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts of sites, which people paste as addresses."""
    return tuple(urlsplit(site if "//" in site else f"//{site}").hostname or site for site in map(str.strip, sites))


def code_version() -> str:
    """Return the version that journal rows carry."""
    return version("deep-research")


def settings_of(request: ResearchRequest, settings: Settings) -> Settings:
    """Return the settings with which a run goes on: its own documents, models and sources, else as it is set now."""
    thinking, task, *others = request.models or (None, None)
    own: dict[str, object] = {
        "docs": request.docs or None,
        "also_docs": request.also_docs or None,
        "offline": request.offline,
        "strategy": request.search.strategy,
        "engines": request.search.engines or NO_ENGINES,
        "cache": request.search.cache and settings.cache,
        "provider": "auto" if request.models else "none",
        "thinking_model": thinking,
        "task_model": task,
        "fallback_models": tuple(others),
        "model_window": settings.model_window or request.model_window or None,
    }
    return settings.with_changes(**own)


def settings_to_follow(request: ResearchRequest, settings: Settings, flags: Mapping[str, Any]) -> Settings:
    """Return the settings of a follow-up: it searches where the run before it did, unless its user says otherwise."""
    own: dict[str, object] = {"strategy": request.search.strategy, "offline": request.offline}
    if "docs" not in flags:
        own |= {"docs": request.docs or None, "also_docs": request.also_docs or None}
    return settings.with_changes(**_set_options({name: value for name, value in own.items() if name not in flags}))


def request_from(settings: Settings, question: str) -> ResearchRequest:
    """Return the request that settings and a question make."""
    models = chosen_models(settings)
    return ResearchRequest(
        question=usable_question(question),
        docs=str(settings.docs or ""),
        also_docs=str(settings.also_docs or ""),
        language=settings.language,
        length=settings.length,
        enable_citation_image=settings.enable_citation_image,
        enable_references=settings.enable_references,
        enable_file_format_resource=settings.enable_file_format_resource,
        offline=settings.offline,
        models=models,
        model_window=settings.model_window or window_of(models, settings) or 0,
        rules=load_rules(settings.clarify_rules),
        clarify=settings.clarify,
        depth=settings.research_depth(),
        budget=settings.budget(),
        search=settings.search_config().replace(engines=chosen_engines(settings)),
    )


def processor_from(
    settings: Settings,
    wiring: str | None = None,
    *,
    machine: StateMachine | None = None,
    is_replay: bool = False,
    observers: Sequence[Observer] = (),
) -> DeepResearchProcessor:
    """Return what runs questions, with the parts that `wiring` builds; there must be something to search."""
    wiring = wiring or settings.wiring
    adapters = adapters_for(settings, wiring)
    adapters = replace(adapters, is_replay=is_replay, observers=(*adapters.observers, *observers))
    if not adapters.engines:
        raise UsageError().with_message("fault.nothing_to_search")
    return DeepResearchProcessor(adapters, machine=machine, wiring=wiring, code_version=code_version())


async def _finished(
    processor: DeepResearchProcessor,
    asked: ResearchRequest | RunRow,
    on_event: OnEvent | None,
    on_live: OnLive | None,
    on_clarify_question: OnClarifyQuestion | None,
    *,
    retry: bool = False,
) -> Result:
    try:
        row = asked if isinstance(asked, RunRow) else await processor.create(asked)
        on_question = _plain_question(on_clarify_question, words_of(row))
        row = await processor.resume(row.id, on_event=on_event, on_live=on_live, on_question=on_question, retry=retry)
        if row.status == "waiting":
            raise answer_needed(row, row.pending or {})
        return await processor.result(row)
    finally:
        await processor.adapters.close()


def _plain_question(ask: OnClarifyQuestion | None, words: Words) -> OnQuestion | None:
    if ask is None:
        return None

    async def on_question(pending: JsonObject) -> Json:
        return str(await ask("\n".join(question_lines(pending, words))))

    return on_question
