"""Intake: from a question to a brief with stated assumptions, or to one question back."""

from deep_research.documents.corpus.port import Corpus
from deep_research.errors import ClarificationFailed
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.control import is_no_option
from deep_research.pipeline.earlier import Earlier, bring_along
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.question.clarifier import MIN_FOCUSES, START_FOCUSES, Doubt, ask, is_no_preference
from deep_research.reasoning.rules.question.clarifier import assess as assess_by_rules
from deep_research.reasoning.rules.question.intake_rules import find_vague_word, focus_by_rule, spelled_out
from deep_research.reasoning.rules.question.material import related_texts
from deep_research.reasoning.rules.question.signals import ASKED_DEFAULTS, focus_names, rare_terms
from deep_research.reasoning.rules.question.spelling import respellings
from deep_research.reasoning.values import (
    Assessment,
    Brief,
    ClarificationQuestion,
    Exchange,
    Inquiry,
    RelatedText,
    Strings,
    TaskBrief,
)
from deep_research.report.sources.hit import Hit
from deep_research.request import Language, ResearchRequest
from deep_research.text.messages.words import words_in

MAX_CLARIFICATION_ROUNDS = 3
_RECORDED = ("question", "context", "exchanges", "known_terms", "unknown_terms")


def inquiry_from(
    request: ResearchRequest,
    state: DeepResearchState,
    *,
    documents: tuple[RelatedText, ...] = (),
    earlier: Earlier | None = None,
) -> Inquiry:
    """Return what intake knows; focuses that the user's rules set for such a question count as the user's own."""
    asked = " ".join((request.question, *(exchange.answer for exchange in state.exchanges)))
    return Inquiry(
        question=request.question,
        context=request.context,
        earlier=earlier.as_related_text if earlier else None,
        subject=earlier.subject if earlier else "",
        language=state.language,
        clarify="off" if request.assume else request.clarify,
        focus=state.focus or request.focus or focus_by_rule(request.rules, asked),
        exchanges=state.exchanges,
        known_terms=(*state.known_terms, *request.rules.terms),
        unknown_terms=state.unknown_terms,
        rules=request.rules,
        held=documents,
    )


async def intake(state: DeepResearchState, context: StageContext) -> Update:
    """Judge the question: research it, look terms up first, ask the user, or say that it cannot be done."""
    request, corpus = context.request, context.adapters.corpus
    today = f"{context.run.row.created_at:%Y-%m-%d}"
    if request.update:
        # What was asked and assumed stays; only the day is another.
        # Briefs of earlier versions have no depth: that of the request is theirs.
        brief = Brief.from_json({"depth": request.depth} | request.update.brief).replace(today=today)
        return _update(Assessment(next_action="START_RESEARCH", confidence=1.0, assumptions=brief.assumptions), brief)
    followed = state.earlier or (await bring_along(context) if request.follow else "")
    earlier = await context.records.load(Earlier, followed) if followed else None
    known = (*state.known_terms, *(await _met_before(request.question, earlier, context)))
    documents = await related_texts(corpus, request.question) if corpus else ()
    inquiry = inquiry_from(request, state.replace(known_terms=known), documents=documents, earlier=earlier)
    assessment = await assess(inquiry, context)
    breadth = assessment.breadth
    if breadth == "field" and not context.adapters.has_web and await context.adapters.has_small_folder():
        # So little is read in no time, and tells no more.
        breadth = "comparison"
    depth, length = request.extent(breadth, has_model=bool(context.adapters.models))
    brief = brief_from(inquiry, assessment, today=today).replace(depth=depth, length=length)
    if assessment.is_clear and corpus:
        brief = await as_spelled(brief, corpus)
    record = {key: value for key, value in inquiry.to_json().items() if key in _RECORDED}
    record |= {
        "refined_question": brief.question,
        "next_action": assessment.next_action,
        "assumptions": list(assessment.assumptions),
        "assessment": assessment.to_json(),
        "analysis": brief.analysis.to_json(),
    }
    await context.run.folder.write_json("clarify.json", record)
    if assessment.next_action == "CANNOT_DO":
        raise ClarificationFailed(assessment.reasoning)
    return _update(assessment, brief) | {"earlier": followed}


async def _met_before(question: str, earlier: Earlier | None, context: StageContext) -> list[str]:
    """Return the rare terms of a question that a document of an earlier run holds: they need not be looked up."""
    known = []
    documents = dict.fromkeys(earlier.documents.values()) if earlier else {}
    for term in rare_terms(question):
        for document in documents:
            if term.casefold() in (await context.records.document(document)).text.casefold():
                known.append(term)
                break
    return known


def _update(assessment: Assessment, brief: Brief) -> Update:
    return {
        "assessment": assessment,
        "brief": brief,
        "clarified_query": brief.question,
        "max_iterations": brief.depth.max_iterations,
        "is_clarified": assessment.is_clear,
        "pending_question": assessment.clarification_question,
    }


async def assess(inquiry: Inquiry, context: StageContext) -> Assessment:
    """Judge the question, and bring the judgement in line with what the user allows, whoever judged."""
    has_model = bool(context.adapters.models)
    by_rules = assess_by_rules(inquiry) if has_model else await context.reason(Reasoner.assess, inquiry)
    if by_rules.next_action == "CANNOT_DO":
        return by_rules
    # Strict is to the letter of the rules, and the user's own vague words are vague, whatever a model thinks of them.
    is_gated = inquiry.clarify == "strict" or find_vague_word(inquiry.rules, inquiry.question)
    if is_gated and by_rules.next_action == "NEED_CLARIFICATION" and may_ask(inquiry):
        return by_rules
    assessment = await context.reason(Reasoner.assess, inquiry) if has_model else by_rules
    if assessment.next_action == "CANNOT_DO":
        return assessment
    return final_assessment(assessment, by_rules, inquiry)


def final_assessment(assessment: Assessment, by_rules: Assessment, inquiry: Inquiry) -> Assessment:
    """Look terms up once, ask three times at most, and never who does not want to be asked.

    What the judge left out is filled in by the rules: the question to be asked, or what research starts from unasked.
    """
    action = assessment.next_action
    if action == "VERIFY_TOPIC":
        strange = [term for term in assessment.unknown_terms if term not in inquiry.known_terms]
        if not strange or inquiry.clarify == "off":
            action = "START_RESEARCH"
        elif all(term in inquiry.unknown_terms for term in strange):
            action = "NEED_CLARIFICATION"
        assessment = assessment.replace(unknown_terms=tuple(strange))
    if action == "NEED_CLARIFICATION" and not may_ask(inquiry):
        action = "START_RESEARCH"
    if action == "VERIFY_TOPIC":
        return assessment
    if action == "NEED_CLARIFICATION":
        asked, ours = assessment.clarification, by_rules.clarification
        has_own_words = bool(inquiry.rules.questions or inquiry.rules.options)
        question = (ours or asked if has_own_words else asked or ours) or _any_question(assessment, inquiry)
        return assessment.replace(next_action=action, clarification=question)
    task = assessment.task if assessment.task.goal else by_rules.task
    focus, inferred = _enough(task.research_focus, inquiry.language)
    words = words_in(inquiry.language)
    spelled = spelled_out(assessment.refined_query, inquiry.rules, words)
    assumptions = assessment.assumptions
    if not assumptions and not assessment.is_clear:
        assumptions = by_rules.assumptions
    assumptions += spelled.assumptions
    if inferred:
        assumptions += (words("clarify.assume_focus", focus=words.listed(inferred)),)
    return assessment.replace(
        next_action=action,
        task=TaskBrief(goal=task.goal, research_focus=focus),
        refined_query=spelled.text,
        assumptions=assumptions,
        clarification=None,
    )


def _enough(focus: Strings, language: Language) -> tuple[Strings, Strings]:
    """Return the focuses with a third beside two, and what was inferred."""
    if len(focus) != MIN_FOCUSES:
        return focus, ()
    names = focus_names(ASKED_DEFAULTS, words_in(language))
    inferred = tuple(name for name in names if name not in focus)[: START_FOCUSES - len(focus)]
    return (*focus, *inferred), inferred


def _any_question(assessment: Assessment, inquiry: Inquiry) -> ClarificationQuestion:
    """Return the question that fits where a judge says that one is needed and not which."""
    terms = assessment.unknown_terms
    doubt = Doubt("term", terms[0]) if terms else Doubt("aspect", inquiry.question)
    return ask(doubt, words_in(inquiry.language), inquiry.rules)


def may_ask(inquiry: Inquiry) -> bool:
    """Say whether the user may be asked once more."""
    if inquiry.clarify == "off" or len(inquiry.exchanges) >= MAX_CLARIFICATION_ROUNDS:
        return False
    return not any(is_no_preference(exchange.answer) for exchange in inquiry.exchanges)


def brief_from(inquiry: Inquiry, assessment: Assessment, *, today: str) -> Brief:
    """Return the question as it will be researched; what was inferred is listed as an assumption."""
    answers = [exchange.answer for exchange in inquiry.exchanges if not is_no_preference(exchange.answer)]
    question = assessment.refined_query or " — ".join([inquiry.question, *answers])
    own = inquiry.focus or inquiry.rules.default_focus
    return Brief(
        question=question,
        original=inquiry.question,
        language=inquiry.language,
        today=today,
        goal=assessment.task.goal,
        focus=own or assessment.task.research_focus,
        has_own_focus=bool(own),
        assumptions=assessment.assumptions,
        analysis=assessment.analysis or analyze_question(question),
    )


async def as_spelled(brief: Brief, corpus: Corpus) -> Brief:
    """Return the brief with names spelled as the documents spell them; each is listed as an assumption."""
    found, words = await respellings(brief.analysis.names, corpus), words_in(brief.language)

    def respelled(text: str) -> str:
        for asked, known in found:
            text = text.replace(asked, known)
        return text

    assumed = tuple(words("clarify.assume_reference", phrase=asked, name=known) for asked, known in found)
    analysis = {key: tuple(map(respelled, getattr(brief.analysis, key))) for key in ("parts", "excluded", "names")}
    return brief.replace(
        question=respelled(brief.question),
        assumptions=(*brief.assumptions, *assumed),
        analysis=brief.analysis.replace(**analysis),
    )


def exchange_from(question: ClarificationQuestion, answer: str, *, is_strict: bool) -> Exchange:
    """Return the user's answer; in strict mode one that says nothing ends the run."""
    if is_strict and (is_no_preference(answer) or is_no_option(answer, len(question.options))):
        raise ClarificationFailed(
            "The question was not answered, and clarify is strict: answer it in words or by an option's number, "
            "or use --clarify auto."
        )
    return Exchange(question=question.question, answer=answer)


def names_it(hit: Hit, term: str) -> bool:
    """Say whether a hit is about a term: an engine may return what only resembles it. What was cut off may be."""
    text = f"{hit.title} {hit.snippet}".casefold()
    return term.casefold() in text or not hit.snippet or hit.snippet.endswith(("…", "..."))
