"""Where passages stand in their documents, as whoever writes or judges gets to see it."""

from collections.abc import Mapping, Sequence

from deep_research.documents.readers import place_of
from deep_research.pipeline.records import RunRecords
from deep_research.reasoning.rules.quoting.units import headings_above, units_of
from deep_research.reasoning.values import Context, Findings
from deep_research.report.edition import CitedPassage
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.sources.document import Document
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import words_in
from deep_research.text.tables import find_tables

# In a longer table, rows that were found are a choice and no series.
_MAX_ROWS = 500
# So much of the text before and after a passage says what it is about.
_NEAR_CHARS = 400


async def contexts_of(findings: Findings, records: RunRecords) -> dict[str, Context]:
    """Return where each piece of evidence stands, by its id."""
    words, addresses = words_in(findings.brief.language), await records.documents()
    found = {}
    for piece in findings.evidence:
        document = await records.document(piece.document)
        place = place_of(document.places, piece.start, piece.end, text=document.text)
        found[piece.id] = Context(
            title=document.title,
            author=document.author,
            opening=document.text[:_NEAR_CHARS],
            place=words(f"place.{place.kind}", label=place.label) if place else "",
            headings=headings_above(document.text, piece.start),
            near=document.text[max(0, piece.start - _NEAR_CHARS) : piece.end + _NEAR_CHARS],
            published=document.published,
            is_page=addresses.get(piece.document, "").startswith(("http://", "https://")),
        )
    return found


async def cited_passages(
    evidence: Sequence[Evidence], places: Mapping[str, str], records: RunRecords
) -> tuple[CitedPassage, ...]:
    """Return what a report cites, with the text around it; `places` are where it stands, by id."""
    wanted = sorted({piece.header for piece in evidence if piece.header})
    headers = {piece.id: piece.quote for piece in await records.evidence(wanted)}
    passages = []
    for piece in evidence:
        text = (await records.document(piece.document)).text
        passages.append(
            CitedPassage(
                **piece.model_dump(include={"id", "document", "start", "end", "quote"}),
                before=text[max(0, piece.start - _NEAR_CHARS) : piece.start],
                after=text[piece.end : piece.end + _NEAR_CHARS],
                place=places.get(piece.id, ""),
                header=headers.get(piece.header, ""),
            )
        )
    return tuple(passages)


async def whole_tables(findings: Findings, records: RunRecords) -> Findings:
    """Return the findings with every row of the tables of which some were found: a series with holes tells another."""
    sections = []
    for work in findings.sections:
        passages = [piece for piece in work.evidence if not piece.header]
        tables: dict[str, list[Evidence]] = {}
        for piece in work.evidence:
            if piece.header:
                tables.setdefault(piece.header, []).append(piece)
        for found in tables.values():
            document = await records.document(found[0].document)
            passages += await in_thread(_rows_of_table, document, found)
        sections.append(work.replace(evidence=tuple(passages)))
    return findings.replace(sections=tuple(sections))


def _rows_of_table(document: Document, found: Sequence[Evidence]) -> list[Evidence]:
    table = next((each for each in find_tables(document.text) if each.start <= found[0].start < each.end), None)
    if table is None or len(table.rows) > _MAX_ROWS:
        return []
    scores = {piece.id: piece.score for piece in found}
    rows = []
    for unit in units_of(document.text, [(table.start, table.end)]):
        passage = Passage(document=document.id, start=unit.start, end=unit.end)
        if unit.header:
            row = evidence_from(
                passage, text=document.text, finding=unit.text, section=found[0].section, header=found[0].header
            )
            rows.append(row.replace(score=scores.get(row.id, 0.0)))
    return rows
