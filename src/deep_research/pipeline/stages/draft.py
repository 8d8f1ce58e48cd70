"""Draft: from a section and its evidence to paragraphs that carry evidence ids. Judges nothing: what is written is
checked by `verify`, which puts every refusal on record.
"""

from collections.abc import Sequence

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.copies import find_copies, without_copies
from deep_research.pipeline.missing_figures import left_out
from deep_research.pipeline.outcome import section_work
from deep_research.pipeline.state import RunState, Update
from deep_research.reasoning.rules.question.analysis import has_short_outline, is_answered_first
from deep_research.reasoning.rules.quoting.drafting import paragraphs_of, supporting
from deep_research.reasoning.rules.quoting.selection import MAX_SECTION_SHARE, best_first, share_room
from deep_research.reasoning.values import Brief, Findings, SectionWork
from deep_research.report.paragraph import Paragraph

# Pieces of evidence that each section has room for, however well the others do.
_MIN_PIECES = 2
# So many sentences of its sources a report without sections has room for, and each section of another.
_SENTENCES = {"short": (12, 12), "standard": (40, 12), "long": (90, 30)}


async def begin_draft(work: SectionWork, context: StageContext) -> list[Paragraph]:
    """Write a section from the evidence that suffices for it."""
    return as_claims(await context.reason("draft", lambda reasoner: reasoner.draft(work)), work.section.title)


async def draft(state: RunState) -> Update:
    """Write a section from its evidence; `is_first` says that others are still searched for."""
    context, given = state.context, state.input
    work = await section_work(given, context.records)
    if given.get("is_first"):
        if has_short_outline(work.brief, given["outline"]):
            # The one section is written when all is known.
            return {}
        # Of the section's own pages alone: which others are read by now, nobody can say a second time.
        copies = await find_copies(context.records, among={piece.document for piece in work.evidence})
        own = await without_copies(work.evidence, copies, context.records)
        # An even share of the report's room, whatever the other sections will have.
        count = len(given["outline"])
        (kept,) = share_room([own], room=_room(work.brief, count) // count, least=_MIN_PIECES, largest=1.0)
        written = await begin_draft(work.model_copy(update={"evidence": tuple(kept)}), context)
        if any(gap.subject == "draft" for gap in context.gaps):
            # Rules stood in for the model: they write when all is known.
            return {}
        return {"draft": await context.records.keep(written), "evidence": [piece.id for piece in kept]}
    begun = await context.records.load_all(Paragraph, given.get("draft", ""))
    return {"draft": await context.records.keep(await complete_draft(work, begun, context))}


async def complete_draft(work: SectionWork, begun: Sequence[Paragraph], context: StageContext) -> list[Paragraph]:
    """Write a section, or complete what was begun, with all its evidence; the rows of its tables are set by code."""
    title = work.section.title
    written = list(begun) or await begin_draft(work, context)
    prose = [piece for piece in work.evidence if not piece.header]
    offered = left_out(prose, [sentence for paragraph in written for sentence in paragraph.sentences])
    if offered:
        request = {"written": tuple(written), "offered": tuple(piece.id for piece in offered)}
        rest, again = work.model_copy(update=request), context.at("again")
        written += as_claims(await again.reason("draft", lambda reasoner: reasoner.draft(rest)), title)
        context.trail.join([again.trail])
    written = _once(written)
    shown = {id_ for paragraph in written if paragraph.kind == "table" for id_ in paragraph.cite_ids}
    rows = [piece for piece in work.evidence if piece.header and piece.id not in shown]
    return [*written, *paragraphs_of(title, rows)]


def within_room(findings: Findings, begun: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return what of each section's evidence the whole report has room for; what is written already stays.

    A question that a few sentences answer gets those, and what supports them.
    """
    brief, count = findings.brief, len(findings.sections)
    if has_short_outline(brief, findings.plan.titles) and is_answered_first(brief):
        return [[piece.id for piece in supporting(best_first(work.evidence), work.brief)] for work in findings.sections]
    largest = MAX_SECTION_SHARE if count > 1 else 1.0
    gathered = [work.evidence for work in findings.sections]
    shared = share_room(gathered, room=_room(brief, count), least=_MIN_PIECES, largest=largest)
    return [
        list(dict.fromkeys((*written, *(piece.id for piece in kept))))
        for written, kept in zip(begun, shared, strict=True)
    ]


def _room(brief: Brief, sections: int) -> int:
    """Return how many sentences of its sources a report of so many sections has room for."""
    alone, each = _SENTENCES[brief.length]
    return alone if sections == 1 else min(each * sections, brief.room)


def as_claims(paragraphs: Sequence[Paragraph], section: str) -> list[Paragraph]:
    """Return what a reasoner wrote as claims to be checked: it does not call its own words a note or a caption."""
    claims = []
    for paragraph in paragraphs:
        is_table = paragraph.kind == "table" and all(row.cells or row.backing for row in paragraph.sentences)
        if paragraph.sentences:
            kind = "table" if is_table else "claim"
            claims.append(paragraph.model_copy(update={"section": section, "kind": kind}))
    return claims


def _once(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Return paragraphs in which no sentence stands twice."""
    known: set[str] = set()
    kept = []
    for paragraph in paragraphs:
        fresh = {each.text: each for each in reversed(paragraph.sentences) if each.text not in known}
        known |= set(fresh)
        kept += [paragraph.model_copy(update={"sentences": tuple(fresh.values())[::-1]})] if fresh else []
    return kept
