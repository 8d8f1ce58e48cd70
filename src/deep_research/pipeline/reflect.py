"""Reflect: from a round's evidence to the running synthesis, its coverage, and whether to search again."""

from deep_research.pipeline.analyzer import ResearchAnalyzer
from deep_research.pipeline.context import Ports
from deep_research.pipeline.planner import ResearchPlanner
from deep_research.reasoning.values import Digest, Reflection, SectionWork, Synthesis


async def compress(work: SectionWork, *, analyzer: ResearchAnalyzer, ports: Ports) -> Digest:
    """Bound what a section carries on; nothing to compress costs nothing."""
    if not work.evidence:
        return Digest(evidence=())
    return await analyzer.compress(work, ports=ports)


async def reflect(
    work: SectionWork, *, analyzer: ResearchAnalyzer, planner: ResearchPlanner, ports: Ports
) -> tuple[Synthesis, Reflection]:
    """Merge the round into the synthesis and judge it."""
    synthesis = await analyzer.intermediate_synthesis(work, ports=ports)
    judged = work.model_copy(update={"synthesis": synthesis.text, "coverage": synthesis.coverage})
    reflection = await planner.review_research_completeness(judged, ports=ports)
    await ports.emit(
        "section-coverage",
        {
            "section": work.section.title,
            "round": work.round,
            "coverage": synthesis.coverage,
            "score": reflection.overall_score,
            "is_sufficient": reflection.is_sufficient,
            "gaps": list(reflection.gaps),
            "reason": reflection.reasoning,
        },
    )
    return synthesis, reflection
