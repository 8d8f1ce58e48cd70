"""Where a run stands, in one picture: computed from its stored events and calls, whoever made them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from deep_research.events import RunEvent, RunStatus
from deep_research.pipeline.control import words_of
from deep_research.pipeline.journal import spent_so_far
from deep_research.pipeline.research_map import changes_after, entries_now
from deep_research.pipeline.scope import fetch_scope
from deep_research.pipeline.state import Stage, Stop
from deep_research.pipeline.statistics import Step, steps_of
from deep_research.reasoning.values import Entries
from deep_research.report.sources.address import canonical_address
from deep_research.request import BUDGET_KINDS, BudgetKind
from deep_research.service.public_text import public_message
from deep_research.service.runs.progress_lines import LOW_COVERAGE, RESEARCH_STEPS
from deep_research.service.runs.sources import cited_numbers, stored_edition
from deep_research.storage.store.port import Answers, JournalRow, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject, Strings, Value

# `stopped`: under way when the run was cancelled or interrupted.
StageState = Literal["pending", "running", "done", "skipped", "failed", "stopped"]
_INDEX = "index"
# What a map tells of the round that was judged last.
_OF_ROUND = ("found", "new", "read")
_STOPPED: dict[RunStatus, StageState] = {"failed": "failed", "cancelled": "stopped", "interrupted": "stopped"}


class StageProgress(Value):
    """A stage: its state, how many of its steps are done of those that began, and why it failed or was skipped."""

    name: str
    state: StageState = "pending"
    steps: int = 0
    steps_done: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str = ""


class QueryProgress(Value):
    """A query of one round of a section; `learning` is what its pages say first."""

    section: str
    round: int
    query: str
    goal: str = ""
    state: Literal["running", "done", "failed"] = "running"
    hits: int = 0
    learning: str = ""
    error: str = ""


class SourceProgress(Value):
    """A source: being read, read with so many pieces of evidence (none: `empty`), not to be had, or cited.

    `number` is its citation number, `section` the first section that it was read for.
    """

    address: str
    title: str = ""
    document: str = ""
    section: str = ""
    sections: Strings = ()
    evidence: int = 0
    state: Literal["reading", "read", "empty", "failed", "cited"] = "reading"
    number: int | None = None
    error: str = ""


class SectionProgress(Value):
    """A section of the plan: how well it is covered, from 0 to 1, after so many rounds, and what it lacks.

    `stop` says why it is not searched for any further; it is thin where that is so and little was found.
    """

    title: str
    description: str = ""
    round: int = 0
    coverage: float = 0.0
    score: int = 0
    dimensions: dict[str, int] = Field(default_factory=dict)
    is_sufficient: bool = False
    is_thin: bool = False
    gaps: Strings = ()
    next_queries: Strings = ()
    stop: Stop = ""
    verdicts: dict[str, int] = Field(default_factory=dict)


class MapProgress(Value):
    """What a complete answer should name, section by section, and where the last round that was judged has got.

    That round `read` so many pages, `found` so many entries and added so many `new` ones. `stop` says why nothing more
    is searched for, `can_change` that a reader may strike and add entries, `is_ending` that one said it is enough.
    """

    round: int = 0
    entries: Entries = ()
    found: int = 0
    new: int = 0
    read: int = 0
    pages: int = 0
    queries: int = 0
    stop: Stop = ""
    can_change: bool = False
    is_ending: bool = False


class Spending(Value):
    """What was spent of one kind, and the most that may be."""

    kind: BudgetKind
    spent: float
    limit: float | None = None


class LeftOut(Value):
    """Something that a limit forbade."""

    kind: str
    limit: float
    spent: float
    left_out: str


class RunProblem(Value):
    """Something that failed on the way; the run may have gone on without it."""

    at: datetime
    message: str
    step: str = ""


class FigureProgress(Value):
    """A chart that was drawn, or was not."""

    title: str
    state: Literal["planned", "done", "failed", "skipped"] = "planned"
    error: str = ""


class RunProgress(Value):
    """Where a run stands; `seq` is the number of the last event that is in it, to follow the events from there.

    `waits_for` says what kind of answer the run waits for, and `pending` holds the question or the plan.
    """

    run: str
    status: RunStatus
    seq: int
    title: str = ""
    stages: tuple[StageProgress, ...]
    sections: tuple[SectionProgress, ...] = ()
    thin: Strings = ()
    map: MapProgress = MapProgress()
    queries: tuple[QueryProgress, ...] = ()
    sources: tuple[SourceProgress, ...] = ()
    figures: tuple[FigureProgress, ...] = ()
    spending: tuple[Spending, ...]
    left_out: tuple[LeftOut, ...] = ()
    problems: tuple[RunProblem, ...] = ()
    waits_for: Literal["clarification", "plan-approval"] | None = None
    pending: JsonObject | None = None
    error: str = ""


async def read_progress(row: RunRow, store: Store) -> RunProgress:
    """Return where a run stands now."""
    events, calls = await store.read_events(row.id), await store.list_calls(row.id)
    cited = cited_numbers(await stored_edition(row, store))
    return progress_of(row, events, calls, cited, await store.get_answers(row.id))


def progress_of(
    row: RunRow,
    events: Sequence[RunEvent],
    calls: list[JournalRow],
    cited: Mapping[str, int],
    answers: Answers,
) -> RunProgress:
    """Return where a run stands, from what the store holds of it; `cited` are the numbers of cited documents."""
    collector = ProgressCollector()
    for event in events:
        collector.take(event)
    # The row is newer than the events where something happened between reading the two.
    collector.is_over = collector.is_over or row.status == "done"
    sections = tuple(collector.section(title) for title in collector.sections)
    spent = spent_so_far(calls).replace(seconds=row.active_s)
    kind = (row.pending or {}).get("kind")
    return RunProgress(
        run=row.id,
        status=row.status,
        seq=events[-1].seq if events else 0,
        title=row.title or collector.title,
        stages=tuple(_stages(events, row.status, is_over=collector.is_over)),
        sections=sections,
        thin=tuple(section.title for section in sections if section.is_thin),
        map=_map(row, events, answers, is_over=collector.is_over),
        queries=tuple(collector.queries.values()),
        sources=tuple(_sources(collector.sources, calls, cited)),
        figures=tuple(collector.figures.values()),
        spending=tuple(
            Spending(kind=kind, spent=round(spent.of(kind), 6), limit=row.request.budget.limit(kind))
            for kind in BUDGET_KINDS
        ),
        left_out=tuple(collector.left_out),
        problems=tuple(collector.problems.values()),
        waits_for="plan-approval" if kind == "plan-approval" else "clarification" if kind else None,
        pending=row.pending,
        error=public_message(row.failure),
    )


@dataclass
class _ObservedSource:
    """A source as the events tell of it; what two queries of one section find in it is mostly the same."""

    title: str
    document: str
    evidence: dict[str, int] = field(default_factory=dict)


@dataclass
class ProgressCollector:
    """What the events of a run have shown so far; `is_over` says that nothing more is searched for.

    `searched` are the sections that were.
    """

    title: str = ""
    stop: Stop = ""
    is_over: bool = False
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    queries: dict[tuple[str, int, str], QueryProgress] = field(default_factory=dict)
    sources: dict[str, _ObservedSource] = field(default_factory=dict)
    figures: dict[str, FigureProgress] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    problems: dict[str, RunProblem] = field(default_factory=dict)

    def take(self, event: RunEvent) -> None:
        """Take note of an event."""
        data: dict[str, Any] = event.data
        match event.kind:
            case "progress":
                self.is_over = self.is_over or data["step"] in (Stage.ANALYZE, Stage.DRAFT)
            case "report-plan":
                self.title = data["title"]
                before = self.sections
                self.sections = {
                    one["title"]: {**before.get(one["title"], {}), "description": one.get("description", "")}
                    for one in data["sections"]
                }
            case "serp-query":
                self.searched.add(data["section"])
                for query in data["queries"]:
                    asked = QueryProgress(
                        section=data["section"], round=data["round"], query=query["query"], goal=query.get("goal", "")
                    )
                    self.queries.setdefault((asked.section, asked.round, asked.query), asked)
            case "search-task":
                self._task(data)
            case "source":
                source = self.sources.setdefault(data["address"], _ObservedSource(data["title"], data["document"]))
                source.evidence[data["section"]] = max(source.evidence.get(data["section"], 0), data["evidence"])
            case "research-map":
                self.stop = data["stop"]
            case "section-coverage":
                self.sections.setdefault(data["section"], {}).update(data)
            case "verdict":
                self.verdicts[data["section"]] = data["counts"]
            case "chart-planning":
                for chart in data["charts"]:
                    self.figures.setdefault(chart.get("title", ""), FigureProgress(title=chart.get("title", "")))
            case "chart-result":
                self.figures[data["title"]] = FigureProgress(
                    title=data["title"], state=data["status"], error=data.get("error", "")
                )
            case "budget":
                self.left_out.append(LeftOut.from_json(data))
            case "error":
                problem = RunProblem(at=event.at, message=public_message(data["message"]), step=data.get("step", ""))
                self.problems.setdefault(problem.message, problem)

    def _task(self, data: Mapping[str, Any]) -> None:
        rounds = [
            query_key for query_key in self.queries if (query_key[0], query_key[2]) == (data["section"], data["query"])
        ]
        for query_key in rounds[-1:]:
            ended = {"state": data["status"], "error": data.get("error", "")}
            ended |= {name: data[name] for name in ("hits", "learning")}
            self.queries[query_key] = self.queries[query_key].replace(**ended)

    def section(self, title: str) -> SectionProgress:
        """Return a section; one that is to be searched again but is not, found nothing more to ask."""
        known = {name: value for name, value in self.sections[title].items() if name in SectionProgress.model_fields}
        verdicts = self.verdicts.get(title, {})
        section = SectionProgress.from_json({**known, "title": title, "verdicts": verdicts})
        stop = section.stop or (
            (self.stop or "exhausted") if self.is_over and section.round and not section.is_sufficient else ""
        )
        is_thin = bool(stop or self.is_over) and not section.is_sufficient and section.coverage < LOW_COVERAGE
        return section.replace(stop=stop, is_thin=is_thin)


def _map(row: RunRow, events: Sequence[RunEvent], answers: Answers, *, is_over: bool) -> MapProgress:
    """Return the map as it was told last, with what readers changed since."""
    told = [event.data for event in events if event.kind == "research-map"]
    last_round: JsonObject = next((data for data in reversed(told) if data["is_judged"]), {})
    shown: dict[str, Any] = {**(told or [{}])[-1], **{name: last_round.get(name, 0) for name in _OF_ROUND}}
    is_ended = any(change.enough for change in changes_after(0, answers))
    is_searching = row.status in ("running", "interrupted") and bool(told) and not is_over
    entries = entries_now(events, answers, words_of(row))
    shown["entries"] = tuple(entry.at_the_end for entry in entries) if is_over else entries
    shown["is_ending"] = is_searching and is_ended
    shown["can_change"] = is_searching and not (is_ended or shown["stop"])
    return MapProgress(**{name: value for name, value in shown.items() if name in MapProgress.model_fields})


def _stages(events: Sequence[RunEvent], status: RunStatus, *, is_over: bool) -> Iterator[StageProgress]:
    """Yield every stage in order; of reading documents is told only where there are some."""
    begun: dict[str, list[Step]] = {}
    for step in steps_of(events):
        begun.setdefault(step.name, []).append(step)
    for name in [*([_INDEX] if _INDEX in begun else []), *Stage]:
        if name in begun:
            yield _stage(name, begun[name], status, is_over=is_over)
        else:
            yield StageProgress(name=name, state="skipped" if status == "done" else "pending")


def _stage(name: str, steps: list[Step], status: RunStatus, *, is_over: bool) -> StageProgress:
    ended = [step.status for step in steps if step.status]
    is_open = len(ended) < len(steps) or (name in RESEARCH_STEPS and not is_over)
    state: StageState = "done"
    if is_open and status != "done":
        state = _STOPPED.get(status, "running")
    elif "done" not in ended:
        state = "skipped" if "skipped" in ended else "failed" if "failed" in ended else "done"
    last = max(step.span.end if step.status else step.span.begin for step in steps)
    return StageProgress(
        name=name,
        state=state,
        steps=len(steps),
        steps_done=len(ended),
        started_at=min(step.span.begin for step in steps),
        ended_at=None if state == "running" else last,
        reason="" if state == "done" else next((step.reason for step in reversed(steps) if step.reason), ""),
    )


def _sources(
    known: Mapping[str, _ObservedSource], calls: Iterable[JournalRow], cited: Mapping[str, int]
) -> Iterable[SourceProgress]:
    """Yield the sources that were read, then those that are being read or could not be had."""
    seen = {canonical_address(address) for address in known}
    for address, source in known.items():
        evidence, number = sum(source.evidence.values()), cited.get(source.document)
        yield SourceProgress(
            address=address,
            title=source.title,
            document=source.document,
            section=next(iter(source.evidence)),
            sections=tuple(source.evidence),
            evidence=evidence,
            state="cited" if number else "read" if evidence else "empty",
            number=number,
        )
    others = {call.scope.removeprefix(fetch_scope("")): call for call in calls if call.kind == "fetch"}
    for address, call in others.items():
        if address in seen or call.state == "done":
            continue
        error = public_message(str((call.error or {}).get("detail", "")))
        yield SourceProgress(address=address, state="reading" if call.state == "started" else "failed", error=error)
