"""What a model is asked before and between searches: is the question clear, which sections, which queries."""

import re
from typing import Final

from deep_research.reasoning.model.answers import AssessAnswer, PlanAnswer, QueriesAnswer
from deep_research.reasoning.model.prompting import ASKER_TAG, fenced
from deep_research.reasoning.model.prose import is_in_language
from deep_research.reasoning.model.step import LANGUAGES, NONE, ModelSteps, Step, listed, section_notes, shortened
from deep_research.reasoning.model.sufficiency import assessment_from
from deep_research.reasoning.rules.clarifier import clean_question
from deep_research.reasoning.values import Assessment, Brief, Inquiry, Plan, QueryWish, SectionPlan
from deep_research.search.registry import ENGINES
from deep_research.sources.hit import Priority, SearchQuery

_ASSESS = Step("assess", "task", 700)
_PLAN = Step("plan", "thinking", 1_500)
_QUERIES = Step("queries", "task", 500)
_CONTEXT_CHARS = 6_000
_NAMED_SOURCES: Final = re.compile(r"\s*\[([\w:.-]+(?:\s*,\s*[\w:.-]+)*)\]\s*$")
# Parts that the program adds to every report, and that a plan must not name.
_FIXED_PARTS = frozenset(
    "introduction abstract summary conclusion conclusions outlook references sources bibliography "
    "引言 前言 简介 簡介 摘要 总结 總結 结论 結論 结语 結語 展望 参考文献 參考文獻".split()
)


class PlanningByModel(ModelSteps):
    """The three planning acts."""

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Judge the question; strict mode keeps to the letter of the rules, which need no model."""
        if inquiry.clarify == "strict":
            return await self._stand_in.assess(inquiry)
        question = clean_question(inquiry.question)
        task = self._prompts.fill(
            "clarify",
            question=fenced(ASKER_TAG, shortened(question, 1_500)),
            context=fenced(ASKER_TAG, inquiry.context[-_CONTEXT_CHARS:]) if inquiry.context else NONE,
            exchanges=listed([f"{one.question} → {one.answer}" for one in inquiry.exchanges]),
            known=", ".join(inquiry.known_terms) or NONE,
            unknown=", ".join(inquiry.unknown_terms) or NONE,
            focus="; ".join(inquiry.focus) or NONE,
            language=LANGUAGES[inquiry.language],
            format=AssessAnswer.in_words(),
        )
        answer = await self._data(
            _ASSESS, AssessAnswer, self._context.tail("assess", task), problem_of=_problem_of_assessment
        )
        return assessment_from(answer, inquiry)

    async def plan(self, brief: Brief) -> Plan:
        """Cut the question into sections with their queries; the asker's own focuses are sections as they stand."""
        wanted = "Sections may follow the sides to look at, where those cover the question."
        if brief.has_own_focus:
            wanted = f"The sections are exactly these, in this order: {'; '.join(brief.focus)}."
        task = self._prompts.fill(
            "plan",
            sections=wanted,
            sources=self._sources or NONE,
            language=LANGUAGES[brief.language],
            format=PlanAnswer.in_words(),
        )
        answer = await self._data(
            _PLAN,
            PlanAnswer,
            self._context.tail("plan", task),
            shared=[self._brief(brief)],
            problem_of=lambda answer: _problem(answer, brief),
        )
        return _plan(answer, brief)

    async def queries(self, wish: QueryWish) -> tuple[SearchQuery, ...]:
        """Write queries for a section, or for the gaps it has left."""
        task = self._prompts.fill(
            "queries",
            section=section_notes(wish.section),
            domains=listed(wish.domains),
            round=str(wish.round),
            gaps=listed(wish.gaps),
            asked=listed(wish.asked),
            count=str(wish.count),
            sources=self._sources or NONE,
            format=QueriesAnswer.in_words(),
        )
        steps = [(f"search for: {query}", True) for query in wish.asked]
        tail = self._context.tail("queries", task, steps=[*steps, ("write the next queries", False)])
        answer = await self._data(_QUERIES, QueriesAnswer, tail, shared=[self._brief(wish.brief)])
        found = [
            _query(text, goal=_at(answer.goals, place), priority=_priority(_at(answer.priorities, place)))
            for place, text in enumerate(answer.queries)
        ]
        return tuple(found[: wish.count])


def _problem(answer: PlanAnswer, brief: Brief) -> str:
    """Return what makes a plan useless, in words that a model can mend it by; "" if nothing does."""
    plan = _plan(answer, brief)
    if not plan.sections:
        return "it names no section about the subject itself"
    told = "\n".join((plan.research_title, *(f"{part.title}. {part.description}" for part in plan.sections)))
    return "" if is_in_language(told, brief.language) else "its titles are in the wrong language"


def _query(text: str, *, goal: str, priority: Priority) -> SearchQuery:
    """Return a query; sources that its writer named behind it in brackets are taken off and kept beside it."""
    named = _NAMED_SOURCES.search(text)
    names = [name.strip().lower() for name in named[1].split(",")] if named else []
    if named is None or not all(name in ENGINES or name.startswith("mcp:") for name in names):
        return SearchQuery(query=text, goal=goal, priority=priority)
    return SearchQuery(query=text[: named.start()], goal=goal, priority=priority, engines=tuple(dict.fromkeys(names)))


def _plan(answer: PlanAnswer, brief: Brief) -> Plan:
    titles = list(brief.focus) if brief.has_own_focus else answer.sections
    queries: dict[int, list[SearchQuery]] = {}
    for place, text in enumerate(answer.queries):
        # A query whose section is not told goes to the sections in turn.
        number = answer.query_sections[place] if place < len(answer.query_sections) else place % len(titles) + 1
        queries.setdefault(number, []).append(_query(text, goal="", priority="high"))
    sections = [
        SectionPlan(
            title=title,
            description=_at(answer.descriptions, place),
            search_queries=tuple(queries.get(place + 1, ())),
        )
        for place, title in enumerate(titles)
        if brief.has_own_focus or title.strip(" .:：").casefold() not in _FIXED_PARTS | {""}
    ]
    return Plan(
        research_title=answer.title or brief.question,
        goal=answer.goal or brief.goal,
        scope=answer.scope,
        domains=tuple(answer.domains),
        sections=tuple({section.title.casefold(): section for section in reversed(sections)}.values())[::-1],
    )


def _at(items: list[str], place: int) -> str:
    return items[place] if place < len(items) else ""


def _priority(word: str) -> Priority:
    return "high" if word.lower() == "high" else "low" if word.lower() == "low" else "medium"


def _problem_of_assessment(answer: AssessAnswer) -> str:
    """Say what is missing: an answer that broke off can be read, and would be taken for doubt about the question."""
    told = (answer.goal, answer.question, answer.impossible, *answer.unknown_terms, *answer.focuses)
    return "" if any(map(str.strip, told)) else 'it has no "goal", no "focuses" and no "question"'
