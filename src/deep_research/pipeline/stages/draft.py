"""Draft: from everything that was found to paragraphs that carry evidence ids. Judges nothing: what is written is
checked by `verify`, which puts every refusal on record.
"""

from collections.abc import Iterable

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.stages.analyze import for_writer
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.question.analysis import is_short_answer
from deep_research.reasoning.values import Analysis, Findings, Paragraphs
from deep_research.report.paragraph import Paragraph
from deep_research.request import Depth, ReportLength

# A report has so many words at most; a deep one may have more.
_MOST_WORDS: dict[ReportLength, int] = {"short": 400, "standard": 1_100, "long": 2_200}
_DEEP = 2.2
# One thing is told in few.
_PRECISE_WORDS = 200
# With little material it is shorter: so many words, and so many for each passage.
_FIRST_WORDS, _WORDS_A_PASSAGE = 150, 30


async def draft(state: DeepResearchState, context: StageContext) -> Update:
    """Write the report from all evidence, with where it stands and how well it is backed."""
    findings = await findings_from(state, context.records)
    analysis = await context.records.load(Analysis, state.analysis) if state.analysis else Analysis()
    if context.adapters.models:
        findings = (await for_writer(findings, state, context)).replace(
            strength=tuple(row for table in analysis.paragraphs for row in table.sentences),
            asks_for_analysis=bool(state.analysis) and not is_short_answer(findings),
            words=words_wanted(findings, context.request.depth),
        )
    written = await context.reason(Reasoner.draft, findings)
    return {"draft": await context.records.keep(as_claims(written))}


def words_wanted(findings: Findings, depth: Depth) -> int:
    """Return how long the report should be: as its material and its depth deserve."""
    if is_short_answer(findings):
        return _PRECISE_WORDS
    is_deep = depth.max_total_queries > Depth().max_total_queries
    most = _MOST_WORDS[findings.brief.length] * (_DEEP if is_deep else 1)
    return int(min(most, _FIRST_WORDS + _WORDS_A_PASSAGE * len(findings.evidence)))


def as_claims(paragraphs: Iterable[Paragraph]) -> Paragraphs:
    """Return what a reasoner wrote as claims to be checked: it does not call its own words a note or a caption."""
    claims = []
    for paragraph in paragraphs:
        is_table = paragraph.kind == "table" and all(row.cells or row.backing for row in paragraph.sentences)
        if paragraph.sentences:
            claims.append(paragraph.replace(kind="table" if is_table else "claim"))
    return tuple(claims)
