"""Extract: from a document to evidence for one section, each piece a verbatim passage."""

from deep_research.evidence.passage import Evidence, Passage, evidence_from
from deep_research.pipeline.state import RunState, Update
from deep_research.reasoning.values import Brief, Finding, ReadingRequest, SectionPlan
from deep_research.sources.hit import SearchQuery


async def extract(state: RunState) -> Update:
    """Store what the reasoner marked in a document, for whichever section; marks outside its text are dropped."""
    given, context = state.input, state.context
    reading = ReadingRequest(
        brief=Brief.from_json(given["brief"]),
        section=SectionPlan.from_json(given["section"]),
        outline=tuple(given.get("outline", ())),
        query=SearchQuery.from_json(given["query"]),
        document=await context.records.document(given["document"]),
    )
    findings = await context.reason("extract", lambda reasoner: reasoner.extract(reading))
    found = [_evidence(finding, reading) for finding in findings if _is_inside(finding, reading.document.text)]
    headers = [_header(piece, finding, reading) for piece, finding in found if finding.header]
    await context.run.store.put_evidence(context.run.claim, [*headers, *(piece for piece, _ in found)])
    title = reading.section.title
    return {
        "gathered_info": [piece.id for piece, _ in found if piece.section == title],
        "shared": [piece.id for piece, _ in found if piece.section != title],
    }


def _is_inside(finding: Finding, text: str) -> bool:
    spans = ((finding.start, finding.end), *([finding.header] if finding.header else []))
    return all(0 <= start < end <= len(text) for start, end in spans)


def _evidence(finding: Finding, reading: ReadingRequest) -> tuple[Evidence, Finding]:
    document = reading.document
    header = Passage(document=document.id, start=finding.header[0], end=finding.header[1]).id if finding.header else ""
    piece = evidence_from(
        Passage(document=document.id, start=finding.start, end=finding.end),
        text=document.text,
        finding=finding.finding,
        section=finding.section or reading.section.title,
        score=finding.score,
        header=header,
    )
    return piece, finding


def _header(piece: Evidence, finding: Finding, reading: ReadingRequest) -> Evidence:
    start, end = finding.header or (0, 0)
    passage = Passage(document=piece.document, start=start, end=end)
    quote = reading.document.text[start:end]
    return evidence_from(passage, text=reading.document.text, finding=quote, section=piece.section)
