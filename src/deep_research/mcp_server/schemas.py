"""What the tools take and what they answer with, as clients are told."""

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from deep_research.request import DepthName, Language, ReportLength, SearchKind
from deep_research.service.new_run import MAX_CONTEXT_CHARS, MAX_QUESTION_CHARS

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

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    """The question in one or more whole sentences."""
    context: str = Field(default="", max_length=MAX_CONTEXT_CHARS)
    """What was said before, if the question points at it ('it', 'that plant')."""
    depth: DepthName | None = None
    """quick (some minutes), standard, or deep; by default as the server is set up."""
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
    documents: str | None = Field(default=None, max_length=64)
    """Id of a collection of documents."""
    assume: bool = False
    """Never ask back: start on assumptions, which the report states. Use it if no user is there."""
    follow_up_of: str | None = Field(default=None, max_length=64)
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
    answer: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
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


class Report(BaseModel):
    """A report, or one section of it."""

    run: str
    title: str
    is_verified: bool
    url: str
    sections: list[Section]
    sources: list[CitedSource]
