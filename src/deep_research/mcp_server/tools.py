"""The tools: what each takes, what it does, and what it says to the model that calls it."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from deep_research.errors import NotFound, UsageError
from deep_research.events import ENDED, RunEvent
from deep_research.mcp_server.library import Library
from deep_research.pipeline.control import is_answered, options_of, question_lines, words_of
from deep_research.request import Budget, DepthName, Language, ReportLength, SearchKind
from deep_research.service.identity import Identity
from deep_research.service.new_run import MAX_CONTEXT_CHARS, MAX_QUESTION_CHARS, NewRun
from deep_research.service.news import ProgressLines
from deep_research.service.public_text import public_message
from deep_research.service.report_text import Places, ReportText, report_text
from deep_research.service.service import ResearchService
from deep_research.store.port import RunRow

# Many clients give a call a minute.
_WAIT_S = 45
_MAX_WAIT_S = 600
_CHAPTER = re.compile(r"^## (.+)$", re.MULTILINE)
Tell = Callable[[str], Awaitable[None]]


class Caller(NamedTuple):
    """Who calls a tool, and how progress is told to them."""

    service: ResearchService
    who: Identity
    places: Places
    tell: Tell


class Result(NamedTuple):
    """What a tool answers: in words, and as data."""

    text: str
    data: BaseModel


class Arguments(BaseModel):
    """What a tool takes; anything else is refused."""

    model_config = ConfigDict(extra="forbid")


WaitSeconds = Field(
    default=_WAIT_S,
    ge=0,
    le=_MAX_WAIT_S,
    description="How long to wait for the end before answering with where the research stands.",
)
RunName = Field(min_length=4, max_length=64, description="Id of the run, as research returned it.")


class ResearchArguments(Arguments):
    """What is to be researched."""

    question: str = Field(
        min_length=1, max_length=MAX_QUESTION_CHARS, description="The question in one or more whole sentences."
    )
    context: str = Field(
        default="",
        max_length=MAX_CONTEXT_CHARS,
        description="What was said before, if the question points at it ('it', 'that plant').",
    )
    depth: DepthName | None = Field(
        default=None, description="quick (some minutes), standard, or deep; by default as the server is set up."
    )
    language: Language | None = Field(default=None, description="Language of the report; by default the question's.")
    length: ReportLength | None = Field(default=None, description="How much the report tells.")
    strategy: SearchKind | None = Field(
        default=None, description="Kind of source to look for; local searches the user's documents alone."
    )
    focus: list[str] = Field(default=[], max_length=5, description="Sides of the question that matter most.")
    sites: list[str] = Field(default=[], max_length=20, description="Of the web, search only these hosts.")
    since: date | None = Field(default=None, description="Leave out sources known to be older (YYYY-MM-DD).")
    until: date | None = Field(default=None, description="Leave out sources known to be newer (YYYY-MM-DD).")
    documents: str | None = Field(default=None, max_length=64, description="Id of a collection of documents.")
    assume: bool = Field(
        default=False,
        description="Never ask back: start on assumptions, which the report states. Use it if no user is there.",
    )
    follow_up_of: str | None = Field(
        default=None,
        max_length=64,
        description="Id of a finished run that this question is about; its sources are reused.",
    )
    budget_usd: float | None = Field(default=None, ge=0, description="Most money to spend on models, in US dollars.")
    wait_seconds: int = WaitSeconds


class StatusArguments(Arguments):
    """Which run is asked about."""

    run: str = RunName
    wait_seconds: int = WaitSeconds


class AnswerArguments(Arguments):
    """An answer to what a run asks."""

    run: str = RunName
    answer: str = Field(
        min_length=1, max_length=MAX_QUESTION_CHARS, description="The number of an option, or an answer in words."
    )
    wait_seconds: int = WaitSeconds


class CancelArguments(Arguments):
    """Which run is to stop."""

    run: str = RunName


class ReportArguments(Arguments):
    """Which report, or which part of it."""

    run: str = RunName
    section: str = Field(default="", max_length=500, description="Title of one section; by default the whole report.")
    format: Literal["markdown", "json"] = Field(
        default="markdown", description="markdown for reading; json gives sections with their citations apart."
    )


class SearchArguments(Arguments):
    """What is looked for."""

    query: str = Field(min_length=1, max_length=1_000, description="A few words to look for.")


class FetchArguments(Arguments):
    """What is read."""

    id: str = Field(min_length=1, max_length=2_000, description="An id from the results of search.")


class RunState(BaseModel):
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


class Report(BaseModel):
    """A report, or one section of it."""

    run: str
    title: str
    is_verified: bool
    url: str
    sections: list[Section]
    sources: list[CitedSource]


async def research(given: ResearchArguments, caller: Caller) -> Result:
    """Start a run and wait for it."""
    own = ("question", "context", "depth", "language", "length", "strategy", "since", "until", "documents", "assume")
    new = NewRun(
        **{name: getattr(given, name) for name in own},
        focus=tuple(given.focus),
        sites=tuple(given.sites),
        follow=given.follow_up_of,
        budget=Budget(usd=given.budget_usd),
    )
    row = await caller.service.create(new, caller.who)
    return await _state(await _waited(row, given.wait_seconds, caller), caller)


async def research_status(given: StatusArguments, caller: Caller) -> Result:
    """Wait for a run and say where it stands."""
    row = await caller.service.get(given.run, caller.who)
    return await _state(await _waited(row, given.wait_seconds, caller), caller)


async def answer(given: AnswerArguments, caller: Caller) -> Result:
    """Answer what a run asks, and wait for it."""
    row = await caller.service.answer(given.run, given.answer, caller.who)
    return await _state(await _waited(row, given.wait_seconds, caller), caller)


async def cancel(given: CancelArguments, caller: Caller) -> Result:
    """Stop a run."""
    row = await caller.service.cancel(given.run, caller.who)
    if row.status in ENDED and row.status != "cancelled":
        raise UsageError(f"Run {row.id} is {row.status}; there is nothing to cancel.")
    return Result(f"Run {row.id} is cancelled.", RunState(run=row.id, status="cancelled"))


async def report(given: ReportArguments, caller: Caller) -> Result:
    """Return a report or a section of it."""
    row = await caller.service.get(given.run, caller.who)
    if row.result is None:
        raise UsageError(f"Run {row.id} has no report yet; it is {row.status}. Call research_status to wait for it.")
    found = await report_text(caller.service, row, caller.who, caller.places)
    data = _parts(row, found, caller.places)
    if not given.section:
        return Result(data.model_dump_json() if given.format == "json" else found.text, data)
    section = next((part for part in data.sections if part.title.casefold() == given.section.strip().casefold()), None)
    if section is None:
        titles = "; ".join(part.title for part in data.sections)
        raise NotFound(f"The report has no section {given.section!r}. Its sections: {titles}")
    cited = [source for source in data.sources if source.number in section.citations]
    data = data.model_copy(update={"sections": [section], "sources": cited})
    if given.format == "json":
        return Result(data.model_dump_json(), data)
    listed = "\n".join(f"[{source.number}] {source.title} - {source.url}" for source in cited)
    return Result(f"## {section.title}\n\n{section.text}\n\n{listed}".rstrip() + "\n", data)


async def search(given: SearchArguments, caller: Caller) -> Result:
    """Look through reports, sources and documents."""
    found = await Library(caller.service, caller.who, caller.places).search(given.query)
    return Result(found.model_dump_json(), found)


async def fetch(given: FetchArguments, caller: Caller) -> Result:
    """Read something that was found."""
    item = await Library(caller.service, caller.who, caller.places).fetch(given.id)
    return Result(item.model_dump_json(), item)


async def _waited(row: RunRow, seconds: float, caller: Caller) -> RunRow:
    """Wait until a run ends or asks something, at most so long, and tell what it does meanwhile."""
    lines = ProgressLines(words_of(row), is_verbose=True)
    # What was told to an earlier call is not told again.
    begun = row.created_at if row.status == "created" else datetime.now(UTC)
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(seconds),
            aclosing(caller.service.events(row.id, caller.who, beat_s=_WAIT_S)) as events,
        ):
            async for event in events:
                if not isinstance(event, RunEvent):
                    continue
                for line in lines.of(event):
                    if event.at >= begun:
                        await caller.tell(line.text.strip())
                if event.data.get("status") == "waiting" and await _asks(row, caller):
                    break
    return await caller.service.get(row.id, caller.who)


async def _asks(row: RunRow, caller: Caller) -> bool:
    now = await caller.service.get(row.id, caller.who)
    return now.status == "waiting" and not await is_answered(caller.service.store, now)


async def _state(row: RunRow, caller: Caller) -> Result:
    state = RunState(run=row.id, status=row.status, title=row.title)
    if row.status == "done":
        found = await report_text(caller.service, row, caller.who, caller.places)
        state.report, state.is_verified = found.text, found.is_verified
        state.next = f"Ask on with research and follow_up_of={row.id!r}; read a section with report."
        return Result(found.text, state)
    if row.status == "waiting" and row.pending is not None and await _asks(row, caller):
        state.question, state.options = str(row.pending.get("question", "")), options_of(row.pending)
        state.next = f"Ask the user, then call answer with run={row.id!r} and their answer or an option's number."
        asked = "\n".join(question_lines(row.pending, words_of(row)))
        return Result(f"The research needs an answer before it goes on.\n\n{asked}\n\n{state.next}", state)
    if row.status in ("failed", "cancelled"):
        state.error = public_message(row.failure) or f"The run was {row.status}."
        state.next = "Call research again, with another wording if the error names the question."
        return Result(f"Run {row.id} {row.status}: {state.error} {state.next}", state)
    state.next = f"Call research_status with run={row.id!r} to wait for it; it goes on meanwhile."
    return Result(f"The research is under way (run {row.id}). {state.next}", state)


def _parts(row: RunRow, found: ReportText, places: Places) -> Report:
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
            url=places.source(row.id, source),
            id=f"source:{row.id}:{source.document}",
        )
        for number, source in enumerate(found.sources, start=1)
    ]
    return Report(
        run=row.id,
        title=found.title,
        is_verified=found.is_verified,
        url=places.report(row.id),
        sections=sections,
        sources=sources,
    )


@dataclass(frozen=True)
class ToolSpec:
    """A tool as it is listed and called; `is_read_only` says that calling it changes nothing."""

    name: str
    title: str
    description: str
    takes: type[Arguments]
    gives: type[BaseModel]
    work: Callable[[Any, Caller], Awaitable[Result]]
    is_read_only: bool = False
