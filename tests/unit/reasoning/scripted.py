"""A model's reasoner over scripted answers, and what it is given."""

import json
from collections.abc import Sequence

from deep_research.llm.port import ModelReply, ModelRequest, OnDelta, StopReason
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.prompting import PromptOptions, Prompts
from deep_research.reasoning.model.reasoner import ModelReasoner
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import (
    Brief,
    Findings,
    Plan,
    SectionPlan,
    SectionWork,
)
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.request import Language, Spend
from tests.support.analyst import answer_in_form

Script = Sequence[str | tuple[str, StopReason]]


class Scripted:
    """A model that gives the listed answers in turn, then answers in form."""

    name = "scripted:list"
    unpriced: tuple[str, ...] = ()

    def __init__(self, answers: Script = ()) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []

    def estimate(self, request: ModelRequest) -> Spend:
        return Spend(tokens=tokens_at_most(request.text) + request.max_tokens)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        self.requests.append(request)
        given = self._answers.pop(0) if self._answers else answer_in_form(request)
        text, stop = given if isinstance(given, tuple) else (given, "stop")
        return ModelReply(text=text, stop=stop, model=self.name, tokens_in=1, tokens_out=1, usd=0.0)


def reasoner_of(model: Scripted, options: PromptOptions | None = None) -> ModelReasoner:
    return ModelReasoner(model, prompts=Prompts(), options=options or PromptOptions(), fallback=ExtractiveReasoner())


def brief_of(language: Language = "en", question: str = "What did the harbour retrofit cost?") -> Brief:
    return Brief(question=question, original=question, language=language)


def piece_of(number: int, quote: str = "") -> Evidence:
    text = quote or f"The retrofit of harbour {number} cost €{number * 3}.4 million in total."
    return Evidence(
        id=f"id{number:04}",
        document=f"d{number % 7}",
        start=0,
        end=len(text),
        quote=text,
        finding=text,
        section="Costs",
        score=number % 5,
    )


def work_of(pieces: int = 4, language: Language = "en", **more: object) -> SectionWork:
    work = SectionWork(
        brief=brief_of(language),
        section=SectionPlan(title="Costs", description="What did it cost?"),
        evidence=tuple(piece_of(number) for number in range(1, pieces + 1)),
        round=1,
        asked=("harbour retrofit cost",),
    )
    return work.model_copy(update=more)


def findings_of(work: SectionWork | None = None, **more: object) -> Findings:
    work = work or work_of()
    found = Findings(brief=work.brief, plan=Plan(research_title="T", sections=(work.section,)), sections=(work,))
    return found.model_copy(update=more)


def told(*sentences: Sentence, section: str = "Costs") -> Paragraph:
    return Paragraph(section=section, sentences=sentences)


SCORES = {"coverage": 8, "depth": 6, "diversity": 3, "consistency": 9, "recency": 5}
REFLECTION = json.dumps({**SCORES, "added": "It cost €3.4 million."})
