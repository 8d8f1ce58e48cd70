"""What a caller may ask for: the question, how far to go, what it may cost, and how to search."""

from datetime import date
from pathlib import PurePath
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from deep_research.text.messages.language import language_tag
from deep_research.value import Value

ClarifyMode = Literal["auto", "strict", "off"]
# A tag such as `de` or `pt-BR`.
Language = Annotated[str, AfterValidator(language_tag)]
ReportLength = Literal["short", "standard", "long", "deep"]
# So many words a report has at most.
REPORT_WORDS: dict[ReportLength, int] = {"short": 400, "standard": 1_100, "long": 2_500, "deep": 4_500}
DepthName = Literal["quick", "standard", "deep"]
ParallelStrategy = Literal["batch", "race", "hybrid"]
# What kind of source is looked for; `local` means the user's own documents.
SearchKind = Literal["general", "academic", "news", "code", "patents", "local"]
BudgetKind = Literal["usd", "tokens", "seconds", "queries", "pages"]
BUDGET_KINDS: tuple[BudgetKind, ...] = ("usd", "tokens", "seconds", "queries", "pages")


class Spend(Value):
    """What a call or a run costs, or may cost at most."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    queries: int = 0
    pages: int = 0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            usd=round(self.usd + other.usd, 10),
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
            queries=self.queries + other.queries,
            pages=self.pages + other.pages,
        )

    def of(self, kind: BudgetKind) -> float:
        """Return the amount of one kind."""
        amount: float = getattr(self, kind)
        return amount


class Budget(Value):
    """The limits of a run; None means no limit of that kind."""

    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    queries: int | None = Field(default=None, ge=0)
    pages: int | None = Field(default=None, ge=0)

    def limit(self, kind: BudgetKind) -> float | None:
        """Return the limit of one kind."""
        value: float | None = getattr(self, kind)
        return value


class SearchEngineConfig(Value):
    """Which engines are searched, and how search tasks are spread over them.

    `engines` are those of the web that were at hand when the run began.
    """

    strategy: SearchKind = "general"
    engines: tuple[str, ...] = ()
    max_results: int = Field(default=10, ge=1, le=50)
    parallel_strategy: ParallelStrategy = "hybrid"
    batch_size: int = Field(default=5, ge=1)
    enable_race_mode: bool = False
    enable_batch_parallel: bool = True
    max_concurrent_searches: int = Field(default=10, ge=1)
    max_total_queries: int = Field(default=20, ge=0)
    model_knowledge: bool = True
    cache: bool = True


class Depth(Value):
    """How many rounds, queries and pages a run may use; not set, it may read as many pages as its queries want."""

    max_iterations: int = Field(default=5, ge=1, le=10)
    queries_first_iteration: int = Field(default=8, ge=1)
    queries_followup_iteration: int = Field(default=5, ge=1)
    max_total_queries: int = Field(default=20, ge=0)
    urls_per_query: int = Field(default=3, ge=0)
    max_pages: int = Field(default_factory=lambda known: known["max_total_queries"] * known["urls_per_query"], ge=0)

    @property
    def name(self) -> DepthName:
        """Return the name of the first depth that has as many queries."""
        names = (name for name in get_args(DepthName) if self.max_total_queries <= _DEPTHS[name].max_total_queries)
        return next(names, "deep")

    def rounds(self) -> list[int]:
        """Return how many queries each round may use, over all sections."""
        left, counts = self.max_total_queries, []
        for number in range(self.max_iterations):
            share = min(left, self.queries_first_iteration if number == 0 else self.queries_followup_iteration)
            if share == 0:
                break
            counts.append(share)
            left -= share
        return counts

    @classmethod
    def named(cls, name: DepthName) -> "Depth":
        """Return a depth by its name."""
        return _DEPTHS[name]


_DEPTHS: dict[DepthName, Depth] = {
    "quick": Depth(
        max_iterations=1, queries_first_iteration=4, queries_followup_iteration=4, max_total_queries=4, urls_per_query=3
    ),
    "standard": Depth(),
    "deep": Depth(
        max_iterations=8,
        queries_first_iteration=40,
        queries_followup_iteration=30,
        max_total_queries=120,
        urls_per_query=2,
        max_pages=200,
    ),
}
# What a question of a breadth needs, where that is not the usual.
_EXTENTS: dict[str, tuple[DepthName, ReportLength]] = {"fact": ("standard", "short"), "field": ("deep", "deep")}


class FocusRule(Value):
    """The focuses of every question that a pattern fits."""

    pattern: str
    focus: tuple[str, ...]


class IntakeRules(Value):
    """A user's own rules for the intake, as they stood when the run began.

    `terms` are names to be taken as known, with what they mean or ""; `questions` and `options` replace ours by the
    kind of doubt, in one wording or in one for each language.
    """

    vague_words: tuple[str, ...] = ()
    terms: dict[str, str] = Field(default_factory=dict)
    questions: dict[str, str | dict[Language, str]] = Field(default_factory=dict)
    options: dict[str, tuple[str, ...] | dict[Language, tuple[str, ...]]] = Field(default_factory=dict)
    focus: tuple[FocusRule, ...] = ()
    default_focus: tuple[str, ...] = ()


class EarlierRun(Value):
    """The run that another one brings up to date: its brief and its plan, and what its report cites.

    `sources` are addresses with titles, by the title of the plan; earlier versions kept them by those of its sections.
    """

    run: str
    brief: dict[str, Any]
    plan: dict[str, Any]
    sources: dict[str, dict[str, str]] = Field(default_factory=dict)


# Begins the name of an uploaded collection that is kept in a database: it means the same on every host.
COLLECTION = "collection:"


def is_collection(docs: PurePath | str) -> bool:
    """Return whether documents are named as a collection of a database and not by a path."""
    return str(docs).startswith(COLLECTION)


class ResearchRequest(Value):
    """One question and everything its user decided about the run.

    `docs` is the absolute path of a folder of documents, or `collection:` and the id of a collection that a database
    keeps; `also_docs` is a second one that is searched with it;
    `models` names the thinking model, the task model and those to fall back on, none where rules research alone;
    `model_window` is how many tokens they hold, 0 where nobody told;
    `assume` starts on stated assumptions instead of asking; `interactive` says that somebody is there to approve a
    costly or complex plan; sources dated before `since` or after `until` are left out, undated ones are kept; of the
    web, only `sites` are searched where some are named.
    `follow` is the id of a run that this question follows up; with `add` its report is written again with the answer as
    a new section. The report lists its references unless `enable_references` is off, the result names pictures of its
    sources unless `enable_citation_image` is, and `enable_file_format_resource` has all sources written to one file.
    `update` names the run that this one brings up to date. Where `depth` or `length` is None, the question decides.
    """

    question: str
    context: str = ""
    follow: str = ""
    add: bool = False
    docs: str = ""
    also_docs: str = ""
    language: Language | None = None
    clarify: ClarifyMode = "auto"
    assume: bool = False
    confirm_plan: bool = False
    interactive: bool = False
    rules: IntakeRules = IntakeRules()
    focus: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    sites: tuple[str, ...] = ()
    length: ReportLength | None = None
    enable_citation_image: bool = True
    enable_references: bool = True
    enable_file_format_resource: bool = False
    offline: bool = False
    models: tuple[str, ...] = ()
    model_window: int = 0
    depth: Depth | None = None
    budget: Budget = Budget()
    search: SearchEngineConfig = SearchEngineConfig()
    update: EarlierRun | None = None

    def extent(self, breadth: str, *, has_model: bool) -> tuple[Depth, ReportLength]:
        """Return how far to go and how much to tell: as is set, else as a question of this breadth needs.

        A breadth is `fact`, `comparison` or `field`. What rules write keeps its length, however much is read.
        """
        name, length = _EXTENTS.get(breadth if has_model else "", ("standard", "standard"))
        depth = self.depth or Depth.named(name)
        if has_model and depth.name == "deep":
            length = "deep"
        elif depth.name == "quick" and length == "deep":
            length = "standard"
        return depth, self.length or length

    @property
    def deepest(self) -> Depth:
        """Return how far the run may go at most."""
        return self.extent("field", has_model=bool(self.models))[0]
