"""`ExtractiveReasoner`: research without a model. It selects sentences and never writes one."""

from deep_research.messages.words import words
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
    TaskBrief,
)
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.sources.hit import SearchQuery
from deep_research.text.analyzer import content_terms
from deep_research.text.sentences import split_sentences

_FINDINGS_A_PAGE = 6
_EVIDENCE_A_SECTION = 12
_SENTENCES_A_PARAGRAPH = 3
_ENOUGH_EVIDENCE = 4


class ExtractiveReasoner:
    """All fifteen acts by rules; costs nothing and cannot fail."""

    async def assess(self, inquiry: Inquiry) -> Assessment:
        """Take the question as it stands."""
        task = TaskBrief(goal=inquiry.question, research_focus=inquiry.focus)
        return Assessment(next_action="START_RESEARCH", confidence=0.7, task=task)

    async def plan(self, brief: Brief) -> Plan:
        """Make a section of each focus."""
        titles = brief.focus or (words(brief.language)("report.findings"),)
        sections = tuple(SectionPlan(title=title, description=brief.question) for title in titles)
        return Plan(research_title=brief.question.rstrip("?？ "), goal=brief.goal, sections=sections)

    async def queries(self, wish: QueryWish) -> tuple[SearchQuery, ...]:
        """Ask the question itself, then the section, then what is missing."""
        texts = (wish.brief.question, wish.section.title, *wish.gaps)
        fresh = dict.fromkeys(text for text in texts if text and text not in wish.asked)
        return tuple(SearchQuery(query=text, goal=wish.section.title) for text in fresh)[: wish.count]

    async def choose_tools(self, query: SearchQuery, engines: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - rules look at neither
        """Take the engines in their configured order."""
        return engines

    async def extract(self, reading: Reading) -> tuple[Finding, ...]:
        """Mark the sentences that share most terms with question, section and query."""
        wanted = set(content_terms(f"{reading.brief.question} {reading.section.title} {reading.query.query}"))
        scored = []
        for span in split_sentences(reading.document.text):
            sentence = reading.document.text[span.start : span.end]
            shared = len(wanted.intersection(content_terms(sentence)))
            if shared:
                scored.append((-shared, span.start, span.end, sentence))
        best = sorted(sorted(scored)[:_FINDINGS_A_PAGE], key=lambda entry: entry[1])
        return tuple(Finding(start=start, end=end, finding=text) for _, start, end, text in best)

    async def compress(self, work: SectionWork) -> Digest:
        """Keep the best pieces, the same sentence once."""
        wanted = set(content_terms(f"{work.brief.question} {work.section.title}"))
        unlike = {piece.quote: piece for piece in reversed(work.evidence)}.values()
        ranked = sorted(unlike, key=lambda piece: (-len(wanted.intersection(content_terms(piece.quote))), piece.id))
        return Digest(evidence=tuple(piece.id for piece in ranked[:_EVIDENCE_A_SECTION]))

    async def synthesize(self, work: SectionWork) -> Synthesis:
        """Put the findings side by side; coverage is the share of the question's terms they hold."""
        text = " ".join(piece.finding for piece in work.evidence)
        wanted = set(content_terms(f"{work.brief.question} {work.section.title}"))
        held = wanted.intersection(content_terms(text))
        return Synthesis(text=text, coverage=round(len(held) / len(wanted), 2) if wanted else 0.0)

    async def reflect(self, work: SectionWork) -> Reflection:
        """Call a section sufficient once it has a few pieces of evidence."""
        enough = len(work.evidence) >= _ENOUGH_EVIDENCE
        gaps = () if enough else (work.section.title,)
        score = min(10, 1 + round(9 * work.coverage))
        return Reflection(
            is_sufficient=enough, overall_score=score, gaps=gaps, reasoning=f"{len(work.evidence)} passages"
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
        """Quote the evidence, a few sentences a paragraph."""
        sentences = [Sentence(text=piece.quote, evidence=(piece.id,)) for piece in work.evidence]
        starts = range(0, len(sentences), _SENTENCES_A_PARAGRAPH)
        return tuple(
            Paragraph(section=work.section.title, sentences=tuple(sentences[at : at + _SENTENCES_A_PARAGRAPH]))
            for at in starts
        )

    async def judge_support(self, support: Support) -> Judgement:  # noqa: ARG002 - a paraphrase cannot be certified by rules
        """Leave a paraphrase unchecked."""
        return Judgement(verdict="not_checked")

    async def revise(self, support: Support) -> Sentence | None:  # noqa: ARG002 - rules do not rewrite
        """Drop what the passages do not carry."""
        return None

    async def conclude(self, draft: Draft) -> Conclusion:
        """Lead with the first sentence of each section."""
        leads: dict[str, Sentence] = {}
        for paragraph in draft.paragraphs:
            if paragraph.sentences:
                leads.setdefault(paragraph.section, paragraph.sentences[0])
        if not leads:
            return Conclusion()
        return Conclusion(abstract=(Paragraph(section="abstract", sentences=tuple(leads.values())),))
