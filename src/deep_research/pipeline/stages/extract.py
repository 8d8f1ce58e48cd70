"""Extract: from documents to evidence for one section, or for all, each piece a verbatim passage."""

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.state import TaskState, Update
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.values import Finding, ReadingRequest
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.sources.document import Document


async def extract(state: TaskState, context: StageContext) -> Update:
    """Store what the reasoner marked in documents, for whichever section; marks outside their text are dropped."""
    reading = ReadingRequest(
        brief=state.brief,
        section=state.section,
        outline=state.outline,
        documents=tuple([await context.records.document(id_) for id_ in state.documents]),
        sought=tuple(entry.name for entry in state.entries if entry.status != "set_aside"),
    )
    texts = {document.id: document for document in reading.documents}
    findings = await context.reason(Reasoner.extract, reading)
    marked = [pieces for each in findings if (pieces := _evidence(each, texts[each.document], reading))]
    headers, found = [header for *own, _ in marked for header in own], [pieces[-1] for pieces in marked]
    await context.run.store.put_evidence(context.run.lease, [*headers, *found])
    return {"gathered_info": [piece.id for piece in found]}


def _evidence(finding: Finding, document: Document, reading: ReadingRequest) -> list[Evidence]:
    """Return a finding as evidence, after its header if it is a row; nothing where a mark lies outside the text."""
    text, section = document.text, finding.section or reading.outline[0]
    spans = [*([finding.header] if finding.header else []), (finding.start, finding.end)]
    if not all(0 <= start < end <= len(text) for start, end in spans):
        return []
    *headers, own = [Passage(document=document.id, start=start, end=end) for start, end in spans]
    header = headers[0].id if headers else ""
    return [
        *(evidence_from(one, text=text, finding=text[one.start : one.end], section=section) for one in headers),
        evidence_from(own, text=text, finding=finding.finding, section=section, score=finding.score, header=header),
    ]
