"""What a model is asked before and between searches: is the question clear, which sections, which queries.

Whether a judged question may be researched is decided by the same thresholds as without a model.
"""

import re
from collections.abc import Iterator
from json import dumps

from deep_research.reasoning.model.acts import NONE, ModelActs, fenced_question, listed, searched, section_notes
from deep_research.reasoning.model.answers import AssessAnswer, PlanAnswer, QueriesAnswer, item_at, padded, read_answer
from deep_research.reasoning.model.prompting import SOURCE_TAG, USER_TAG, Act, fenced, fit
from deep_research.reasoning.model.prose import is_in_language
from deep_research.reasoning.rules.question.analysis import checked_analysis, is_answered_first, outline_of_answer
from deep_research.reasoning.rules.question.clarifier import MIN_FOCUSES, clean_question, decide
from deep_research.reasoning.rules.question.signals import is_complex
from deep_research.reasoning.values import (
    Assessment,
    Brief,
    ClarificationQuestion,
    Inquiry,
    MapEntry,
    Plan,
    QueryRequest,
    RelatedText,
    SectionPlan,
    TaskBrief,
)
from deep_research.report.sources.hit import Priority, SearchQuery
from deep_research.text.messages.language import language_name
from deep_research.text.messages.words import words_in
from deep_research.web.search.registry import ENGINES

_ASSESS = Act("assess", "task", 900)
_PLAN = Act("plan", "thinking", 2_000)
_DEEP_PLAN_TOKENS = 5_000
_QUERIES = Act("queries", "task", 500)
_CONTEXT_CHARS = 6_000
# How many things a complete answer names, by the length of the report.
_WANTED_ENTRIES: dict[str, str] = {
    "short": "up to 5", "standard": "up to 15", "long": "25 to 40", "deep": "60 to 100, the most important first",
}  # fmt: skip
# Below this confidence something is missing.
_MIN_CONFIDENCE = 0.5
_MAX_OPTIONS, _MAX_FOCUSES = 4, 5
_MAX_QUESTION_CHARS = 2_000
# What a plan is shown of the documents: so many tokens, and so much of each.
_MAX_RELATED_CHARS, _PASSAGE_CHARS = 3_000, 320
# A section may use fewer queries than were planned: what matters most is asked first.
_RANKS: dict[Priority, int] = {"high": 0, "medium": 1, "low": 2}
_NAMED_SOURCES = re.compile(r"\s*\[([\w:.-]+(?:\s*,\s*[\w:.-]+)*)\]\s*$")
# Parts that the program adds to every report, and that a plan must not name.
_FIXED_PARTS = frozenset(
    "introduction abstract summary conclusion conclusions outlook references sources bibliography "
    "引言 前言 简介 簡介 摘要 总结 總結 结论 結論 结语 結語 展望 参考文献 參考文獻".split()
)


class PlanningByModel(ModelActs):
    """The three planning acts."""

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Judge the question; strict mode keeps to the letter of the rules, which need no model."""
        if inquiry.clarify == "strict":
            return await self.fallback.assess(inquiry)
        task = self._task(
            "clarify",
            AssessAnswer,
            question=fenced_question(clean_question(inquiry.question)),
            context=_conversation(inquiry),
            exchanges=listed([f"{one.question} → {one.answer}" for one in inquiry.exchanges]),
            known=", ".join(inquiry.known_terms) or NONE,
            unknown=", ".join(inquiry.unknown_terms) or NONE,
            focus="; ".join(inquiry.focus) or NONE,
            documents=listed([one.title for one in inquiry.held]),
            language=language_name(inquiry.language),
        )
        answer = await self._data(_ASSESS, AssessAnswer, task, problem_of=_problem_of_assessment)
        return _assessment(answer, inquiry)

    async def plan(self, brief: Brief) -> Plan:
        """Cut the question into sections with their queries; the user's own focuses are sections as they stand."""
        wanted = "Sections may follow the sides to look at, where those cover the question."
        if brief.has_own_focus:
            wanted = f"The sections are exactly these, in this order: {'; '.join(brief.focus)}."
        related = [_line_of(one) for one in (*await self.fallback.held(brief.question), *brief.found)]
        task = self._task(
            "plan",
            PlanAnswer,
            sections=wanted,
            documents=fenced(SOURCE_TAG, fit("\n".join(related), _MAX_RELATED_CHARS)[0]) if related else NONE,
            entries=_WANTED_ENTRIES[brief.length],
            sources=self._searched(),
            language=language_name(brief.language),
        )
        act = _PLAN._replace(max_tokens=_DEEP_PLAN_TOKENS) if brief.length == "deep" else _PLAN
        shared = [self._brief(brief)]
        answer = await self._data(
            act, PlanAnswer, task, shared=shared, problem_of=lambda answer: _problem_of_plan(answer, brief)
        )
        return _plan(answer, brief)

    async def queries(self, request: QueryRequest) -> tuple[SearchQuery, ...]:
        task = self._task(
            "queries",
            QueriesAnswer,
            section=section_notes(request.section),
            domains=listed(request.domains),
            round=str(request.round),
            gaps=listed(request.gaps),
            asked=listed(request.asked),
            count=str(request.count),
            sources=self._searched(),
        )
        steps = searched(request.asked, "write the next queries")
        shared = [self._brief(request.brief)]
        answer = await self._data(_QUERIES, QueriesAnswer, task, steps=steps, shared=shared)
        found = [_query(*row) for row in _rows(answer)]
        return tuple(found[: request.count])

    def _searched(self) -> str:
        """Return what queries are put to."""
        if not self.has_web:
            return "Only the asker's own documents are searched: use their words and their language."
        special = (
            f" Special sources, which a query may name behind it in brackets:\n{self.sources}" if self.sources else ""
        )
        return f"The asker's own documents, if there are any, and general web search are always asked.{special}"


def _conversation(inquiry: Inquiry) -> str:
    """Return what was said before the question; an earlier answer tells what sources say, and is marked as theirs."""
    said = [fenced(USER_TAG, inquiry.context[-_CONTEXT_CHARS:])] if inquiry.context else []
    if earlier := inquiry.earlier:
        said += [fenced(USER_TAG, earlier.title), fenced(SOURCE_TAG, earlier.text[:_CONTEXT_CHARS])]
    return "\n".join(said) or NONE


def _line_of(related: RelatedText) -> str:
    """Return a document's title, date and language and its best passage in one line."""
    facts = " — ".join(filter(None, (related.title, related.published[:10])))
    return f"- {facts}: {' '.join(related.text.split())[:_PASSAGE_CHARS]}"


def finished_titles(text: str) -> list[str]:
    """Return the sections of a plan that may still be being written, as far as their titles are complete."""
    answer, _ = read_answer(PlanAnswer, text)
    return [title for title in answer.sections if f'{title}"' in text or dumps(title)[1:] in text] if answer else []


def _problem_of_plan(answer: PlanAnswer, brief: Brief) -> str:
    """Return what makes a plan useless, in words that a model can mend it by; "" if nothing does."""
    plan = _plan(answer, brief)
    if not plan.sections:
        return "it names no section about the subject itself"
    text = "\n".join((plan.research_title, *(f"{part.title}. {part.description}" for part in plan.sections)))
    return "" if is_in_language(text, brief.language) else "its titles are in the wrong language"


def _rows(answer: PlanAnswer | QueriesAnswer) -> Iterator[tuple[str, str, str]]:
    return zip(answer.queries, padded(answer.goals), padded(answer.priorities), strict=False)


def _query(text: str, goal: str, word: str) -> SearchQuery:
    """Return a query; sources that its writer named behind it in brackets are taken off and kept beside it."""
    priorities: dict[str, Priority] = {"high": "high", "low": "low"}
    priority = priorities.get(word.lower(), "medium")
    named = _NAMED_SOURCES.search(text)
    names = tuple(dict.fromkeys(name.strip().lower() for name in named[1].split(","))) if named else ()
    query = SearchQuery(query=text, goal=goal, priority=priority)
    if named and all(name in ENGINES or name.startswith("mcp:") for name in names):
        return query.replace(query=text[: named.start()], engines=names)
    return query


def _plan(answer: PlanAnswer, brief: Brief) -> Plan:
    titles = list(brief.focus) if brief.has_own_focus else answer.sections
    if brief.analysis.is_precise and is_answered_first(brief):
        # One thing is asked for: an answer and what supports it.
        titles = list(outline_of_answer(brief.language))
    queries: dict[int, list[SearchQuery]] = {}
    for index, row in enumerate(_rows(answer)):
        # Queries without a section go to the sections one after another.
        number = min(item_at(answer.query_sections, index, index % len(titles) + 1), len(titles))
        queries.setdefault(number, []).append(_query(*row))
    sections = [
        SectionPlan(
            title=title,
            description=description,
            search_queries=tuple(sorted(queries.get(number, ()), key=lambda query: _RANKS[query.priority])),
        )
        for number, (title, description) in enumerate(zip(titles, padded(answer.descriptions), strict=False), start=1)
        if brief.has_own_focus or title.strip(" .:：").casefold() not in _FIXED_PARTS | {""}
    ]
    return Plan(
        research_title=answer.title or brief.question,
        goal=answer.goal or brief.goal,
        scope=answer.scope,
        domains=tuple(answer.domains),
        entries=tuple(
            MapEntry(name=name, section=titles[min(item_at(answer.entry_sections, index, 1), len(titles)) - 1])
            for index, name in enumerate(answer.entries)
        ),
        sections=tuple({section.title.casefold(): section for section in reversed(sections)}.values())[::-1],
    )


def _problem_of_assessment(answer: AssessAnswer) -> str:
    """Return what is missing: an answer that broke off can be read, and would be taken for doubt about the question."""
    fields = (answer.goal, answer.question, answer.impossible, *answer.unknown_terms, *answer.focuses)
    return "" if any(map(str.strip, fields)) else 'it has no "goal", no "focuses" and no "question"'


def _assessment(answer: AssessAnswer, inquiry: Inquiry) -> Assessment:
    """Return the assessment; what the model inferred is listed as an assumption, for the user to correct."""
    words = words_in(inquiry.language)
    goal = answer.goal.strip()
    focuses = tuple(dict.fromkeys((*inquiry.focus, *answer.focuses)))[:_MAX_FOCUSES]
    # Only the user's own words count, and only as long as no search has found them.
    asked = " ".join((inquiry.question, *(one.answer for one in inquiry.exchanges)))
    found = {term.casefold() for term in inquiry.known_terms}
    named = (term for term in answer.unknown_terms if term.casefold() in asked.casefold())
    unknown = tuple(term for term in named if term.casefold() not in found)
    is_doubted = not (answer.topic_explicit and answer.scope_inferable and answer.goal_clear)
    action = decide(
        # Who sees a gap and knows what to ask is not sure, whatever figure stands beside it.
        confidence=0.0 if is_doubted and answer.question.strip() else answer.confidence,
        goal=goal,
        focuses=len(focuses),
        unknown_terms=unknown,
        looked_up=inquiry.unknown_terms,
        is_complex=is_complex(inquiry.question),
        is_possible=not answer.impossible.strip() or answer.confidence >= _MIN_CONFIDENCE,
    )
    if inquiry.clarify == "off" and action != "CANNOT_DO":
        action = "START_RESEARCH"
    # A question that is complete in itself is researched as it stands: another wording asks for something else.
    is_in_talk = inquiry.context or inquiry.earlier or inquiry.exchanges
    refined = answer.refined_question.strip() if is_in_talk else ""
    inferred = [focus for focus in focuses if focus not in inquiry.focus]
    assumptions = []
    if refined and _letters(refined) != _letters(inquiry.question):
        assumptions.append(words("clarify.assume_question", question=refined))
    if inferred:
        assumptions.append(words("clarify.assume_focus", focus=words("report.list_separator").join(inferred)))
    is_possible, said = action != "CANNOT_DO", f"{asked} {_conversation(inquiry)}"
    # Where the model asks nothing, whoever asks has a question by rules.
    clarification = ClarificationQuestion(
        question=answer.question.strip(),
        options=tuple(answer.options)[:_MAX_OPTIONS],
        missing_info="scope" if goal else "goal",
    )
    return Assessment(
        next_action=action,
        confidence=answer.confidence,
        topic_clear=answer.topic_explicit,
        scope_inferable=answer.scope_inferable and len(focuses) >= MIN_FOCUSES,
        goal_clear=answer.goal_clear and bool(goal),
        unknown_terms=unknown,
        task=TaskBrief(goal=goal, research_focus=focuses) if is_possible else TaskBrief(),
        clarification=clarification if clarification.question and action == "NEED_CLARIFICATION" else None,
        reasoning="" if is_possible else answer.impossible.strip(),
        refined_query=refined if len(refined) <= _MAX_QUESTION_CHARS else "",
        assumptions=tuple(assumptions) if is_possible else (),
        analysis=checked_analysis(answer.model_dump(), refined or inquiry.question, asked=said),
        breadth=answer.breadth,
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
