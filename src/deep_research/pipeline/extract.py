"""Extract: from a document to evidence for one section, each piece a verbatim passage."""

from deep_research.evidence.passage import Evidence, Passage, evidence_from
from deep_research.pipeline.context import Ports
from deep_research.reasoning.values import Reading


async def extract(reading: Reading, *, ports: Ports) -> list[Evidence]:
    """Keep what the reasoner marked in a document; marks outside its text are dropped."""
    findings = await ports.reason("extract", lambda reasoner: reasoner.extract(reading))
    text = reading.document.text
    found = [
        evidence_from(
            Passage(document=reading.document.id, start=finding.start, end=finding.end),
            text=text,
            finding=finding.finding,
            section=reading.section.title,
            score=finding.score,
        )
        for finding in findings
        if 0 <= finding.start < finding.end <= len(text)
    ]
    await ports.store.put_evidence(ports.run.claim, found)
    return found
