"""Compress: bounds the evidence that a section carries from round to round."""

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.outcome import section_work
from deep_research.pipeline.state import SectionState, Update
from deep_research.reasoning.port import Reasoner


async def compress(state: SectionState, context: StageContext) -> Update:
    """Return the ids of the evidence worth keeping, of those that the section has; without any, nobody is asked."""
    work = await section_work(state, context.records)
    kept = (await context.reason(Reasoner.compress, work)).evidence if work.evidence else ()
    known = {piece.id for piece in work.evidence}
    return {"evidence": [id_ for id_ in kept if id_ in known]}
