"""Extract: from a document to evidence for one section, each piece a verbatim passage."""

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.state import PageState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import Finding, ReadingRequest
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from


async def extract(state: PageState, context: StageContext) -> Update:
    """Store what the reasoner marked in a document, for whichever section; marks outside its text are dropped."""
    reading = ReadingRequest(
        brief=state.brief,
        section=state.section,
        outline=state.outline,
        query=state.query,
        document=await context.records.document(state.document),
    )
    findings = await context.reason(Reasoner.extract, reading)
    marked = [pieces for finding in findings if (pieces := _evidence(finding, reading))]
    headers, found = [header for *own, _ in marked for header in own], [pieces[-1] for pieces in marked]
    await context.run.store.put_evidence(context.run.lease, [*headers, *found])
    title = reading.section.title
    return {
        "gathered_info": [piece.id for piece in found if piece.section == title],
        "shared": [piece.id for piece in found if piece.section != title],
    }


def _evidence(finding: Finding, reading: ReadingRequest) -> list[Evidence]:
    """Return a finding as evidence, after its header if it is a row; nothing where a mark lies outside the text."""
    text, section = reading.document.text, finding.section or reading.section.title
    spans = [*([finding.header] if finding.header else []), (finding.start, finding.end)]
    if not all(0 <= start < end <= len(text) for start, end in spans):
        return []
    *headers, own = [Passage(document=reading.document.id, start=start, end=end) for start, end in spans]
    header = headers[0].id if headers else ""
    return [
        *(evidence_from(one, text=text, finding=text[one.start : one.end], section=section) for one in headers),
        evidence_from(own, text=text, finding=finding.finding, section=section, score=finding.score, header=header),
    ]
