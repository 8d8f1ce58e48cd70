"""`ExtractiveReasoner`: research without a model. It selects sentences, trims and orders them, and never writes one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import NamedTuple

from deep_research.documents.corpus.port import Corpus, Listed, PassageHit
from deep_research.reasoning.rules.question.analysis import (
    has_one_subject,
    has_short_outline,
    is_answered_first,
    is_short_answer,
    is_topic,
    outline_of_answer,
)
from deep_research.reasoning.rules.question.clarifier import assess
from deep_research.reasoning.rules.question.material import names_document, related_texts, topic_part, without_commands
from deep_research.reasoning.rules.question.phrases import phrases
from deep_research.reasoning.rules.question.queries import shared_queries, typed_queries
from deep_research.reasoning.rules.question.sections import aspect_of, aspects_named, sections_of
from deep_research.reasoning.rules.quoting.answer import AnswerSought, answering_parts, beside_in_columns, sought_parts
from deep_research.reasoning.rules.quoting.drafting import (
    abstract_of,
    answer_of,
    best_of_sections,
    joined,
    paragraphs_of,
    supporting,
    within_room,
    worths_for,
)
from deep_research.reasoning.rules.quoting.offering import offered_first
from deep_research.reasoning.rules.quoting.relevance import (
    Weights,
    document_relevance,
    is_subject,
    surface_words,
    terms_of,
    weigh,
)
from deep_research.reasoning.rules.quoting.selection import (
    UNITS_A_DOCUMENT,
    Candidate,
    Interest,
    apart,
    best_first,
    by_document,
    choose,
    choose_units,
    is_on,
    section_of,
    trimmed,
    whole_tables,
)
from deep_research.reasoning.rules.quoting.units import MAX_SENTENCES, Unit, units_of
from deep_research.reasoning.rules.weighing.appraisal import appraise
from deep_research.reasoning.rules.weighing.charts import charts_of
from deep_research.reasoning.rules.weighing.strength import changes_of, strength_table
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
    RelatedText,
    SectionPlan,
    SectionWork,
    SentenceEdit,
    Strings,
    Support,
)
from deep_research.report.paragraph import Paragraph
from deep_research.report.sources.document import Document
from deep_research.report.sources.hit import SearchQuery
from deep_research.text.analyzer import content_terms
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import words_in
from deep_research.text.script import detect_language
from deep_research.text.shortening import shortened

# "How loud is it" asks for a figure, which sources give without the word.
_AUXILIARY = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|must|may"
# Of the documents in other languages, so many are named.
_MAX_NAMED = 5
_DEGREE = re.compile(rf"\bhow (?!(?:{_AUXILIARY}|to)\b)(\w+) (?:{_AUXILIARY})\b", re.IGNORECASE)
# How many passages a plan looks at.
_PLAN_PASSAGES = 60
_PLAN_DOCUMENTS = 20
_PASSAGE_SHARE = 0.3
# A document that is less about the question than this is about something else.
RELEVANT = 0.27
# Relevance is a share of 1, a unit's score up to 4: together they rank evidence.
_RELEVANCE_WEIGHT = 2.0
# In a section, each further unit of a document stands behind the best of the next.
_SAME_DOCUMENT = 0.5
# From this coverage and so many documents on, a section suffices: two rounds read about nine pages for each.
_SUFFICIENT = 0.7
_ENOUGH_DOCUMENTS = 6
_REMEMBERED = 256
# Of a text longer than this, in characters, the best passages stand for all.
_LONG, _LONG_PASSAGES = 500_000, 200
_REACH_PASSAGES = 10
_MIN_REACH = 0.3
# Passages and rows of a document on the one subject that is asked about.
_OF_TOPIC = (8, 4)
# Where fewer of the documents are in the question's language, they are foreign to it.
_OWN_LANGUAGE = 0.2
_LONG_TITLE = 240
# Of so many terms a page that answers may hold every one; with more, a question has several subjects.
_SHORT_QUESTION = 6


class ExtractiveReasoner:
    """All acts by rules; costs nothing and cannot fail. A corpus tells it which words are rare."""

    def __init__(self, corpus: Corpus | None = None) -> None:
        self._corpus = corpus
        # What was chosen from a document holds for every section, and for the plan of another focus too.
        self._reaches: dict[str, float] = {}
        self._matches: dict[tuple[str, str], DocumentMatch] = {}
        self._titles_named: dict[str, frozenset[str]] = {}

    async def assess(self, inquiry: Inquiry) -> Assessment:
        return assess(inquiry, infers_focus=False)

    async def plan(self, brief: Brief) -> Plan:
        """Make a section of each phrase and aspect of the question that the documents have something on."""
        titles = brief.focus if brief.has_own_focus else await self._titles(brief)
        sections = tuple(SectionPlan(title=title) for title in titles)
        question, parts = brief.question.strip(), brief.analysis.parts
        # Of a long question, what asks is its title.
        title = " ".join(parts) if parts and len(question) > _LONG_TITLE else question
        return Plan(research_title=shortened(title, _LONG_TITLE), goal=brief.goal, sections=sections)

    async def _titles(self, brief: Brief) -> list[str]:
        if has_one_subject(brief):
            return list(outline_of_answer(brief.language))
        weights = (await weigh(brief.question, self._corpus)).without_aspects().known()
        looked_for = brief.question
        if await self._is_overview(brief):
            looked_for = "\n".join(each.title for each in await self._contents())
        found = await self._search(looked_for, _PLAN_PASSAGES)
        near = [hit for hit in found if weights.share(terms_of(hit.title, hit.text)) >= _PASSAGE_SHARE]
        titles = {hit.title for hit in near}
        return sections_of(brief.question, [hit.text for hit in near], brief.language, titles=titles)

    async def held(self, question: str) -> tuple[RelatedText, ...]:
        """Return what the user's documents hold on a question, the nearest first."""
        return await related_texts(self._corpus, question, most=_PLAN_DOCUMENTS) if self._corpus else ()

    async def queries(self, request: QueryRequest) -> tuple[SearchQuery, ...]:
        """Ask for the section's side of the question in a person's words; of an overview, for the documents by name."""
        brief, title = request.brief, request.section.title
        if await self._is_overview(brief):
            return _queries([title, *(each.title for each in await self._contents())], request)
        shared = shared_queries(brief) if await self._is_foreign(brief) else ()
        return _queries([*shared, *typed_queries(brief, _own_title(brief, title))], request)

    async def _search(self, text: str, limit: int) -> list[PassageHit]:
        return await self._corpus.search(text, limit=limit) if self._corpus else []

    async def _contents(self) -> list[Listed]:
        return await self._corpus.contents() if self._corpus else []

    async def _is_foreign(self, brief: Brief) -> bool:
        """Return whether hardly any document is in the language of the question."""
        languages = [each.language[:2] for each in await self._contents() if each.language]
        return languages.count(detect_language(brief.question)[:2]) < _OWN_LANGUAGE * len(languages)

    async def _is_overview(self, brief: Brief) -> bool:
        """Return whether a question names no subject, so that all there is may be quoted."""
        weights = await weigh(brief.question, self._corpus)
        return not (weights.of or weights.unknown)

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        """Mark what says most on the question, each stretch for the section of the outline that it fits best."""
        found = [
            finding.replace(document=document.id)
            for document in reading.documents
            for finding in await self._extract_from(document, reading)
        ]
        return tuple(found)

    async def _extract_from(self, document: Document, reading: ReadingRequest) -> tuple[Finding, ...]:
        outline = reading.outline or (reading.section.title,)
        named = await self._named(reading.brief.question)
        if named and document.title not in named:
            return ()
        if has_short_outline(reading.brief, outline) and is_answered_first(reading.brief):
            return await self._answers(document, reading.brief)
        key = (document.id, reading.brief.question)
        if key not in self._matches:
            while len(self._matches) >= _REMEMBERED:
                del self._matches[next(iter(self._matches))]
            self._matches[key] = await self._match(document, reading.brief)
        match = self._matches[key]
        fitting = partial(section_of, outline=outline, title=document.title, document=match.terms)
        ranks: dict[str, dict[int, int]] = {}
        found = []
        for candidate in match.chosen:
            section = fitting(candidate.unit)
            own, unit = ranks.setdefault(section, {}), candidate.unit
            # Under one of several headings the rows of a table stand together.
            rank = own.setdefault((unit.header or unit).start if len(outline) > 1 else unit.start, len(own))
            found.append(_finding(candidate, match.relevance, rank, section))
        return tuple(found)

    async def _answers(self, document: Document, brief: Brief) -> tuple[Finding, ...]:
        """Mark what answers the question, whatever else the document is about."""
        stretches, sought = await self._stretches(document, brief.question), await self._sought(brief)
        if not sought[0].weights.of:
            return ()
        chosen = await in_thread(answering_parts, document, stretches, sought, brief.question)
        return tuple(map(_finding, chosen))

    async def _sought(self, brief: Brief) -> list[AnswerSought]:
        """Return what is looked for: for each part of the question, with the rest of it as background."""
        weights = (await weigh(brief.question, self._corpus)).with_quiet_question_words()
        return sought_parts(brief.analysis, weights)

    async def passages(self, document: Document, asked: Strings, *, is_whole: bool = False) -> list[Finding]:
        """Return all that a document says: in its order, or what a reader should see first before the rest.

        The first of `asked` is the question.
        """
        stretches = await self._stretches(document, asked[0])

        def offer() -> list[Unit]:
            if is_whole:
                units = units_of(document.text, stretches, step=MAX_SENTENCES, is_whole=True)
                return sorted(units, key=lambda unit: unit.start)
            return offered_first(document.text, stretches, document.title, asked)

        return [_finding(Candidate(unit, 0.0)) for unit in await in_thread(offer)]

    async def _named(self, question: str) -> frozenset[str]:
        """Return the titles of the documents that a question asks the contents of by name."""
        if question not in self._titles_named:
            found = await self._search(question, _PLAN_PASSAGES)
            titles = frozenset(hit.title for hit in found if names_document(question, hit.title, hit.address))
            # "Minutes 2024" is called by its whole title, and "Minutes 2025" beside it is not.
            self._titles_named[question] = frozenset(title for title in titles if title in question) or titles
        return self._titles_named[question]

    async def _match(self, document: Document, brief: Brief) -> "DocumentMatch":
        question, parts = brief.question, brief.analysis.parts
        stretches = await self._stretches(document, question)
        text = "\n\n".join(document.text[start:end] for start, end in stretches)
        terms = await in_thread(terms_of, text)
        weights = (await self._weights(question, parts)).without_aspects()
        # A page of the web may speak of what none of the user's own documents knows.
        is_foreign = not weights.unknown.isdisjoint(terms | terms_of(document.title))
        topic = weights if is_foreign else weights.known()
        reach = _usual_reach(topic) if is_foreign else await self._reach(question, topic)
        interest, sought = await self._interest(question, parts, is_foreign=is_foreign), await self._sought(brief)
        # In a report with sections each part of a question has its own best passages, and so has each focus.
        is_one = has_one_subject(brief)
        told = (" ".join(parts),) if is_one else parts
        asked = dict.fromkeys(map(aspects_named, told)) if len(parts) > 1 else [()]
        focuses = brief.focus if brief.has_own_focus else ()
        interests = [await self._interest(f"{question} {focus}", (focus,), is_foreign=is_foreign) for focus in focuses]

        def judge() -> DocumentMatch:
            relevance = document_relevance(document.title, text, topic) / reach
            if relevance < RELEVANT and not is_topic(brief):
                return _NO_MATCH
            # What a document's title says stands above all of its headings.
            found = units_of(document.text, stretches)
            units = (replace(unit, heading=f"{document.title} › {unit.heading}") for unit in found)
            wanted = [unit for unit in units if not sought[0].is_excluded(unit, unit.heading)]
            # Of "the lifts at Fenside House", what holds the name alone is about something else.
            named = frozenset[str]().union(*interest.names)
            if is_topic(brief) and named and (subject := interest.topic.of.keys() - named):
                wanted = [unit for unit in wanted if subject & terms_of(unit.heading, unit.text)]
            room = _OF_TOPIC if is_topic(brief) else UNITS_A_DOCUMENT
            each = [
                choose_units([unit for unit in wanted if is_on(unit, focus)], own, room=room)
                for focus, own in zip(focuses, interests, strict=True)
            ] or [choose_units(wanted, replace(interest, aspects=aspects), room=room) for aspects in asked]
            chosen = apart(chain(*each))
            return DocumentMatch(relevance, chosen if is_one else whole_tables(chosen, wanted), terms)

        return await in_thread(judge)

    async def _stretches(self, document: Document, question: str) -> list[tuple[int, int]]:
        """Return what of a document is looked at: all of it, or of a very long one its best passages."""
        if len(document.text) <= _LONG:
            return [(0, len(document.text))]
        found = await self._search(question, _LONG_PASSAGES)
        own = sorted({(hit.start, hit.end) for hit in found if document.text[hit.start : hit.end] == hit.text})
        apart = [span for before, span in zip([(0, 0), *own], own, strict=False) if span[0] >= before[1]]
        return apart or [(0, _LONG)]

    async def _weights(self, question: str, parts: Strings) -> Weights:
        return (await weigh(question, self._corpus)).with_quiet_question_words().focused(parts)

    async def _interest(self, question: str, parts: Strings, *, is_foreign: bool) -> Interest:
        names = tuple(phrase.terms for phrase in phrases(question) if phrase.is_name)
        weights = await self._weights(question, parts)
        return Interest(weights if is_foreign else weights.known(), names)

    async def _reach(self, question: str, topic: Weights) -> float:
        """Return how much of the question the documents' best passage covers: a long question is covered by none."""
        if not self._corpus:
            return _usual_reach(topic)
        if question not in self._reaches:
            best = await self._corpus.search(question, limit=_REACH_PASSAGES)
            self._reaches[question] = max((topic.share(terms_of(hit.title, hit.text)) for hit in best), default=1.0)
        return max(self._reaches[question], _MIN_REACH)

    async def compress(self, work: SectionWork) -> Digest:
        """Keep the best pieces, each thing said once."""
        ranked = best_first(work.evidence)
        is_short = has_short_outline(work.brief, [work.section.title]) and is_answered_first(work.brief)
        kept = supporting(ranked, work.brief) if is_short else choose(ranked, room=work.brief.evidence_limit)
        return Digest(evidence=tuple(piece.id for piece in kept))

    async def reflect(self, work: SectionWork) -> Reflection:
        """Stop once each section is covered by several documents and every name was asked for, or when another round
        brought nothing.
        """
        sections = [work.of(SectionPlan(title=title), work.evidence) for title in work.outline]
        judged = [await self._reflect_on(own) for own in sections or [work]]
        is_asked = all(entry.queries or entry.status != "open" for entry in work.entries)
        is_over = is_asked or not (work.queries_left and work.fresh)
        first, several = judged[0], "\n\n".join(each.synthesis for each in judged if each.synthesis)
        return first.replace(
            is_sufficient=is_over and all(each.is_sufficient for each in judged),
            overall_score=min(each.overall_score for each in judged),
            dimensions=min((each.dimensions for each in judged), key=lambda one: one.overall),
            synthesis=several,
            coverage=round(sum(each.coverage for each in judged) / len(judged), 2),
            gaps=tuple(gap for each in judged for gap in each.gaps),
            thin=tuple(dict.fromkeys(weakness for each in judged for weakness in each.thin)),
            # The sections take turns.
            next_queries=tuple(
                query.replace(section=title)
                for turn in zip_longest(*(each.next_queries for each in judged))
                for title, query in zip(work.outline or ("",), turn, strict=True)
                if query
            ),
        )

    async def _reflect_on(self, work: SectionWork) -> Reflection:
        weights = (await weigh(work.brief.question, self._corpus)).without_aspects()
        covered = weights.share(terms_of(*(piece.quote for piece in work.evidence)))
        documents = len({piece.document for piece in work.evidence})
        share = 0.5 * covered + 0.3 * min(1.0, documents / 3) + 0.2 * min(1.0, len(work.evidence) / 4)
        work = work.replace(coverage=round(share, 2))
        is_enough = work.coverage >= _SUFFICIENT and documents >= _ENOUGH_DOCUMENTS
        missing = await self._missing_words(work)
        appraisal = await in_thread(appraise, work, missing=missing)
        if work.round == 0:
            # What an earlier run has read is enough where it answers.
            is_enough = await self._is_answered(work, missing)
        words = words_in(work.brief.language)
        aspect = aspect_of(work.section.title)
        is_asked = not aspect.key or aspect.hits(work.brief.question)
        is_asked = is_asked and not has_short_outline(work.brief, [work.section.title])
        gaps = (words("nothing.aspect", title=work.section.title),) if is_asked and not work.evidence else ()
        return Reflection(
            is_sufficient=is_enough,
            overall_score=appraisal.dimensions.overall,
            dimensions=appraisal.dimensions,
            synthesis="\n".join(piece.finding for piece in work.evidence),
            coverage=work.coverage,
            gaps=gaps,
            thin=() if is_enough or gaps else appraisal.thin,
            next_queries=() if is_enough else await self._queries_for(work, appraisal.aims),
            reasoning=words("reasoning.coverage", count=len(work.evidence), share=round(100 * work.coverage)),
        )

    async def _is_answered(self, work: SectionWork, missing: Sequence[str]) -> bool:
        """Say whether a report with nothing but a section's evidence would answer the question.

        Of the words that no passage holds, those count that the user wrote now, and of which no part is held either.
        """
        held = terms_of(*(piece.quote for piece in work.evidence))
        if any(word in work.brief.original and held.isdisjoint(terms_of(word)) for word in missing):
            return False
        paragraphs = paragraphs_of(work.section.title, work.evidence)
        plan = Plan(research_title=work.brief.question, sections=(work.section,))
        draft = Draft(brief=work.brief, plan=plan, paragraphs=paragraphs, evidence=work.evidence)
        return (await self.conclude(draft)).is_answered

    async def _missing_words(self, work: SectionWork) -> list[str]:
        """Return the words of the question that no passage of the section holds, as the user spelled them."""
        topic = without_commands(topic_part(work.brief.question))
        weights = (await weigh(topic, self._corpus)).without_aspects().without_question_words()
        held = terms_of(*(piece.quote for piece in work.evidence))
        return surface_words(topic, weights.missing(held), known=held)

    async def _queries_for(self, work: SectionWork, aims: Sequence[str]) -> tuple[SearchQuery, ...]:
        """Return queries for what is weak, then the usual ones; none where no query could name what is weak.

        A user's own documents hold what they hold: there such queries found no more (DRBench: recall .534 each way).
        """
        title, count = _own_title(work.brief, work.section.title), max(work.queries_left, 1)
        request = QueryRequest(brief=work.brief, section=work.section, asked=work.asked, count=count)
        fresh = _queries([next(typed_queries(work.brief, title, aim)) for aim in aims], request)
        if not fresh or self._corpus:
            return ()
        asked = (*work.asked, *(query.query for query in fresh))
        return (*fresh, *await self.queries(request.replace(asked=asked)))

    async def analyze(self, findings: Findings) -> Analysis:
        """Show how well the main statements are backed, and what would change the picture."""
        if is_short_answer(findings):
            return Analysis()
        return Analysis(paragraphs=strength_table(findings), changes=changes_of(findings))

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:
        return await in_thread(charts_of, findings)

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        """Leave the rows to the program's own drawing: rules write no code."""
        return broken.spec.replace(python_code="")

    async def outline(self, findings: Findings) -> tuple[ChapterPlan, ...]:
        """Make a chapter of each section."""
        return tuple(
            ChapterPlan(
                title=work.section.title,
                settles=work.section.description,
                documents=tuple(dict.fromkeys(piece.document for piece in work.evidence)),
            )
            for work in findings.sections
            if work.evidence
        )

    async def answer(self, draft: Draft) -> Paragraphs:  # noqa: ARG002 - whoever concludes quotes one
        return ()

    async def draft(self, findings: Findings) -> Paragraphs:
        """Quote the evidence that the report has room for: neighbouring sentences as a paragraph, rows as tables."""
        brief = findings.brief
        is_ranked = is_answered_first(brief) and brief.analysis.kind != "overview"
        written: list[Paragraph] = []
        for work, kept in zip(findings.sections, await in_thread(within_room, findings), strict=True):
            ranked = best_first(kept)
            written += paragraphs_of(work.section.title, ranked if is_ranked else by_document(ranked))
        return tuple(written)

    async def judge(self, support: Support) -> tuple[Judgement, ...]:  # noqa: ARG002 - rules certify no paraphrase
        return ()

    async def find_held(self, check: AbsenceCheck) -> tuple[HeldStretch, ...]:  # noqa: ARG002 - words are not enough
        return ()

    async def edit(self, draft: Draft) -> tuple[SentenceEdit, ...]:  # noqa: ARG002 - a quotation is left as it is
        return ()

    async def recall(self, brief: Brief) -> str:  # noqa: ARG002 - the port's signature
        return ""

    async def conclude(self, draft: Draft) -> Conclusion:
        """Lead with what answers best, and say whether the documents answer the question at all."""
        question = draft.brief.question
        parts = await self._sought(draft.brief)
        if is_short_answer(draft) and is_answered_first(draft.brief):
            found = await self._search(question, _PLAN_PASSAGES)
            asked = draft.brief.analysis.asking or question
            answer = answer_of(draft, parts, beside_in_columns(asked, (hit.text for hit in found)))
            unheld = await self._not_held(" ".join(draft.brief.analysis.names), draft)
            if not answer.is_answered and not await self._is_foreign(draft.brief):
                unheld = await self._in_other_languages(draft.brief, found) or unheld
            return answer.replace(unanswered=unheld)
        analysis = draft.brief.analysis
        # Of a question in a language that rules cannot read, little is shown.
        is_short = draft.brief.length == "short" or not detect_language(question).startswith(("en", "zh"))
        # Of a long question, only what it names is missed.
        asked = " ".join(analysis.names) if analysis.kind == "advice" else topic_part(question)
        return Conclusion(
            abstract=abstract_of(draft, worths_for(draft, parts)),
            support=best_of_sections(draft) if is_short else (),
            is_answered=bool(draft.evidence),
            unanswered=await self._not_held(asked, draft),
        )

    async def _in_other_languages(self, brief: Brief, found: Sequence[PassageHit]) -> Strings:
        """Return a line that names documents in other languages than the question's, those that share words first."""
        words, own = words_in(brief.language), detect_language(brief.question)[:2]
        listed = [each.title for each in await self._contents() if each.language and each.language[:2] != own]
        titles = dict.fromkeys([*(hit.title for hit in found if hit.title in listed), *listed])
        named = words.listed(list(titles)[:_MAX_NAMED])
        return (words("nothing.other_language", titles=named),) if named else ()

    async def _not_held(self, asked: str, draft: Draft) -> Strings:
        """Return a line that names what of the words asked for no source holds, if there is any.

        Of documents in another language nobody can say that.
        """
        words = words_in(draft.brief.language)
        if await self._is_foreign(draft.brief):
            return (words("nothing.language"),)
        topic = without_commands(asked)
        weights = (await weigh(topic, self._corpus)).without_aspects().without_question_words()
        covered = terms_of(*(piece.quote for piece in draft.evidence), *draft.titles)
        missing = weights.missing(covered)
        # Of documents it is known what they do not hold; of the web, only what was found is known.
        kind, unknown = ("words", weights.unknown) if self._corpus else ("cited_words", missing if covered else ())
        idle = terms_of(*_DEGREE.findall(draft.brief.question))
        lost = surface_words(topic, [term for term in missing if term in unknown and term not in idle], known=covered)
        unmet = [word for word in lost if is_subject(word, asked)]
        return (words(f"nothing.{kind}", words=words.listed(unmet)),) if unmet else ()


def _queries(texts: Sequence[str], request: QueryRequest) -> tuple[SearchQuery, ...]:
    """Return the first queries that nobody asked yet in these words, whatever their order."""
    asked = {frozenset(content_terms(text)) for text in request.asked}
    fresh: dict[frozenset[str], str] = {}
    for text in texts:
        if (terms := frozenset(content_terms(text))) not in asked:
            fresh.setdefault(terms, text)
    return tuple(SearchQuery(query=text, goal=request.section.title) for text in fresh.values())[: request.count]


def _own_title(brief: Brief, title: str) -> str:
    """Return the title of a section, "" for the one that stands beside an answer and is named after nothing."""
    return "" if has_short_outline(brief, [title]) else title


def _usual_reach(topic: Weights) -> float:
    """Return how much of a question a good page covers: all of a short one, of a long one what a short one holds."""
    return max(min(1.0, _SHORT_QUESTION / max(len(topic.of), 1)), _MIN_REACH)


class DocumentMatch(NamedTuple):
    """What a document has to say on a question: how far it is about it, its best units, and its terms."""

    relevance: float
    chosen: Sequence[Candidate]
    terms: frozenset[str]


_NO_MATCH = DocumentMatch(0.0, (), frozenset())


def _finding(candidate: Candidate, relevance: float = 0.0, rank: int = 0, section: str = "") -> Finding:
    unit = candidate.unit
    text = unit.text if unit.header else joined([trimmed(sentence.text) for sentence in unit.sentences])
    score = round(candidate.score + _RELEVANCE_WEIGHT * relevance - _SAME_DOCUMENT * rank, 6)
    return Finding(start=unit.start, end=unit.end, finding=text, score=score, header=unit.header, section=section)
