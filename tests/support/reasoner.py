"""Reasoners for tests: one whose plan and patience are scripted, and one whose acts cost what a model's would."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from deep_research.llm.port import ChatModel, ModelRequest, ModelRole
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import (
    AbsenceCheck,
    Analysis,
    Assessment,
    Brief,
    BrokenChart,
    ChapterPlan,
    ChartSpec,
    ClarificationQuestion,
    Conclusion,
    Digest,
    Dimensions,
    Draft,
    Finding,
    Findings,
    HeldStretch,
    Inquiry,
    Judgement,
    Plan,
    QueryRequest,
    ReadingRequest,
    Reflection,
    SectionPlan,
    SectionWork,
    SentenceEdit,
    Support,
)
from deep_research.report.paragraph import Paragraph
from deep_research.report.sources.hit import SearchQuery
from deep_research.value import Value, digest

Result = TypeVar("Result")
_LONG_ACTS = frozenset({"plan", "outline", "draft", "answer", "conclude", "analyze"})


class ScriptedReasoner(ExtractiveReasoner):
    """Plans the given sections and is not satisfied before the given round; asks back as often as it is told to."""

    def __init__(
        self, *, sections: tuple[str, ...] = ("Costs", "Results"), rounds: int = 2, questions: int = 0
    ) -> None:
        super().__init__()
        self._sections = sections
        self._rounds = rounds
        self._questions = questions

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Ask until the scripted number of questions was answered."""
        if len(inquiry.exchanges) >= self._questions:
            return await super().assess(inquiry)
        question = ClarificationQuestion(
            question=f"Which aspect matters most ({len(inquiry.exchanges) + 1})?",
            options=self._sections,
            missing_info="focus",
        )
        return Assessment(next_action="NEED_CLARIFICATION", confidence=0.3, clarification=question)

    async def plan(self, brief: Brief) -> Plan:
        """Plan the scripted sections."""
        sections = tuple(SectionPlan(title=title, description=brief.question) for title in self._sections)
        return Plan(research_title=brief.question.rstrip("?？"), sections=sections)

    async def queries(self, request: QueryRequest) -> tuple[SearchQuery, ...]:
        """Number the queries of a round."""
        numbers = range(1, request.count + 1)
        return tuple(SearchQuery(query=f"{request.section.title} {request.round}.{number}") for number in numbers)

    async def reflect(self, work: SectionWork) -> Reflection:
        """Be satisfied with the scripted round."""
        is_enough = work.round >= self._rounds
        score = 7 if is_enough else 4
        gaps = () if is_enough else (f"{work.section.title} after round {work.round}",)
        return Reflection(
            is_sufficient=is_enough,
            overall_score=score,
            dimensions=Dimensions.from_json(dict.fromkeys(Dimensions.model_fields, score)),
            gaps=gaps,
            reasoning="scripted",
        )


class CostedReasoner:
    """Judges like `inner`, but pays for each act through the model port first, as a model's reasoner would."""

    def __init__(self, model: ChatModel, *, inner: Reasoner | None = None) -> None:
        self._model = model
        self._inner: Reasoner = inner or ScriptedReasoner()

    async def _pay(self, act: str, asked: Value, judge: Callable[[], Awaitable[Result]]) -> Result:
        role: ModelRole = "thinking" if act in _LONG_ACTS else "task"
        prompt = digest(act, asked.to_json())[:16]
        await self._model.complete(ModelRequest(act=act, role=role, prompt=prompt, max_tokens=1))
        return await judge()

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Pay, then judge."""
        return await self._pay("assess", inquiry, lambda: self._inner.assess(inquiry))

    async def plan(self, brief: Brief) -> Plan:
        """Pay, then judge."""
        return await self._pay("plan", brief, lambda: self._inner.plan(brief))

    async def queries(self, request: QueryRequest) -> tuple[SearchQuery, ...]:
        """Pay, then judge."""
        return await self._pay("queries", request, lambda: self._inner.queries(request))

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Pay, then judge."""
        return await self._pay("extract", reading, lambda: self._inner.extract(reading))

    async def compress(self, work: SectionWork) -> Digest:
        """Pay, then judge."""
        return await self._pay("compress", work, lambda: self._inner.compress(work))

    async def reflect(self, work: SectionWork) -> Reflection:
        """Pay, then judge."""
        return await self._pay("reflect", work, lambda: self._inner.reflect(work))

    async def analyze(self, findings: Findings) -> Analysis:
        """Pay, then judge."""
        return await self._pay("analyze", findings, lambda: self._inner.analyze(findings))

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        """Pay, then judge."""
        return await self._pay("plan_charts", findings, lambda: self._inner.plan_charts(findings))

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        """Pay, then judge."""
        return await self._pay("repair_chart", broken, lambda: self._inner.repair_chart(broken))

    async def outline(self, findings: Findings) -> tuple[ChapterPlan, ...]:
        """Pay, then judge."""
        return await self._pay("outline", findings, lambda: self._inner.outline(findings))

    async def draft(self, findings: Findings) -> tuple[Paragraph, ...]:
        """Pay, then judge."""
        return await self._pay("draft", findings, lambda: self._inner.draft(findings))

    async def answer(self, draft: Draft) -> tuple[Paragraph, ...]:
        """Pay, then judge."""
        return await self._pay("answer", draft, lambda: self._inner.answer(draft))

    async def judge(self, support: Support) -> tuple[Judgement, ...]:
        """Pay, then judge."""
        return await self._pay("judge", support, lambda: self._inner.judge(support))

    async def find_held(self, check: AbsenceCheck) -> tuple[HeldStretch, ...]:
        """Pay, then judge."""
        return await self._pay("find_held", check, lambda: self._inner.find_held(check))

    async def edit(self, draft: Draft) -> tuple[SentenceEdit, ...]:
        """Pay, then judge."""
        return await self._pay("edit", draft, lambda: self._inner.edit(draft))

    async def conclude(self, draft: Draft) -> Conclusion:
        """Pay, then judge."""
        return await self._pay("conclude", draft, lambda: self._inner.conclude(draft))

    async def recall(self, brief: Brief) -> str:
        """Pay, then judge."""
        return await self._pay("recall", brief, lambda: self._inner.recall(brief))
