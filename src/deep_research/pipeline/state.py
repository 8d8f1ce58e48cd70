"""The state of a run: frozen values, ids, counters and short text; documents, evidence and drafts lie in the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, StrictStr

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.scope import Scope
from deep_research.reasoning.values import Assessment, Brief, Entries, Exchange, Plan, SectionPlan, Strings
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Language
from deep_research.storage.store.port import RunRow
from deep_research.value import Value

# Why nothing more is searched for: enough is known, the queries are spent, the rounds are, the last round brought
# nothing new, other focuses are wanted, or a reader said that it is enough.
Stop = Literal["", "sufficient", "budget", "iterations", "exhausted", "refocused", "enough"]
# Under which a value lies in the store.
ContentId = StrictStr


def merge_unique(known: Sequence[str], new: Sequence[str]) -> Strings:
    """Add what is new, in order."""
    return tuple(dict.fromkeys([*known, *new]))


# Branches write to fields with such a function at once.
Unique = Annotated[Strings, merge_unique]


class TaskRecord(Value):
    """What a round learns of a search task: its query and hits, or the documents that it read and their evidence."""

    scope: str
    evidence: Strings = ()
    after: Strings
    query: str = ""
    hits: ContentId = ""
    documents: Strings = ()


Record = TypeVar("Record", bound=TaskRecord | Gap)


def merge_by_scope(known: Sequence[Record], new: Sequence[Record]) -> tuple[Record, ...]:
    """Keep the newest record of each scope, sorted by scope, whatever arrived first."""
    merged = {_natural(record): record for record in [*known, *new]}
    return tuple(merged[key] for key in sorted(merged))


def _natural(record: TaskRecord | Gap) -> tuple[tuple[int, int | str], ...]:
    lost = (record.kind, record.subject) if isinstance(record, Gap) else ("", "")
    parts = "/".join((record.scope, *lost)).split("/")
    return tuple((0, int(part)) if part.isascii() and part.isdigit() else (1, part) for part in parts)


class SectionState(Value):
    """The sections in research; `round` is the last one begun, and `grants` are the queries each round may still use.

    `number` is that of the first section among those of all plans that were followed. `entries` are what is looked for,
    `pool` the pages that could be read, and `batches` those that the round reads, each with how many of it are wanted.
    In round 0 of a follow-up the documents of the run before it are asked. `stop` says why nothing more is searched
    for. `map_followed` changes of the map by readers are in the entries; with `is_ended`, one of them ends the search.
    An override may return more than there is a place for.
    """

    model_config = ConfigDict(extra="ignore")

    brief: Brief = Brief(question="", original="", language="en")
    plan: Plan = Plan(research_title="", sections=())
    number: int = 1
    # What was searched for before the plan was made, and the hits.
    scouted: dict[str, ContentId] = Field(default_factory=dict)
    # What is known of the run that this one follows.
    earlier: ContentId = ""
    # Of the changes of the focus and of the map while the run works, the last that is followed.
    focus_followed: int = 0
    map_followed: int = 0
    is_ended: bool = False
    round: int = 0
    iteration_count: int = 0
    grants: tuple[int, ...] = ()
    queries: tuple[SearchQuery, ...] = ()
    asked: Strings = ()
    entries: Entries = ()
    pool: ContentId = ""
    batches: tuple[tuple[ContentId, int], ...] = ()
    picked: Strings = ()
    tasks: Annotated[tuple[TaskRecord, ...], merge_by_scope] = ()
    gathered_info: Unique = ()
    visited_sources: Unique = ()
    gaps: Annotated[tuple[Gap, ...], merge_by_scope] = ()
    evidence: Strings = ()
    fresh: int = 1
    synthesis: ContentId = ""
    is_sufficient: bool = False
    is_all_read: bool = False
    stop: Stop = ""
    open_questions: Strings = ()
    after: Strings = ()

    @property
    def section(self) -> SectionPlan:
        """Return what stands for all; they take turns: the first round has no room for every query of each."""
        asked = ([one.replace(section=each.title) for one in each.search_queries] for each in self.plan.sections)
        queries = tuple(query for turn in zip_longest(*asked) for query in turn if query)
        return SectionPlan(title=self.plan.research_title, description=self.brief.question, search_queries=queries)

    @property
    def outline(self) -> Strings:
        """Return the titles of the sections."""
        return self.plan.titles

    @property
    def scope(self) -> Scope:
        """Return the place of the research in the run."""
        return Scope.of("section", self.number)

    @property
    def grant(self) -> int:
        """Return how many queries the next round may use."""
        return next(iter(self.grants), 0)

    @property
    def read(self) -> list[str]:
        """Return the documents that were read, in the order of the tasks that read them."""
        return list(dict.fromkeys(id_ for task in self.tasks for id_ in task.documents))

    def newly_found(self, entries: Entries) -> int:
        """Return how many entries are found that were not before."""
        known = {entry.name for entry in self.entries if entry.status == "found"}
        return sum(entry.status == "found" and entry.name not in known for entry in entries)

    @property
    def tasks_of_round(self) -> list[TaskRecord]:
        """Return what the tasks of the last round begun came to."""
        return [task for task in self.tasks if Scope(task.scope).section_and_round == (self.number, self.round)]


class TaskState(SectionState):
    """One task of one round: a query, or hits of which so many are `wanted`; `documents` are those that were read."""

    task: int = 0
    query: SearchQuery = SearchQuery(query="")
    hits: ContentId = ""
    wanted: int = 0
    documents: Strings = ()


class PageState(TaskState):
    """One page of a task."""

    hit: Hit
    document: str = ""


class DeepResearchState(SectionState):
    """A run's state; `gathered_info` holds evidence ids, `final_report` a content id."""

    original_query: str = ""
    clarified_query: str = ""
    is_clarified: bool = False
    pending_question: str = ""
    sections: tuple[SectionPlan, ...] = ()
    max_iterations: int = 0
    current_queries: Strings = ()
    final_report: ContentId = ""

    language: Language = "en"
    intake_round: int = 0
    assessment: Assessment = Assessment(next_action="START_RESEARCH", confidence=0.0)
    exchanges: tuple[Exchange, ...] = ()
    # What the user gave while the run waited, instead of the focuses asked for first.
    focus: Strings = ()
    # Of the changes of the focus while the run works, the last that is wanted, and how many queries earlier plans used.
    focus_wanted: int = 0
    queries_used: int = 0
    # How many answers to plans were used, and whether the last one corrected the question.
    confirmations: int = 0
    is_corrected: bool = False
    known_terms: Strings = ()
    unknown_terms: Strings = ()
    copies: dict[str, str] = Field(default_factory=dict)
    analysis: ContentId = ""
    figures: tuple[ContentId, ...] = ()
    # Charts are drawn while the report is written.
    after_chart: Strings = ()
    draft: ContentId = ""
    # How long the report is to be.
    words: int = 0
    checked: ContentId = ""
    is_verified: bool = False


# What a node returns: a part of its state. LangGraph takes a plain dict.
Update = dict[str, Any]


class Stage(StrEnum):
    """One step of the pipeline."""

    INTAKE = "intake"
    PLAN = "plan"
    HARVEST = "harvest"
    FETCH = "fetch"
    EXTRACT = "extract"
    COMPRESS = "compress"
    REFLECT = "reflect"
    ANALYZE = "analyze"
    CHART = "chart"
    DRAFT = "draft"
    VERIFY = "verify"
    WRITE = "write"
    AUDIT = "audit"
    CACHE = "cache"


@dataclass(frozen=True)
class RunState:
    """What an override of a stage receives: the run, the stage, its place, its input, and what it may touch."""

    run: RunRow
    stage: Stage
    scope: str
    input: Any
    context: StageContext
