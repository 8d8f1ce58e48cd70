"""The tools: what each takes, does and answers with; its docstring is what the model that calls it is told."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from deep_research.errors import NotFound, UsageError
from deep_research.events import ENDED, RunEvent
from deep_research.pipeline.control import is_answered, options_of, question_lines, words_of
from deep_research.request import Budget, DepthName, Language, ReportLength, SearchKind
from deep_research.server.mcp.library import FetchedItem, Library, SearchResults
from deep_research.service.accounts.identity import Identity
from deep_research.service.public_text import public_message
from deep_research.service.report_text import Links, ReportText, report_text
from deep_research.service.runs.new_run import Context, Id, NewRun, Question
from deep_research.service.runs.progress_lines import ProgressLines
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow

# Many clients give a call a minute.
WAIT_S = 45
_MAX_WAIT_S = 600


class Arguments(BaseModel):
    """What a tool takes; anything else is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


WaitSeconds = Field(
    default=WAIT_S,
    ge=0,
    le=_MAX_WAIT_S,
    description="How long to wait for the end before answering with where the research stands.",
)
RunName = Field(min_length=4, max_length=64, description="Id of the run, as research returned it.")


class ResearchArguments(Arguments):
    """What is to be researched."""

    question: Question
    """The question in one or more whole sentences."""
    context: Context = ""
    """What was said before, if the question points at it ('it', 'that plant')."""
    depth: DepthName | None = None
    """quick (some minutes), standard, or deep; by default as the question needs."""
    language: Language | None = None
    """Language of the report; by default the question's."""
    length: ReportLength | None = None
    """How much the report tells."""
    strategy: SearchKind | None = None
    """Kind of source to look for; local searches the user's documents alone."""
    focus: list[str] = Field(default=[], max_length=5)
    """Sides of the question that matter most."""
    sites: list[str] = Field(default=[], max_length=20)
    """Of the web, search only these hosts."""
    since: date | None = None
    """Leave out sources known to be older (YYYY-MM-DD)."""
    until: date | None = None
    """Leave out sources known to be newer (YYYY-MM-DD)."""
    documents: Id | None = None
    """Id of a collection of documents."""
    assume: bool = False
    """Never ask back: start on assumptions, which the report states. Use it if no user is there."""
    follow_up_of: Id | None = None
    """Id of a finished run that this question is about; its sources are reused."""
    budget_usd: float | None = Field(default=None, ge=0)
    """Most money to spend on models, in US dollars."""
    wait_seconds: int = WaitSeconds


class StatusArguments(Arguments):
    """Which run is asked about."""

    run: str = RunName
    wait_seconds: int = WaitSeconds


class AnswerArguments(Arguments):
    """An answer to what a run asks."""

    run: str = RunName
    answer: Question
    """The number of an option, or an answer in words."""
    wait_seconds: int = WaitSeconds


class CancelArguments(Arguments):
    """Which run is to stop."""

    run: str = RunName


class ReportArguments(Arguments):
    """Which report, or which part of it."""

    run: str = RunName
    section: str = Field(default="", max_length=500)
    """Title of one section; by default the whole report."""
    format: Literal["markdown", "json"] = "markdown"
    """markdown for reading; json gives sections with their citations apart."""


class SearchArguments(Arguments):
    """What is looked for."""

    query: str = Field(min_length=1, max_length=1_000)
    """A few words to look for."""


class FetchArguments(Arguments):
    """What is read."""

    id: str = Field(min_length=1, max_length=2_000)
    """An id from the results of search."""


class ResearchState(BaseModel):
    """Where a run stands: `question` and `options` while it waits for an answer, `report` once it is done."""

    run: str
    status: str
    title: str = ""
    question: str = ""
    options: list[str] = []
    report: str = ""
    is_verified: bool | None = None
    error: str = ""
    next: str = ""


class CitedSource(BaseModel):
    """A numbered source of a report; `id` is what fetch takes for its text."""

    number: int
    title: str
    url: str
    id: str


class Section(BaseModel):
    """A section of a report as Markdown, and the numbers of the sources that it cites."""

    title: str
    text: str
    citations: list[int]


class ReportResult(BaseModel):
    """A report, or one section of it."""

    model_config = ConfigDict(title="Report")

    run: str
    title: str
    is_verified: bool
    url: str
    sections: list[Section]
    sources: list[CitedSource]


_CHAPTER = re.compile(r"^## (.+)$", re.MULTILINE)
Tell = Callable[[str], Awaitable[None]]


class Caller(NamedTuple):
    """Who calls a tool, and how progress is told to them."""

    service: ResearchService
    who: Identity
    links: Links
    tell: Tell


class ToolResult(NamedTuple):
    """What a tool answers: in words, and as data."""

    text: str
    data: BaseModel


class ToolSpec(NamedTuple):
    """A tool as it is listed and called; `is_read_only` says that calling it changes nothing."""

    title: str
    description: str
    arguments: type[Arguments]
    output: type[BaseModel]
    call: Callable[[Any, Caller], Awaitable[ToolResult]]
    is_read_only: bool


# Every tool by its name, in the order in which they are listed.
TOOLS: dict[str, ToolSpec] = {}
Tool = TypeVar("Tool", bound=Callable[[Any, Caller], Awaitable[ToolResult]])


def _tool(title: str, output: type[BaseModel], *, is_read_only: bool = False) -> Callable[[Tool], Tool]:
    """Offer a function as a tool of its name; its docstring is what the model that calls it is told."""

    def offer(call: Tool) -> Tool:
        description = " ".join(str(call.__doc__).split())
        arguments = call.__annotations__["arguments"]
        TOOLS[call.__name__] = ToolSpec(title, description, arguments, output, call, is_read_only)
        return call

    return offer


@_tool("Research a question", ResearchState)
async def research(arguments: ResearchArguments, caller: Caller) -> ToolResult:
    """Research a question thoroughly and return a report with checked citations. Use it for questions
    that need several sources, comparison or up-to-date facts; not for what you know or for small
    talk. Waits up to wait_seconds and tells progress meanwhile. Returns the report; or a question to
    the user (pass the answer on with answer); or, if it takes longer, the run's id for
    research_status. The research goes on if you stop waiting.
    """
    new = NewRun(
        **arguments.model_dump(exclude={"follow_up_of", "budget_usd", "wait_seconds"}),
        follow=arguments.follow_up_of,
        budget=Budget(usd=arguments.budget_usd),
    )
    row = await caller.service.create(new, caller.who)
    return await _state_after(row, arguments.wait_seconds, caller)


@_tool("Where a research stands", ResearchState, is_read_only=True)
async def research_status(arguments: StatusArguments, caller: Caller) -> ToolResult:
    """Wait for a research that was started earlier and return its report, its question to the user, or
    that it is still under way. Call it again as long as it is.
    """
    row = await caller.service.get(arguments.run, caller.who)
    return await _state_after(row, arguments.wait_seconds, caller)


@_tool("Answer a question of a research", ResearchState)
async def answer(arguments: AnswerArguments, caller: Caller) -> ToolResult:
    """Answer what a research asked (its status is 'waiting') and wait for it to go on, like research
    does. The answer is the number of an option or words of the user; 'start now' lets it begin
    without one.
    """
    row = await caller.service.answer(arguments.run, arguments.answer, caller.who)
    return await _state_after(row, arguments.wait_seconds, caller)


@_tool("Read a report", ReportResult, is_read_only=True)
async def report(arguments: ReportArguments, caller: Caller) -> ToolResult:
    """Return the report of a finished research, whole or one section by its title, as Markdown with
    numbered citations or as JSON with sections, citations and sources apart.
    """
    row = await caller.service.get(arguments.run, caller.who)
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report yet; it is {row.status}. Call research_status to wait for it.")
    found = await report_text(caller.service, row, caller.who, caller.links)
    data = _parts(row, found, caller.links)
    if not arguments.section:
        return ToolResult(data.model_dump_json() if arguments.format == "json" else found.text, data)
    section = next(
        (part for part in data.sections if part.title.casefold() == arguments.section.strip().casefold()), None
    )
    if section is None:
        titles = "; ".join(part.title for part in data.sections)
        raise NotFound(f"The report has no section {arguments.section!r}. Its sections: {titles}")
    cited = [source for source in data.sources if source.number in section.citations]
    data = data.model_copy(update={"sections": [section], "sources": cited})
    if arguments.format == "json":
        return ToolResult(data.model_dump_json(), data)
    asides = [source.aside for source in found.sources]
    listed = "\n".join(f"[{each.number}] {each.title}{asides[each.number - 1]} - {each.url}" for each in cited)
    return ToolResult(f"## {section.title}\n\n{section.text}\n\n{listed}".rstrip() + "\n", data)


@_tool("Cancel a research", ResearchState)
async def cancel(arguments: CancelArguments, caller: Caller) -> ToolResult:
    """Stop a research that is under way or waits for an answer. What it has found so far is kept."""
    row = await caller.service.cancel(arguments.run, caller.who)
    if row.status in ENDED and row.status != "cancelled":
        raise UsageError(f"Run {row.id} is {row.status}; there is nothing to cancel.")
    return ToolResult(f"Run {row.id} is cancelled.", ResearchState(run=row.id, status="cancelled"))


@_tool("Search reports, sources and documents", SearchResults, is_read_only=True)
async def search(arguments: SearchArguments, caller: Caller) -> ToolResult:
    """Find finished reports, sources that were read for them, and the user's own documents by a few
    words that their titles or texts hold. Searches only what is there already and starts no research.
    Returns ids for fetch.
    """
    found = await Library(caller.service, caller.who, caller.links).search(arguments.query)
    return ToolResult(found.model_dump_json(), found)


@_tool("Read a report, source or document", FetchedItem, is_read_only=True)
async def fetch(arguments: FetchArguments, caller: Caller) -> ToolResult:
    """Return the whole text of something that search found, by its id."""
    item = await Library(caller.service, caller.who, caller.links).fetch(arguments.id)
    return ToolResult(item.model_dump_json(), item)


async def _state_after(row: RunRow, seconds: float, caller: Caller) -> ToolResult:
    """Wait until a run ends or asks something, at most so long, tell what it does meanwhile, and return its state."""
    lines = ProgressLines(words_of(row), is_verbose=True)
    # What was told to an earlier call is not told again.
    begun = row.created_at if row.status == "created" else datetime.now(UTC)
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(seconds),
            aclosing(caller.service.events(row.id, caller.who, heartbeat_s=WAIT_S)) as events,
        ):
            async for event in events:
                if not isinstance(event, RunEvent):
                    continue
                for line in lines.of(event):
                    if event.at >= begun:
                        await caller.tell(line.text.strip())
                if event.data.get("status") == "waiting" and await _asks(row, caller):
                    break
    return await _state(await caller.service.get(row.id, caller.who), caller)


async def _asks(row: RunRow, caller: Caller) -> bool:
    now = await caller.service.get(row.id, caller.who)
    return now.status == "waiting" and not await is_answered(caller.service.store, now)


async def _state(row: RunRow, caller: Caller) -> ToolResult:
    state = ResearchState(run=row.id, status=row.shown_status, title=row.title)
    if row.status == "done":
        found = await report_text(caller.service, row, caller.who, caller.links)
        state.report, state.is_verified = found.text, found.is_verified
        state.next = f"Ask on with research and follow_up_of={row.id!r}; read a section with report."
        return ToolResult(found.text, state)
    if row.status == "waiting" and row.pending is not None and await _asks(row, caller):
        state.question, state.options = str(row.pending.get("question", "")), options_of(row.pending)
        state.next = f"Ask the user, then call answer with run={row.id!r} and their answer or an option's number."
        asked = "\n".join(question_lines(row.pending, words_of(row)))
        return ToolResult(f"The research needs an answer before it goes on.\n\n{asked}\n\n{state.next}", state)
    if row.status in ("failed", "cancelled"):
        state.error = public_message(row.failure) or f"The run was {row.status}."
        state.next = "Call research again, with another wording if the error names the question."
        return ToolResult(f"Run {row.id} {row.status}: {state.error} {state.next}", state)
    state.next = f"Call research_status with run={row.id!r} to wait for it; it goes on meanwhile."
    return ToolResult(f"The research is under way (run {row.id}). {state.next}", state)


def _parts(row: RunRow, found: ReportText, links: Links) -> ReportResult:
    heads = list(_CHAPTER.finditer(found.text))
    ends = [head.start() for head in heads[1:]] + [len(found.text)]
    sections = [
        Section(
            title=head[1],
            text=found.text[head.end() : end].strip(),
            citations=sorted({each.number for each in found.citations if head.end() <= each.start < end}),
        )
        for head, end in zip(heads, ends, strict=True)
    ]
    sources = [
        CitedSource(
            number=number,
            title=source.title,
            url=links.source(row.id, source),
            id=f"source:{row.id}:{source.document}",
        )
        for number, source in enumerate(found.sources, start=1)
    ]
    return ReportResult(
        run=row.id,
        title=found.title,
        is_verified=found.is_verified,
        url=links.report(row.id),
        sections=sections,
        sources=sources,
    )
