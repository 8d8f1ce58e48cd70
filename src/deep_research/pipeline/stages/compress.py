"""Compress: bounds the evidence that a section carries from round to round."""

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import section_work
from deep_research.pipeline.stages.analyze import ResearchAnalyzer
from deep_research.pipeline.state import SectionState, Update


async def compress(given: SectionState, context: StageContext, analyzer: ResearchAnalyzer) -> Update:
    """Return the ids of the evidence worth keeping; nothing to compress costs nothing."""
    work = await section_work(given, context.records)
    digest = await analyzer.compress(work, context) if work.evidence else None
    return {"evidence": list(digest.evidence) if digest else []}
