"""Everything that needs judgement goes through this port.

Acts take one value and return one value. They raise `CallFailed` when the model behind them gives nothing usable.
"""

from typing import Protocol

from deep_research.reasoning.values import (
    AbsenceCheck,
    Analysis,
    Assessment,
    Brief,
    BrokenChart,
    ChapterPlan,
    ChartSpec,
    Conclusion,
    Digest,
    Draft,
    Finding,
    Findings,
    HeldStretch,
    Inquiry,
    Judgement,
    Paragraphs,
    Plan,
    QueryRequest,
    ReadingRequest,
    Reflection,
    SectionWork,
    SentenceEdit,
    Support,
)
from deep_research.report.sources.hit import SearchQuery


class Reasoner(Protocol):
    """Every act, with its input and output."""

    # Acts before and between searches.

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Judge whether the question can be researched as it stands."""

    async def plan(self, brief: Brief) -> Plan:
        """Cut the question into sections."""

    async def queries(self, request: QueryRequest) -> tuple[SearchQuery, ...]:
        """Write at most `request.count` queries, best first; each may name the special sources that suit it."""

    # Acts on what was fetched.

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Mark the stretches of the document that help the section, or another of the outline."""

    async def compress(self, work: SectionWork) -> Digest:
        """Keep the evidence worth keeping, so that what follows stays bounded."""

    async def reflect(self, work: SectionWork) -> Reflection:
        """Merge new evidence into the running synthesis, and judge whether the section's evidence suffices."""

    # Acts on everything that was found.

    async def analyze(self, findings: Findings) -> Analysis:
        """Look at the findings from several sides."""

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        """Plan at most five charts."""

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        """Mend a chart's code."""

    # Acts that make the report.

    async def outline(self, findings: Findings) -> tuple[ChapterPlan, ...]:
        """Cut a long report into chapters."""

    async def draft(self, findings: Findings) -> Paragraphs:
        """Write the report from the evidence alone, or one of its chapters; what stands in the section `abstract`
        answers the question.
        """

    async def answer(self, draft: Draft) -> Paragraphs:
        """Write the answer that the chapters of a long report lead to, and what they leave open."""

    async def judge(self, support: Support) -> tuple[Judgement, ...]:
        """Return for each sentence without a verdict whether its passages carry it."""

    async def find_held(self, check: AbsenceCheck) -> tuple[HeldStretch, ...]:
        """Return for each statement that something is absent a stretch that holds it, if one does."""

    async def edit(self, draft: Draft) -> tuple[SentenceEdit, ...]:
        """Mend the whole text: what was refused, what repeats, what no longer hangs together."""

    async def conclude(self, draft: Draft) -> Conclusion:
        """Say what answers the question, and what of it stays open."""

    async def recall(self, brief: Brief) -> str:
        """Tell what is known without any source, "" for nothing; it is marked, and never cited."""
