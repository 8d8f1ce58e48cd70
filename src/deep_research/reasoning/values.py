"""What the reasoner is asked and what it answers, act by act; every answer is flat enough for a small model."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from deep_research.report.evidence.passage import Evidence
from deep_research.report.figure import ChartType, DataRow
from deep_research.report.paragraph import Paragraph, Sentence, VerdictKind
from deep_research.report.sources.document import Document
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import ClarifyMode, Depth, IntakeRules, Language, ReportLength
from deep_research.value import Json, Value
from deep_research.value import Strings as Strings

Paragraphs: TypeAlias = tuple[Paragraph, ...]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Score: TypeAlias = Annotated[int, Field(ge=1, le=10)]
NextAction = Literal["START_RESEARCH", "NEED_CLARIFICATION", "VERIFY_TOPIC", "CONFIRM_PLAN", "CANNOT_DO"]


class Exchange(Value):
    """One question that was put to the user, and the answer."""

    question: str
    answer: str


class RelatedText(Value):
    """A document or page that has something on the question, its date, and its best passage."""

    title: str
    text: str
    published: str = ""


class Inquiry(Value):
    """What intake knows: the question, its context, what was asked and verified so far, and what documents hold.

    Of a follow-up, `earlier` is the question before it with the answer to that, and `subject` what that is about.
    """

    question: str
    context: str = ""
    earlier: RelatedText | None = None
    subject: str = ""
    language: Language = "en"
    clarify: ClarifyMode = "auto"
    focus: Strings = ()
    exchanges: tuple[Exchange, ...] = ()
    known_terms: Strings = ()
    unknown_terms: Strings = ()
    rules: IntakeRules = IntakeRules()
    held: tuple[RelatedText, ...] = ()


class ClarificationQuestion(Value):
    """One question to the user, with options where they can be named."""

    question: str
    options: Strings = ()
    missing_info: str = ""


# The kinds of answer that a question can ask for.
QuestionKind = Literal[
    "fact",
    "yes_no",
    "who_when_where",
    "list",
    "extreme",
    "trend",
    "comparison",
    "reason",
    "procedure",
    "overview",
    "advice",
    "open",
]
QUESTION_KINDS: frozenset[str] = frozenset(get_args(QuestionKind))
# Only these can be found not to be answered: what they ask for is there or is not.
PRECISE_KINDS: frozenset[QuestionKind] = frozenset({"fact", "yes_no", "who_when_where", "list", "extreme"})
# What these ask for stands in several rows, or in several sentences.
TABLE_KINDS: frozenset[QuestionKind] = frozenset({"list", "extreme", "trend", "comparison"})


class QuestionAnalysis(Value):
    """What a question asks for: its kind, its parts where it has several, what to leave out, and its anchors.

    Anchors are what an answer must be about: names, periods (ISO dates), numbered things ("stage 2"), and what sort
    of thing is asked for (`money`, `share`, `duration`, `count`, `date`, `person`, `place`, or "").
    """

    kind: QuestionKind = "open"
    parts: Strings = ()
    excluded: Strings = ()
    names: Strings = ()
    periods: Strings = ()
    ordinals: Strings = ()
    asks_for: str = ""

    @property
    def asking(self) -> str:
        """Return the parts as one text."""
        return " ".join(self.parts)

    @property
    def is_precise(self) -> bool:
        """Return whether one thing is asked for, which the sources hold or do not hold."""
        return self.kind in PRECISE_KINDS and len(self.parts) <= 1


class TaskBrief(Value):
    """What the user wants to know, and from which sides."""

    goal: str = ""
    research_focus: Strings = ()


class Assessment(Value):
    """Whether the question can be researched as it stands; `analysis` is what a model took it to ask for, and
    `breadth` how wide it took it to be (`fact`, `comparison`, `field`).
    """

    next_action: NextAction
    confidence: Share
    topic_clear: bool = True
    scope_inferable: bool = True
    goal_clear: bool = True
    unknown_terms: Strings = ()
    task: TaskBrief = TaskBrief()
    clarification: ClarificationQuestion | None = None
    reasoning: str = ""
    refined_query: str = ""
    assumptions: Strings = ()
    analysis: QuestionAnalysis | None = None
    breadth: str = ""

    @property
    def is_clear(self) -> bool:
        return self.next_action in ("START_RESEARCH", "CONFIRM_PLAN")

    @property
    def clarification_question(self) -> str:
        """Return the question to the user, or ""."""
        return self.clarification.question if self.clarification else ""


class Brief(Value):
    """The question as it will be researched; `found` is what a first look at the web brought, for a plan.

    `has_settled_plan` says that a user approved or wrote the plan.
    """

    question: str
    original: str
    language: Language
    today: str = ""
    goal: str = ""
    focus: Strings = ()
    has_own_focus: bool = False
    has_settled_plan: bool = False
    depth: Depth = Depth()
    length: ReportLength = "standard"
    assumptions: Strings = ()
    analysis: QuestionAnalysis = QuestionAnalysis()
    found: tuple[RelatedText, ...] = ()

    @property
    def evidence_limit(self) -> int:
        """Return how many sentences of its sources the body of a report may quote."""
        return {"short": 24, "standard": 52, "long": 90, "deep": 140}[self.length]


class SectionPlan(Value):
    """One section of the report: what it answers and what to search for."""

    title: str
    description: str = ""
    search_queries: tuple[SearchQuery, ...] = ()


# Looked for and not found is `missing`; what needs no looking for after all is `set_aside`.
EntryStatus = Literal["open", "found", "missing", "set_aside"]


class MapEntry(Value):
    """Something that an expert expects a complete answer to name: a proposal, a method, a maker, an event.

    It was named before there was a source for it, so it makes queries and never sentences. `queries` were asked for it,
    `documents` name it, and `reason` says why it was set aside. `from_reader`: a reader struck or added it.
    """

    name: str
    section: str = ""
    status: EntryStatus = "open"
    reason: str = ""
    queries: Strings = ()
    documents: Strings = ()
    from_reader: bool = False

    @property
    def at_the_end(self) -> "MapEntry":
        """Return it as it stands once nothing more is searched for."""
        return self.replace(status="missing") if self.status == "open" and self.queries else self

    @property
    def is_struck(self) -> bool:
        """Return whether a reader does not want it looked for."""
        return self.from_reader and self.status == "set_aside"

    @property
    def is_wanted(self) -> bool:
        """Return whether a reader added it and nothing was asked for it yet."""
        return self.from_reader and self.status == "open" and not self.queries


Entries: TypeAlias = tuple[MapEntry, ...]


class Plan(Value):
    """The report before it is researched; `entries` are what a complete answer names."""

    research_title: str
    goal: str = ""
    scope: str = ""
    domains: Strings = ()
    sections: tuple[SectionPlan, ...]
    entries: Entries = ()

    @property
    def titles(self) -> Strings:
        """Return the titles of the sections."""
        return tuple(section.title for section in self.sections)

    def entries_of(self, titles: Sequence[str]) -> Entries:
        """Return what is looked for in these sections, or in none."""
        return tuple(entry for entry in self.entries if entry.section in ("", *titles))


class QueryRequest(Value):
    """A request for queries: for a section's first round, or for the gaps that the last one left."""

    brief: Brief
    section: SectionPlan
    domains: Strings = ()
    round: int = 1
    gaps: Strings = ()
    asked: Strings = ()
    count: int


class ReadingRequest(Value):
    """Documents to be read for one section; `outline` names all sections: a finding goes where it fits best.

    `sought` is what a complete answer should name, where somebody said.
    """

    brief: Brief
    section: SectionPlan
    outline: Strings = ()
    documents: tuple[Document, ...]
    sought: Strings = ()


class Finding(Value):
    """A stretch of a document's text and what it says; a table row names the stretch that is its header.

    `document` is the document's id, and `section` the title of the section that it helps, "" for the one that the
    document was read for.
    """

    document: str = ""
    start: int
    end: int
    finding: str
    score: float = 0.0
    header: tuple[int, int] | None = None
    section: str = ""


class SourceFacts(Value):
    """What is known about a source beside its text: its site, "" for a document of the user's own, and its date."""

    document: str
    host: str = ""
    published: str = ""


class SectionWork(Value):
    """What is known about a section after a round; `sources` are those of its evidence, where somebody judges it.

    Of all sections together, which are the `outline`, `fresh` is the evidence that the round found, `entries` are what
    is looked for, and `pages` the titles of pages that could be read next.
    """

    brief: Brief
    section: SectionPlan
    evidence: tuple[Evidence, ...] = ()
    synthesis: str = ""
    coverage: float = 0.0
    round: int = 1
    queries_left: int = 0
    asked: Strings = ()
    failures: Strings = ()
    sources: tuple[SourceFacts, ...] = ()
    entries: Entries = ()
    outline: Strings = ()
    contexts: dict[str, "Context"] = Field(default_factory=dict)
    fresh: Strings = ()
    pages: Strings = ()

    def of(self, section: SectionPlan, evidence: Sequence[Evidence]) -> "SectionWork":
        """Return what is known about one of the sections."""
        own = tuple(piece for piece in evidence if piece.section == section.title)
        return self.replace(section=section, evidence=own, synthesis="", outline=())


class Digest(Value):
    """The evidence worth keeping, best first."""

    evidence: Strings


class Synthesis(Value):
    """The running synthesis of a section and how much of it is covered."""

    text: str
    coverage: Share


class Dimensions(Value):
    """How good a section's evidence is on five counts, each from 1 to 10."""

    coverage: Score
    depth: Score
    diversity: Score
    consistency: Score
    recency: Score

    @property
    def overall(self) -> int:
        scores: list[int] = [score for _, score in self]
        return round(sum(scores) / len(scores))


class Reflection(Value):
    """What is known now, whether it suffices, and what to search for if not.

    `synthesis` is the account of all that was found so far, and `coverage` how much of the section it covers.
    `gaps` are questions that stay open, and stand in the report if nothing closes them; `thin` says what the evidence
    lacks to be strong. `entries` are all that is looked for as it stands now, and `pages` the numbers, from 1, of the
    pages to read next.
    """

    is_sufficient: bool
    overall_score: Score
    dimensions: Dimensions
    synthesis: str = ""
    coverage: Share = 0.0
    gaps: Strings = ()
    thin: Strings = ()
    entries: Entries = ()
    pages: tuple[int, ...] = ()
    next_queries: tuple[SearchQuery, ...] = ()
    reasoning: str = ""


class Context(Value):
    """Where a passage stands: its document's title, author, first lines and date, its place and the headings above it,
    and the text beside it; whether it is a page of the web, what kind of document it is, and what its head says of its
    status, date and columns.
    """

    title: str = ""
    author: str = ""
    opening: str = ""
    place: str = ""
    headings: str = ""
    near: str = ""
    published: str = ""
    is_page: bool = False
    kind: str = ""
    facts: str = ""


class ChapterPlan(Value):
    """A chapter of a long report before it is written: what it settles, the columns of its table, "" for none, the
    documents it is written from, the names of the entries that it tells of, and words that its passages may use.
    """

    title: str
    settles: str = ""
    columns: str = ""
    documents: Strings = ()
    entries: Strings = ()
    sought: str = ""


class Findings(Value):
    """Everything that was found, section by section; for an analysis, how well its main statements are backed.

    `synthesis` is the account of it, and `entries` are what was looked for. Where one of several `chapters` is to be
    written, `chapter` is its number, from 1, and the sections are what it is written from.

    `contexts` are those of the evidence, by its id; `disputed` is what sources give different figures for;
    `asks_for_analysis` says that the matter is to be weighed from several sides, `words` how long the report should be,
    and `has_sandbox` that programs of a model can be run. `written` are the chapters that the last one follows on, and
    `cited` is what they cite beside its own evidence.
    """

    brief: Brief
    plan: Plan
    sections: tuple[SectionWork, ...]
    strength: tuple[Sentence, ...] = ()
    disputed: Paragraphs = ()
    contexts: dict[str, Context] = Field(default_factory=dict)
    asks_for_analysis: bool = False
    words: int = 1_000
    has_sandbox: bool = False
    synthesis: str = ""
    entries: Entries = ()
    chapters: tuple[ChapterPlan, ...] = ()
    chapter: int = 0
    written: Paragraphs = ()
    cited: tuple[Evidence, ...] = ()

    @property
    def fixed_titles(self) -> Strings:
        """Return the sections that a user wrote or approved: the report has them, in this order."""
        return self.plan.titles if self.brief.has_settled_plan or self.brief.has_own_focus else ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Return all evidence, each piece once, document by document in the order of their text."""
        pieces = {piece.id: piece for work in self.sections for piece in work.evidence}.values()
        order = {document: place for place, document in enumerate(dict.fromkeys(piece.document for piece in pieces))}
        return tuple(sorted(pieces, key=lambda piece: (order[piece.document], piece.start, piece.end)))


class Analysis(Value):
    """How well the main statements are backed, and what would change the conclusion, which claims nothing."""

    paragraphs: Paragraphs = ()
    changes: Strings = ()


class ChartSpec(Value):
    """A planned chart: its rows of data, each with its evidence, and a model's program that draws them, "" for ours."""

    title: str
    chart_type: ChartType
    data_source: str = "from_research"
    python_code: str = ""
    unit: str = ""
    rows: tuple[DataRow, ...] = ()

    @property
    def data(self) -> list[Json]:
        """Return the rows as a program gets them."""
        return [{"label": row.label, "value": row.value, "series": row.series} for row in self.rows]


class BrokenChart(Value):
    """A chart that failed, with what it printed."""

    spec: ChartSpec
    error: str


class Support(Value):
    """A text whose sentences without a verdict are to be judged, and the passages that they cite; `hints` are words of
    a sentence, by its text, that do not stand in its passages as they are.
    """

    brief: Brief
    paragraphs: Paragraphs
    passages: tuple[Evidence, ...]
    contexts: dict[str, Context] = Field(default_factory=dict)
    hints: dict[str, str] = Field(default_factory=dict)


class Stretch(Value):
    """A few sentences or a row of a stored document, with the document's title and the headings above."""

    document: str
    title: str
    headings: str = ""
    start: int
    end: int
    text: str


class AbsenceCheck(Value):
    """Statements that no source holds something, and the stretches of all stored texts that could, the likeliest
    first.
    """

    brief: Brief
    statements: Strings
    stretches: tuple[Stretch, ...]


class HeldStretch(Value):
    """What a source does hold, against the statement with this number, from 1: the stretch and its words."""

    number: int
    stretch: Stretch
    span: str = ""


class Judgement(Value):
    """A judge's verdict on the sentence with this number, from 1 over the whole text.

    `span` is what of a passage decides it, which code must find; `premises` are the evidence that a conclusion relies
    on.
    """

    number: int
    verdict: VerdictKind
    span: str = ""
    premises: Strings = ()
    reason: str = ""


class SentenceEdit(Value):
    """What an editor puts in the place of the sentence with this number, from 1 over the whole text; nothing to delete
    it.
    """

    number: int
    sentences: tuple[Sentence, ...] = ()


class Draft(Value):
    """The report's checked text; `contexts` are those of the evidence, by its id; `words` is how long it should be, 0
    where nobody said, and `figures` what the charts drawn for it show.
    """

    brief: Brief
    plan: Plan
    paragraphs: Paragraphs
    words: int = 0
    figures: Strings = ()
    evidence: tuple[Evidence, ...] = ()
    contexts: dict[str, Context] = Field(default_factory=dict)
    titles: Strings = ()
    gaps: Strings = ()


class Conclusion(Value):
    """What answers the question; whether it is answered, how likely the answer is right, and what is not answered.

    Where `support` names evidence, a short answer shows no other beside it.
    """

    is_answered: bool = True
    likelihood: float = 1.0
    support: Strings = ()
    unanswered: Strings = ()
    abstract: Paragraphs = ()
