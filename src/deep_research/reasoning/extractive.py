"""`ExtractiveReasoner`: research without a model. It selects sentences, trims and orders them, and never writes one."""

from collections import Counter

from deep_research.corpus.port import Corpus
from deep_research.evidence.passage import Evidence
from deep_research.messages.words import words
from deep_research.reasoning.aspects import aspects, lens_of, search_words, title_of
from deep_research.reasoning.clarifier import assess
from deep_research.reasoning.relevance import CJK_CHARACTER, surface_words, terms_of, weigh
from deep_research.reasoning.selection import candidates, choose, grouped, trimmed
from deep_research.reasoning.values import (
    Analysis,
    Assessment,
    Brief,
    BrokenChart,
    ChartSpec,
    Conclusion,
    Digest,
    Draft,
    Finding,
    Findings,
    Inquiry,
    Judgement,
    Plan,
    QueryWish,
    Reading,
    Reflection,
    SectionPlan,
    SectionWork,
    Support,
    Synthesis,
)
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.request import ReportLength
from deep_research.sources.hit import SearchQuery

# How many passages a plan looks at, and how many sections it makes of them.
_PLAN_PASSAGES = 60
_FEWEST_SECTIONS, _MOST_SECTIONS, _SETTING_SECTIONS = 3, 5, 2
_USUAL = ("background", "results", "problems")
# A document that covers less of the question than this is about something else.
_DOCUMENT_SHARE = 0.5
_FINDINGS_A_PAGE = 8
_EVIDENCE_A_SECTION: dict[ReportLength, int] = {"short": 4, "standard": 8, "long": 12}
_EVIDENCE_A_DOCUMENT = 4
_SENTENCES_A_PARAGRAPH = 3
# EXTRACTIVE 2.5: what a section's coverage is made of, and where it suffices.
_SUFFICIENT = 0.7
# A question of whose topic this share stands in no document is not answered.
_LOST_SHARE = 0.35
_ABSTRACT_LENGTH = 120


class ExtractiveReasoner:
    """All fifteen acts by rules; costs nothing and cannot fail. A corpus tells it which words are rare."""

    def __init__(self, corpus: Corpus | None = None) -> None:
        self._corpus = corpus

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Judge the question by its signals."""
        return assess(inquiry, states_focus=False)

    async def plan(self, brief: Brief) -> Plan:
        """Make a section of each side of the question that the documents have something on."""
        titles = list(brief.focus) if brief.has_own_focus else await self._sides(brief)
        sections = tuple(SectionPlan(title=title, description=brief.question) for title in titles)
        return Plan(research_title=brief.question.strip(), goal=brief.goal, sections=sections)

    async def _sides(self, brief: Brief) -> list[str]:
        """Choose the sides with most to say; those that the question names come first."""
        weights = (await weigh(brief.question, self._corpus)).without_sides().known()
        mass: Counter[str] = Counter()
        for hit in await self._corpus.search(brief.question, limit=_PLAN_PASSAGES) if self._corpus else ():
            if weights.share(terms_of(hit.title, hit.text)) >= _DOCUMENT_SHARE:
                for lens in aspects():
                    mass[lens.key] += min(lens.hits(hit.text), 4)
        asked = [lens.key for lens in aspects() if lens.hits(brief.question)]
        others = [key for key, count in mass.most_common() if count and key not in asked] if mass else list(_USUAL)
        # What was asked comes first; enough of the rest follows, in its usual order, to give the answer a setting.
        room = max(_FEWEST_SECTIONS - len(asked), _SETTING_SECTIONS) if asked else _MOST_SECTIONS
        order = [lens.key for lens in aspects()]
        setting = sorted((key for key in others if key not in asked), key=others.index)[:room]
        chosen = [*asked, *sorted(setting, key=order.index)][:_MOST_SECTIONS]
        return [title_of(key, brief.language) for key in chosen]

    async def queries(self, wish: QueryWish) -> tuple[SearchQuery, ...]:
        """Ask the question with the section's words, then the question itself, then other words of the section."""
        language, lens = wish.brief.language, lens_of(wish.section.title)
        gap = " " if language == "en" else "，"
        more = search_words(lens, language, 12)
        texts = [
            f"{wish.brief.question}{gap}{wish.section.title}",
            wish.brief.question,
            *(f"{wish.brief.question}{gap}{' '.join(more[at : at + 4])}" for at in range(0, len(more), 4)),
        ]
        fresh = dict.fromkeys(text for text in texts if text not in wish.asked)
        return tuple(SearchQuery(query=text, goal=wish.section.title) for text in fresh)[: wish.count]

    async def choose_tools(self, query: SearchQuery, engines: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - in order
        """Take the engines in their configured order."""
        return engines

    async def extract(self, reading: Reading) -> tuple[Finding, ...]:
        """Mark the sentences that stand on their own, cover the question and fit the section best."""
        document, weights = reading.document, await weigh(reading.brief.question, self._corpus)
        share = weights.without_sides().known().share(terms_of(document.title, document.text))
        if share < _DOCUMENT_SHARE:
            return ()
        found = candidates(
            document.text,
            title=document.title,
            section=reading.section.title,
            outline=reading.outline,
            weights=weights,
            document_share=share,
        )
        best = found[:_FINDINGS_A_PAGE]
        return tuple(
            Finding(start=each.start, end=each.end, finding=trimmed(each.text), score=each.score) for each in best
        )

    async def compress(self, work: SectionWork) -> Digest:
        """Keep the best pieces, from several sources, each thing said once."""
        ranked = sorted(work.evidence, key=lambda piece: (-piece.score, piece.id))
        most = _EVIDENCE_A_SECTION[work.brief.length]
        kept = choose(ranked, most=most, most_a_document=_EVIDENCE_A_DOCUMENT)
        return Digest(evidence=tuple(piece.id for piece in kept))

    async def synthesize(self, work: SectionWork) -> Synthesis:
        """Put the findings side by side and weigh how well they cover the section."""
        weights = (await weigh(work.brief.question, self._corpus)).without_sides()
        covered = weights.share(terms_of(*(piece.quote for piece in work.evidence)))
        documents = len({piece.document for piece in work.evidence})
        coverage = 0.5 * covered + 0.3 * min(1.0, documents / 3) + 0.2 * min(1.0, len(work.evidence) / 4)
        return Synthesis(text="\n".join(piece.finding for piece in work.evidence), coverage=round(coverage, 2))

    async def reflect(self, work: SectionWork) -> Reflection:
        """Stop once the section is covered, or when another round brought nothing."""
        is_enough = work.coverage >= _SUFFICIENT
        said = words(work.brief.language)
        gaps = () if work.evidence else (said("nothing.aspect", title=work.section.title),)
        reasoning = said("reasoning.coverage", count=len(work.evidence), share=round(100 * work.coverage))
        return Reflection(
            is_sufficient=is_enough,
            overall_score=min(10, max(1, round(10 * work.coverage))),
            gaps=gaps,
            reasoning=reasoning,
        )

    async def analyze(self, findings: Findings) -> Analysis:  # noqa: ARG002 - rules cannot weigh perspectives
        """Offer no analysis."""
        return Analysis()

    async def plan_charts(self, findings: Findings) -> tuple[ChartSpec, ...]:  # noqa: ARG002 - no rule draws yet
        """Plan no chart."""
        return ()

    async def repair_chart(self, broken: BrokenChart) -> ChartSpec:
        """Leave the chart as it is."""
        return broken.spec

    async def draft(self, work: SectionWork) -> tuple[Paragraph, ...]:
        """Quote the evidence in paragraphs of sentences that belong together."""
        return tuple(
            Paragraph(section=work.section.title, sentences=tuple(_sentence(piece) for piece in group))
            for group in grouped(work.evidence, size=_SENTENCES_A_PARAGRAPH)
        )

    async def judge_support(self, support: Support) -> Judgement:  # noqa: ARG002 - rules cannot certify a paraphrase
        """Leave a paraphrase unchecked."""
        return Judgement(verdict="not_checked")

    async def revise(self, support: Support) -> Sentence | None:
        """Take the passage's own sentence instead, if there is one."""
        return _sentence(support.passages[0]) if support.passages else None

    async def conclude(self, draft: Draft) -> Conclusion:
        """Lead with the best sentence of each section, and say whether the documents answer the question at all."""
        weights = (await weigh(draft.brief.question, self._corpus)).without_sides()
        covered = terms_of(*(piece.quote for piece in draft.evidence), *draft.titles)
        missing = weights.missing(covered)
        lost = sum(weights.of[term] for term in missing)
        unmet = surface_words(draft.brief.question, [term for term in missing if term in weights.unknown])
        said = words(draft.brief.language)
        return Conclusion(
            abstract=_abstract(draft),
            is_answered=bool(draft.evidence) and (draft.brief.has_own_focus or lost <= _LOST_SHARE * weights.total),
            unanswered=(said("nothing.words", words=said("report.list_separator").join(unmet)),) if unmet else (),
        )


def _abstract(draft: Draft) -> tuple[Paragraph, ...]:
    """Return two leading sentences of each section that was asked for, then one of each other, while there is room."""
    leads: dict[str, list[Sentence]] = {}
    for paragraph in draft.paragraphs:
        leads.setdefault(paragraph.section, []).append(paragraph.sentences[0])
    asked = [section for section in leads if lens_of(section).hits(draft.brief.question)]
    ranked = [sentence for section in asked for sentence in leads[section][:2]]
    ranked += [sentence for section, own in leads.items() if section not in asked for sentence in own[:1]]
    ranked += [sentence for own in leads.values() for sentence in own if sentence not in ranked]
    chosen: list[Sentence] = []
    for sentence in ranked:
        if sum(_length(earlier.text) for earlier in chosen) < _ABSTRACT_LENGTH:
            chosen.append(sentence)
    return (Paragraph(section="abstract", sentences=tuple(chosen)),) if chosen else ()


def _sentence(piece: Evidence) -> Sentence:
    return Sentence(text=piece.finding, evidence=(piece.id,))


def _length(text: str) -> int:
    """Return a text's length as SPEC W1 counts it: words, or characters of Chinese."""
    han = len(CJK_CHARACTER.findall(text))
    return han if han > len(text) / 4 else len(text.split())
