"""Draft: from sections and evidence to paragraphs that carry evidence ids. Judges nothing: what is written is checked
by `verify`, which puts every refusal on record.
"""

from collections.abc import Sequence

from deep_research.evidence.passage import Evidence
from deep_research.pipeline.context import Ports
from deep_research.pipeline.fan_out import fan_out
from deep_research.pipeline.untold import left_out
from deep_research.reasoning.drafting import paragraphs_of
from deep_research.reasoning.selection import share_room
from deep_research.reasoning.values import Findings, SectionWork
from deep_research.report.paragraph import Paragraph

# Pieces of evidence that each section tells, however well the others do.
_LEAST = 2


async def draft(findings: Findings, *, ports: Ports) -> list[Paragraph]:
    """Write every section that has evidence, all at once; the rows of its tables are set by code."""
    written = await fan_out("section", within_room(findings), _draft_section, ports=ports)
    return [paragraph for paragraphs in written for paragraph in paragraphs]


def within_room(findings: Findings) -> list[SectionWork]:
    """Return the sections that have evidence, with what of it the whole report has room for."""
    shared = share_room([work.evidence for work in findings.sections], room=findings.brief.room, least=_LEAST)
    works = zip(findings.sections, shared, strict=True)
    return [work.model_copy(update={"evidence": tuple(kept)}) for work, kept in works if kept]


def as_claims(paragraphs: Sequence[Paragraph], section: str) -> list[Paragraph]:
    """Return what a reasoner wrote as claims to be checked: it does not call its own words a note or a caption."""
    return [
        paragraph.model_copy(update={"section": section, "kind": "table" if _is_table(paragraph) else "claim"})
        for paragraph in paragraphs
        if paragraph.sentences
    ]


async def _draft_section(work: SectionWork, ports: Ports) -> list[Paragraph]:
    title = work.section.title
    written = as_claims(await ports.reason("draft", lambda reasoner: reasoner.draft(work)), title)
    offered = left_out(_prose(work), [sentence for paragraph in written for sentence in paragraph.sentences])
    if offered:
        wish = {"told": tuple(written), "offered": tuple(piece.id for piece in offered)}
        rest, again = work.model_copy(update=wish), ports.at("again")
        written += as_claims(await again.reason("draft", lambda reasoner: reasoner.draft(rest)), title)
        ports.trail.join([again.trail])
    written = _once(written)
    shown = {id_ for paragraph in written if paragraph.kind == "table" for id_ in paragraph.cite_ids}
    rows = [piece for piece in work.evidence if piece.header and piece.id not in shown]
    return [*written, *paragraphs_of(title, rows)]


def _once(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Return paragraphs in which no sentence is told twice."""
    told: set[str] = set()
    kept = []
    for paragraph in paragraphs:
        fresh = {each.text: each for each in reversed(paragraph.sentences) if each.text not in told}
        told |= set(fresh)
        kept += [paragraph.model_copy(update={"sentences": tuple(fresh.values())[::-1]})] if fresh else []
    return kept


def _prose(work: SectionWork) -> Sequence[Evidence]:
    return [piece for piece in work.evidence if not piece.header]


def _is_table(paragraph: Paragraph) -> bool:
    return paragraph.kind == "table" and all(sentence.cells for sentence in paragraph.sentences)
