"""Compress: bounds the evidence that is carried from round to round."""

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import section_work
from deep_research.pipeline.state import SectionState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import SectionPlan


async def compress(state: SectionState, context: StageContext) -> Update:
    """Return the ids of the evidence worth keeping, section by section; without any, nobody is asked."""
    work = await section_work(state, context.records)
    kept: list[str] = []
    for title in state.outline:
        own = work.of(SectionPlan(title=title), work.evidence)
        chosen = (await context.reason(Reasoner.compress, own)).evidence if own.evidence else ()
        known = {piece.id for piece in own.evidence}
        kept += (id_ for id_ in chosen if id_ in known)
    return {"evidence": kept}
