"""Intake: from a question to a brief with stated assumptions, or to one question back (SPEC section 1)."""

from deep_research.errors import ClarificationFailed
from deep_research.pipeline.context import Ports
from deep_research.reasoning.topic_folding import is_no_preference
from deep_research.reasoning.values import Assessment, Brief, Exchange, Inquiry
from deep_research.request import ReportLength
from deep_research.value import canonical_json

MAX_CLARIFICATION_ROUNDS = 3


async def assess(inquiry: Inquiry, *, ports: Ports) -> Assessment:
    """Judge the question and bring the judgement in line with what the asker allows."""
    assessment = await ports.reason("assess", lambda reasoner: reasoner.assess(inquiry))
    if assessment.next_action == "CANNOT_DO":
        raise ClarificationFailed(assessment.reasoning)
    if assessment.next_action == "VERIFY_TOPIC" and not _unseen(assessment, inquiry):
        assessment = assessment.model_copy(update={"next_action": "NEED_CLARIFICATION"})
    if assessment.next_action == "NEED_CLARIFICATION" and not may_ask(inquiry):
        assessment = assessment.model_copy(update={"next_action": "START_RESEARCH"})
    return assessment


def _unseen(assessment: Assessment, inquiry: Inquiry) -> list[str]:
    """Return the unknown terms that were not looked up yet."""
    return [term for term in assessment.unknown_terms if term not in (*inquiry.known_terms, *inquiry.unknown_terms)]


def may_ask(inquiry: Inquiry) -> bool:
    """Say whether the asker may be asked once more."""
    if inquiry.clarify == "off" or len(inquiry.exchanges) >= MAX_CLARIFICATION_ROUNDS:
        return False
    return not any(is_no_preference(exchange.answer) for exchange in inquiry.exchanges)


def brief_from(inquiry: Inquiry, assessment: Assessment, *, length: ReportLength = "standard") -> Brief:
    """Return the question as it will be researched; what was inferred is listed as an assumption."""
    answers = [exchange.answer for exchange in inquiry.exchanges if not is_no_preference(exchange.answer)]
    question = assessment.refined_query or " — ".join([inquiry.question, *answers])
    return Brief(
        question=question,
        original=inquiry.question,
        language=inquiry.language,
        goal=assessment.task.goal,
        focus=inquiry.focus or assessment.task.research_focus,
        has_own_focus=bool(inquiry.focus),
        length=length,
        assumptions=assessment.assumptions,
    )


async def save_clarification(inquiry: Inquiry, assessment: Assessment, *, ports: Ports) -> None:
    """Write `clarify.json` (SPEC I8)."""
    record = {
        "question": inquiry.question,
        "exchanges": [exchange.to_json() for exchange in inquiry.exchanges],
        "assessment": assessment.to_json(),
    }
    await ports.run.folder.write("clarify.json", canonical_json(record) + "\n")


def exchange_from(question: str, answer: str, *, is_strict: bool) -> Exchange:
    """Return the asker's answer; in strict mode an empty one ends the run."""
    if is_strict and is_no_preference(answer):
        raise ClarificationFailed(
            "The question was not answered, and clarify is strict: answer it, or use --clarify auto."
        )
    return Exchange(question=question, answer=answer)
