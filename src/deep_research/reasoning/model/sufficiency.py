"""From a model's judgement of a question to an assessment; the thresholds are the same rules' as without a model."""

from deep_research.messages.words import words
from deep_research.reasoning.model.answers import AssessAnswer
from deep_research.reasoning.rules.clarifier import decide
from deep_research.reasoning.rules.topic_signals import is_complex
from deep_research.reasoning.values import Assessment, ClarificationQuestion, Inquiry, TaskBrief

# SPEC I3: below this something is missing.
_LEAST_CONFIDENCE = 0.5
_TELLING_FOCUSES = 2
_MOST_OPTIONS, _MOST_FOCUSES = 4, 5
_MOST_QUESTION_CHARS = 2_000


def assessment_from(answer: AssessAnswer, inquiry: Inquiry) -> Assessment:
    """Return the assessment; what the model inferred is listed as an assumption, for the asker to correct."""
    say = words(inquiry.language)
    goal = answer.goal.strip()
    focuses = tuple(dict.fromkeys((*inquiry.focus, *answer.focuses)))[:_MOST_FOCUSES]
    unknown = _unknown_terms(answer, inquiry)
    action = decide(
        confidence=answer.confidence,
        goal=goal,
        focuses=len(focuses),
        unknown_terms=unknown,
        looked_up=inquiry.unknown_terms,
        is_complex=is_complex(inquiry.question),
        is_possible=not answer.impossible.strip() or answer.confidence >= _LEAST_CONFIDENCE,
    )
    if inquiry.clarify == "off" and action != "CANNOT_DO":
        action = "START_RESEARCH"
    refined = answer.refined_question.strip()
    inferred = [focus for focus in focuses if focus not in inquiry.focus]
    assumed = say("clarify.assume_focus", focus=say("report.list_separator").join(inferred)) if inferred else ""
    is_possible = action != "CANNOT_DO"
    return Assessment(
        next_action=action,
        confidence=answer.confidence,
        topic_clear=answer.confidence >= _LEAST_CONFIDENCE,
        scope_inferable=len(focuses) >= _TELLING_FOCUSES,
        goal_clear=bool(goal),
        unknown_terms=unknown,
        task=TaskBrief(goal=goal, research_focus=focuses) if is_possible else TaskBrief(),
        clarification=_question(answer) if action == "NEED_CLARIFICATION" else None,
        reasoning="" if is_possible else answer.impossible.strip(),
        refined_query=refined if len(refined) <= _MOST_QUESTION_CHARS else "",
        assumptions=tuple(line for line in (_researched_as(refined, inquiry), assumed) if line and is_possible),
    )


def _researched_as(refined: str, inquiry: Inquiry) -> str:
    """Say how the question was understood, where that is not how it was asked."""
    if not refined or _letters(refined) == _letters(inquiry.question):
        return ""
    return words(inquiry.language)("clarify.assume_question", question=refined)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _unknown_terms(answer: AssessAnswer, inquiry: Inquiry) -> tuple[str, ...]:
    """Return the names that the model does not know and no search has found; only the asker's own words count."""
    asked = " ".join((inquiry.question, *(one.answer for one in inquiry.exchanges))).casefold()
    found = {term.casefold() for term in inquiry.known_terms}
    return tuple(term for term in answer.unknown_terms if term.casefold() in asked and term.casefold() not in found)


def _question(answer: AssessAnswer) -> ClarificationQuestion | None:
    """Return the model's question; where it has none, whoever asks has one by rules."""
    asked = answer.question.strip()
    missing = "scope" if answer.goal.strip() else "goal"
    options = tuple(answer.options)[:_MOST_OPTIONS]
    return ClarificationQuestion(question=asked, options=options, missing_info=missing) if asked else None
