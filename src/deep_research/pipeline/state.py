"""The state of a run: ids, counters and short text as plain JSON; documents, evidence and drafts lie in the store."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypedDict, cast

from deep_research.pipeline.context import StageContext
from deep_research.store.port import RunRow
from deep_research.value import JsonObject, canonical_json, json_of


def merge_unique(known: list[str], new: list[str]) -> list[str]:
    """Add what is new, in order."""
    return list(dict.fromkeys([*known, *new]))


def merge_by_scope(known: list[JsonObject], new: list[JsonObject]) -> list[JsonObject]:
    """Keep the newest record of each scope, sorted by scope, whatever arrived first."""
    merged = {_natural(record): record for record in [*known, *new]}
    return [merged[key] for key in sorted(merged)]


def _natural(record: JsonObject) -> tuple[tuple[int, int | str], ...]:
    parts = f"{record['scope']}/{record.get('kind', '')}/{record.get('subject', '')}".split("/")
    return tuple((0, int(part)) if part.isascii() and part.isdigit() else (1, part) for part in parts)


def highest(known: int, new: int) -> int:
    """Keep the larger count."""
    return max(known, new)


# Branches write to these fields at once.
Unique = Annotated[list[str], merge_unique]
ByScope = Annotated[list[JsonObject], merge_by_scope]
Highest = Annotated[int, highest]


class SectionOutput(TypedDict, total=False):
    """What a section hands to the run."""

    outcomes: ByScope
    gathered_info: Unique
    visited_sources: Unique
    iteration_count: Highest
    gaps: ByScope


class DeepResearchState(SectionOutput, total=False):
    """A run's state; `gathered_info` holds evidence ids, `final_report` a content id."""

    original_query: str
    clarified_query: str
    is_clarified: bool
    pending_question: str
    sections: list[JsonObject]
    max_iterations: int
    is_sufficient: bool
    current_queries: list[str]
    final_report: str

    language: str
    # What is known of the run that this one follows.
    earlier: str
    intake_round: int
    assessment: JsonObject
    exchanges: list[JsonObject]
    # What the user gave while the run waited, instead of the focuses asked for first.
    focus: list[str]
    # Of the changes of the focus while the run works, the last that is wanted and the last that is followed, and how
    # many sections earlier plans had.
    focus_wanted: int
    focus_followed: int
    sections_before: int
    # How many answers to plans were used, and whether the last one corrected the question.
    confirmations: int
    is_corrected: bool
    known_terms: list[str]
    unknown_terms: list[str]
    brief: JsonObject
    plan: JsonObject
    # What was searched for before the plan was made, and the hits.
    scouted: dict[str, str]
    # How often queries were allocated to the sections.
    dealt: int
    grants: list[list[int]]
    copies: dict[str, str]
    shared: dict[str, list[str]]
    after: list[str]
    analysis: str
    figures: list[str]
    # Charts are drawn while the report is written.
    after_chart: list[str]
    draft: str
    checked: str
    is_verified: bool


class TextOutput(TypedDict, total=False):
    """What writing and checking the text changes: the figures are drawn meanwhile."""

    draft: str
    after: list[str]
    gaps: ByScope


class SectionState(SectionOutput, total=False):
    """One section in research; `round` is the last one begun, `grants` are the queries each round may still use.

    In round 0 of a follow-up the documents of the run before it are asked.

    `elsewhere` are the queries that the plan has for other sections.
    """

    number: int
    focus_followed: int
    section: JsonObject
    outline: list[str]
    domains: list[str]
    scouted: dict[str, str]
    earlier: str
    brief: JsonObject
    round: int
    grants: list[int]
    granted: int
    queries: list[JsonObject]
    asked: list[str]
    elsewhere: list[str]
    tasks: ByScope
    evidence: list[str]
    fresh: int
    synthesis: str
    coverage: float
    is_sufficient: bool
    is_all_read: bool
    stop: str
    open_questions: list[str]
    after: list[str]


class TaskOutput(TypedDict, total=False):
    """What a search task hands to its section."""

    tasks: ByScope
    gathered_info: Unique
    visited_sources: Unique
    gaps: ByScope


class TaskState(TaskOutput, total=False):
    """One search task of one round of one section."""

    number: int
    round: int
    task: int
    scouted: dict[str, str]
    earlier: str
    section: JsonObject
    outline: list[str]
    brief: JsonObject
    query: JsonObject
    seen: list[str]
    hits: str
    after: list[str]


# What a node returns: a partial state of any of the three kinds. LangGraph takes a plain dict.
Update = dict[str, Any]


def plain(update: object) -> Update:
    """Return the update as it will look after a reload, or fail now with `TypeError` if it is not plain JSON."""
    return cast("Update", json_of(canonical_json(update)))


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


# From here on a run spends the ending's share of its budget.
ENDING = frozenset({Stage.ANALYZE, Stage.CHART, Stage.DRAFT, Stage.VERIFY, Stage.WRITE, Stage.AUDIT, Stage.CACHE})


@dataclass(frozen=True)
class RunState:
    """A run as `runs show` reads it; a stage's copy also carries the stage, its scope, its input and its context."""

    run: RunRow
    stage: Stage | None = None
    scope: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    bound: StageContext | None = None

    @property
    def context(self) -> StageContext:
        """Return what the stage may touch."""
        if self.bound is None:
            raise RuntimeError("a run's record has a context only inside a stage")
        return self.bound
