"""What sections know, as reasoners are shown it: one in research, or all that a run has found, without copies."""

from collections.abc import Mapping, Sequence

from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.state import DeepResearchState, SectionState, Stop
from deep_research.reasoning.rules.quoting.selection import repeats
from deep_research.reasoning.values import Findings, SectionWork, Strings, Synthesis
from deep_research.report.evidence.passage import Evidence
from deep_research.report.sources.copies import ComparedText, group_copies
from deep_research.request import Depth
from deep_research.text.folding import to_simplified
from deep_research.text.in_thread import in_thread

# A section that is covered so far is not thin, even where its judge would have liked more.
LOW_COVERAGE = 0.7


def stop_of(state: SectionState, depth: Depth) -> Stop:
    """Say why a section's loop ends after this round, or "" where it searches again."""
    if state.is_sufficient:
        return "sufficient"
    if state.is_all_read or (state.round > 1 and not state.fresh):
        return "exhausted"
    if any(state.grants[:1]):
        return ""
    return "iterations" if state.round >= depth.max_iterations else "budget"


async def section_work(state: SectionState, records: RunRecords) -> SectionWork:
    """Return what is known about a section."""
    before = await records.load(Synthesis, state.synthesis) if state.synthesis else Synthesis(text="", coverage=0.0)
    return SectionWork(
        brief=state.brief,
        section=state.section,
        evidence=tuple(await records.evidence(state.evidence, section=state.section.title)),
        synthesis=before.text,
        coverage=before.coverage,
        round=state.round,
        queries_left=sum(state.grants[1:]),
        asked=(*state.asked, *state.elsewhere),
        failures=tuple(gap.in_words for gap in state.gaps if gap.kind in ("search", "page")),
    )


async def findings_from(state: DeepResearchState, records: RunRecords) -> Findings:
    """Return everything that was found, in plan order."""
    outcomes = {outcome.number: outcome for outcome in state.followed_outcomes}
    sections = []
    for number, section in enumerate(state.plan.sections, start=state.sections_before + 1):
        outcome = outcomes.get(number, SectionState())
        evidence = (*outcome.evidence, *state.shared.get(section.title, ()))
        work = await section_work(outcome.replace(brief=state.brief, section=section, evidence=evidence), records)
        own = without_copies(work.evidence, state.copies)
        sections.append(work.replace(evidence=tuple(own)))
    return Findings(brief=state.brief, plan=state.plan, sections=tuple(sections))


async def share_out(state: DeepResearchState, records: RunRecords, *, has_writer: bool) -> dict[str, Strings]:
    """Return for each section what pages read for others have for it, the best first, as far as there is room.

    Who writes the report chooses among all of it.
    """
    before = state.replace(shared={}, copies={})
    shared = {}
    for work in (await findings_from(before, records)).sections:
        known, title = {piece.id for piece in work.evidence}, work.section.title
        others = [id_ for id_ in state.gathered_info if id_ not in known]
        found = await records.evidence(others, section=title)
        fitting = sorted((piece for piece in found if piece.section == title), key=lambda one: (-one.score, one.id))
        chosen = (
            fitting if has_writer else await in_thread(_new_to, work.evidence, fitting, most=work.brief.evidence_limit)
        )
        shared[title] = tuple(piece.id for piece in chosen)
    return shared


def _new_to(known: Sequence[Evidence], offered: Sequence[Evidence], *, most: int) -> list[Evidence]:
    chosen: list[Evidence] = []
    for piece in offered:
        if len(known) + len(chosen) >= most:
            break
        if piece.header or not any(repeats(piece.quote, other.quote) for other in (*known, *chosen)):
            chosen.append(piece)
    return chosen


def unanswered(outcomes: Sequence[SectionState], findings: Findings) -> list[str]:
    """Return what the sections left open, in plan order, each question once.

    A section that found nothing by itself but was given something by others has not said what is open.
    """
    found_titles = {work.section.title for work in findings.sections if work.evidence}
    left = [
        question
        for outcome in outcomes
        if not outcome.is_sufficient and (outcome.evidence or outcome.section.title not in found_titles)
        for question in outcome.open_questions
    ]
    return list(dict.fromkeys(left))


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
