"""What a run reports, in the order in which it happened; store, command line and `on_event` read the same object."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NotRequired, TypedDict, get_args

from deep_research.value import JsonObject, Value

StepStatus = Literal["started", "done", "skipped", "failed"]
RunStatus = Literal["created", "running", "waiting", "interrupted", "failed", "cancelled", "done"]
RUN_STATUSES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
# A run that ended may still be tried again.
ENDED: Final[tuple[RunStatus, ...]] = ("done", "failed", "cancelled")
UNFINISHED: Final = tuple(status for status in RUN_STATUSES if status not in ENDED)


class Progress(TypedDict):
    """A stage begins, ends, or is skipped or fails with its reason; one that failed may be tried again and end."""

    step: str
    status: StepStatus
    data: NotRequired[JsonObject]


class Text(TypedDict):
    """A finished piece of text, a section's title while a plan is written, or a piece of the model's reasoning."""

    type: Literal["text"]
    text: str


class Failure(TypedDict):
    """Something failed; the run may go on without it."""

    message: str
    category: NotRequired[str]
    retry_count: NotRequired[int]
    step: NotRequired[str]


class ReportPlan(TypedDict):
    """The plan: title, goal and sections with their queries, and how many queries the run may use in all."""

    title: str
    goal: str
    sections: list[JsonObject]
    queries: NotRequired[int]


class SerpQuery(TypedDict):
    """The queries of one round of one section."""

    section: str
    round: int
    queries: list[JsonObject]


class SearchTaskDone(TypedDict):
    """One search task ended: what it found and what it learned, or why every source failed."""

    query: str
    section: str
    status: Literal["done", "failed"]
    hits: int
    learning: str
    error: NotRequired[str]


class ChartPlanning(TypedDict):
    """The charts that are planned, or why there are none."""

    charts: list[JsonObject]
    reason: NotRequired[str]


class ChartResult(TypedDict):
    """One chart was drawn, or was not.

    `figure` holds its type, unit and rows with their evidence, and as `png` and `svg` the content ids of its pictures:
    `GET /api/runs/{run}/pictures/{id}` gives them once the run is done.
    """

    title: str
    status: Literal["done", "failed", "skipped"]
    figure: NotRequired[JsonObject]
    error: NotRequired[str]


class FinalReport(TypedDict):
    """The report is written; `text` holds all of it, unless it has more than 100,000 characters.

    It is in the store under its content id (`report`), in the run folder (`path`), and once the run is done at
    `GET /api/runs/{run}/report.md`.
    """

    title: str
    report: str
    path: str
    text: NotRequired[str]


MAX_EVENT_TEXT_CHARS: Final = 100_000


class RunStatusChange(TypedDict):
    """The run's status changed."""

    status: RunStatus
    reason: NotRequired[str]


class Clarification(TypedDict):
    """A question to the user."""

    question: str
    options: list[str]
    missing_info: str
    round: int


class PlanApproval(TypedDict):
    """The plan waits for approval, or was approved."""

    status: Literal["waiting", "approved", "edited"]
    estimate_usd: NotRequired[float]


class SourceFound(TypedDict):
    """A document was read and stored."""

    document: str
    address: str
    title: str
    evidence: int
    section: str


class SectionCoverage(TypedDict):
    """How well a section is covered after a round, on five counts from 1 to 10, and what it still lacks.

    `stop` says why it is not searched for any further (`sufficient`, `budget`, `iterations`, `exhausted`, `refocused`,
    or `enough`, where a reader said so); "" means that it is searched for again, first with `next_queries`, where there
    are any.
    """

    section: str
    round: int
    coverage: float
    score: int
    dimensions: dict[str, int]
    is_sufficient: bool
    gaps: list[str]
    next_queries: list[str]
    reason: str
    stop: str


class BudgetState(TypedDict):
    """A limit was reached: what it was, and what is left out because of it."""

    kind: str
    limit: float
    spent: float
    left_out: str


class VerdictCount(TypedDict):
    """The verdicts on one section's sentences."""

    section: str
    counts: dict[str, int]


class ResearchMap(TypedDict):
    """What a complete answer should name, and where each entry stands: open, found, missing, set aside.

    Told before the first round, where a reader changed it (so many `changes` are in it), and once a round is judged:
    then `found` and `new` count the entries that the round found and that it added, and `read` the pages that it read.
    `pages` counts all that were read, and `queries` those that are left; `stop` is as for `section-coverage`.
    """

    round: int
    is_judged: bool
    entries: list[JsonObject]
    found: int
    new: int
    pages: int
    read: int
    queries: int
    changes: int
    stop: str


class StreamGap(TypedDict):
    """A reader missed what cannot be replayed: events before `first`, or live text; told to that reader alone."""

    what: Literal["events", "text"]
    first: int


# The one list of event kinds, each with what an event of the kind holds.
EVENT_DATA: Final[dict[str, type]] = {
    "progress": Progress,
    "message": Text,
    "reasoning": Text,
    "error": Failure,
    "report-plan": ReportPlan,
    "serp-query": SerpQuery,
    "search-task": SearchTaskDone,
    "chart-planning": ChartPlanning,
    "chart-result": ChartResult,
    "final-report": FinalReport,
    "run-status": RunStatusChange,
    "clarification": Clarification,
    "plan-approval": PlanApproval,
    "source": SourceFound,
    "section-coverage": SectionCoverage,
    "research-map": ResearchMap,
    "budget": BudgetState,
    "verdict": VerdictCount,
    "stream-gap": StreamGap,
}
if TYPE_CHECKING:
    EventKind = str
else:
    EventKind = Literal[tuple(EVENT_DATA)]
EventData = (
    Progress
    | Text
    | Failure
    | ReportPlan
    | SerpQuery
    | SearchTaskDone
    | ChartPlanning
    | ChartResult
    | FinalReport
    | RunStatusChange
    | ResearchMap
    | Clarification
    | PlanApproval
    | SourceFound
    | SectionCoverage
    | BudgetState
    | VerdictCount
    | StreamGap
)


class RunEvent(Value):
    """One thing that a run reported: `seq` counts without a gap within the run, and no `key` appears twice."""

    seq: int
    run: str
    at: datetime
    kind: EventKind
    key: str
    data: JsonObject


OnEvent = Callable[[RunEvent], Awaitable[None] | None]


class LiveText(NamedTuple):
    """A piece of a model's answer while it comes: sent to whoever listens now, never stored."""

    run: str
    scope: str
    act: str
    kind: Literal["text", "reasoning"]
    text: str


OnLive = Callable[[LiveText], None]
