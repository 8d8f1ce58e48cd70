"""What is known of all sections, as reasoners are shown it: in research, or all that was found, without copies."""

from collections.abc import Mapping, Sequence

from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.state import DeepResearchState, SectionState, Stop
from deep_research.reasoning.rules.quoting.selection import repeats
from deep_research.reasoning.values import Findings, SectionWork, Synthesis
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.copies import ComparedText, group_copies
from deep_research.text.folding import to_simplified
from deep_research.text.in_thread import in_thread


def stop_of(state: SectionState) -> Stop:
    """Say why the search ends after this round, or "" where it goes on, as it does for what a reader added."""
    if state.is_ended:
        return "enough"
    if state.grant and any(entry.is_wanted for entry in state.entries):
        return ""
    if state.is_sufficient:
        return "sufficient"
    if state.is_all_read or (state.round > 1 and not state.fresh):
        return "exhausted"
    if state.grant:
        return ""
    return "iterations" if state.round >= state.brief.depth.max_iterations else "budget"


async def section_work(state: SectionState, records: RunRecords) -> SectionWork:
    """Return what is known about all sections as one."""
    synthesis = (await records.load(Synthesis, state.synthesis)).text if state.synthesis else ""
    return SectionWork(
        brief=state.brief,
        section=state.section,
        evidence=tuple(await records.evidence(state.evidence, sections=state.outline)),
        synthesis=synthesis,
        round=state.round,
        queries_left=sum(state.grants[1:]),
        asked=state.asked,
        entries=state.entries,
        outline=state.outline,
        failures=tuple(gap.in_words for gap in state.gaps if gap.kind in ("search", "page")),
    )


async def findings_from(state: DeepResearchState, records: RunRecords) -> Findings:
    """Return everything that was found, in plan order; of what was not carried along, what there is room for."""
    whole = await section_work(state, records)
    carried = {*state.evidence}
    others = [id_ for id_ in state.gathered_info if id_ not in carried]
    left = sorted(await records.evidence(others, sections=state.outline), key=lambda one: (-one.score, one.id))
    kept = await in_thread(_filled, whole, left)
    own = without_copies(kept, state.copies)
    sections = tuple(whole.of(section, own) for section in state.plan.sections)
    entries = tuple(entry.at_the_end for entry in state.entries)
    return Findings(brief=state.brief, plan=state.plan, sections=sections, synthesis=whole.synthesis, entries=entries)


def _filled(work: SectionWork, offered: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence of all sections, with what is new to a section that has room for it."""
    kept = {title: [piece for piece in work.evidence if piece.section == title] for title in work.outline}
    for piece in offered:
        own = kept.get(piece.section)
        if own is not None and len(own) < work.brief.evidence_limit:
            is_new = piece.header or not any(repeats(piece.quote, other.quote) for other in own)
            own += [piece] if is_new else []
    return [piece for own in kept.values() for piece in own]


# Copies of one text on several sites are one origin: what they share is cited once, from the one that stands first.


async def find_copies(records: RunRecords) -> dict[str, str]:
    """Return each page of the web that repeats another, with the one that it repeats, over all that the run has read.

    Of a user's own documents, the index keeps copies apart already.
    """
    texts = {}
    for address, document in (await records.store.list_addresses(records.run)).items():
        if document not in texts and address.startswith(("http://", "https://")):
            read = await records.document(document)
            texts[document] = ComparedText(text=read.text, published=read.published, address=address)
    leaders = await in_thread(group_copies, texts) if len(texts) > 1 else {}
    return {copy: original for copy, original in leaders.items() if copy != original}


def without_copies(evidence: Sequence[Evidence], copies: Mapping[str, str]) -> list[Evidence]:
    """Return the evidence without what copies repeat: of one origin each text stays once, the original's own first."""
    if not copies:
        return list(evidence)
    texts_of: dict[str, str] = {}
    chosen_ids = set()
    for piece in sorted(evidence, key=lambda piece: piece.document in copies):
        original, text = copies.get(piece.document, piece.document), _bare(piece.quote)
        if original == piece.document or text not in texts_of.get(original, ""):
            texts_of[original] = f"{texts_of.get(original, '')}\n{text}"
            chosen_ids.add(piece.id)
    return [piece for piece in evidence if piece.id in chosen_ids]


def _bare(text: str) -> str:
    return "".join(to_simplified(text).split())
