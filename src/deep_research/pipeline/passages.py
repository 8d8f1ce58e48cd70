"""Where passages stand in their documents, as whoever writes or judges gets to see it."""

import re
from collections.abc import Mapping, Sequence

from deep_research.documents.readers import place_of
from deep_research.pipeline.records import RunRecords
from deep_research.reasoning.rules.quoting.units import units_of
from deep_research.reasoning.values import Context, Findings
from deep_research.report.edition import CitedPassage
from deep_research.report.evidence.passage import Evidence, Passage, evidence_from
from deep_research.report.sources.document import Document
from deep_research.report.sources.head import HEAD_CHARS, head_facts
from deep_research.request import Language
from deep_research.text.headings import headings_above
from deep_research.text.in_thread import in_thread
from deep_research.text.messages.words import words_in
from deep_research.text.tables import find_tables

# In a longer table, rows that were found are a choice and no series.
_MAX_ROWS = 500
# So much of the text before and after a passage says what it is about.
_NEAR_CHARS = 400
_MAX_FACTS, _MAX_FACT_CHARS = 8, 120
_ADDRESSED = re.compile(r"(?m)^From: [^\n]*; To: ")
_OF_MESSAGES = ("mails", "chat")
_KINDS = {"cells": "spreadsheet", "slide": "slides", "page": "PDF"}


async def contexts_of(evidence: Sequence[Evidence], language: Language, records: RunRecords) -> dict[str, Context]:
    """Return where each piece of evidence stands, by its id."""
    words, addresses = words_in(language), await records.documents()
    facts = {}
    found = {}
    for piece in evidence:
        document = await records.document(piece.document)
        place = place_of(document.places, piece.start, piece.end, text=document.text)
        is_page = addresses.get(piece.document, "").startswith(("http://", "https://"))
        if document.id not in facts:
            kind = kind_of(document, is_page=is_page)
            facts[document.id] = kind, "" if kind in _OF_MESSAGES else facts_of(document.text)
        kind, told = facts[document.id]
        found[piece.id] = Context(
            title=document.title,
            author=document.author,
            opening=document.text[:_NEAR_CHARS],
            place=words(f"place.{place.kind}", label=place.label) if place else "",
            headings=headings_above(document.text, piece.start),
            near=document.text[max(0, piece.start - _NEAR_CHARS) : piece.end + _NEAR_CHARS],
            published=document.published,
            is_page=is_page,
            kind=kind,
            facts=told,
        )
    return found


def kind_of(document: Document, *, is_page: bool) -> str:
    """Return what sort of source a document is, in one or two words for a model."""
    if is_page:
        return "web page"
    kinds = {place.kind for place in document.places}
    if "message" in kinds:
        return _OF_MESSAGES[0 if _ADDRESSED.search(document.text) else 1]
    return next((name for kind, name in _KINDS.items() if kind in kinds), "document")


def facts_of(text: str) -> str:
    """Return what a document's head says of its status, dates and versions, and what a sheet says of its columns."""
    told = [fact.text[:_MAX_FACT_CHARS] for fact in head_facts(text) if fact.kind != "author"][:_MAX_FACTS]
    table = text.find("\n|")
    above = text[:table] if 0 <= table < HEAD_CHARS else ""
    described = [" ".join(line.split()) for line in above.split("\n") if line.count(": ") > 1]
    return "; ".join(dict.fromkeys((*told, *described)))[:HEAD_CHARS]


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
    if not table or len(table.rows) > _MAX_ROWS:
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
