"""What a section's research came to, and the reading of it back from the state."""

from collections.abc import Sequence
from typing import Any, Literal

from deep_research.evidence.passage import Evidence
from deep_research.in_thread import in_thread
from deep_research.pipeline.copies import without_copies
from deep_research.pipeline.gap import Gap
from deep_research.pipeline.records import RunRecords
from deep_research.reasoning.rules.quoting.selection import repeats
from deep_research.reasoning.values import Brief, Findings, Plan, SectionPlan, SectionWork, Synthesis
from deep_research.value import Value

# Why a section is not searched for any further: enough is known, the queries are spent, the rounds are, or the last
# round brought nothing new, or other focuses are wanted.
Stop = Literal["", "sufficient", "budget", "iterations", "exhausted", "refocused"]
# A section that is covered so far is not thin, even where its judge would have liked more.
THIN = 0.7


class SectionOutcome(Value):
    """A section after its last round; `used` counts its search tasks, `granted` what it was allocated.

    `stop` says why it is not searched for any further.
    """

    scope: str
    number: int
    title: str
    rounds: int = 0
    used: int = 0
    granted: int = 0
    evidence: tuple[str, ...] = ()
    synthesis: str = ""
    coverage: float = 0.0
    is_sufficient: bool = False
    stop: Stop = ""
    open_questions: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    next_queries: tuple[dict[str, Any], ...] = ()
    after: tuple[str, ...] = ()


def stop_of(state: dict[str, Any], *, max_rounds: int) -> Stop:
    """Say why a section's loop ends after this round, or "" where it searches again."""
    if state.get("is_sufficient"):
        return "sufficient"
    if state.get("is_all_read") or (state["round"] > 1 and not state["fresh"]):
        return "exhausted"
    if any(state["grants"][:1]):
        return ""
    return "iterations" if state["round"] >= max_rounds else "budget"


def outcomes_of(state: dict[str, Any]) -> list[Any]:
    """Return what the sections of the plan that is followed came to."""
    return [each for each in state.get("outcomes", []) if each["number"] > state.get("sections_before", 0)]


async def section_work(state: dict[str, Any], records: RunRecords) -> SectionWork:
    """Return what is known about the section that a section's state describes."""
    before = state.get("synthesis", "")
    synthesis = await records.load(Synthesis, before) if before else Synthesis(text="", coverage=0.0)
    return SectionWork(
        brief=Brief.from_json(state["brief"]),
        section=SectionPlan.from_json(state["section"]),
        evidence=tuple(await records.evidence(state.get("evidence", []), section=state["section"]["title"])),
        synthesis=synthesis.text,
        coverage=synthesis.coverage,
        round=state.get("round", 0),
        queries_left=sum(state.get("grants", [])[1:]),
        asked=(*state.get("asked", ()), *state.get("elsewhere", ())),
        failures=tuple(
            Gap.from_json(gap).in_words for gap in state.get("gaps", ()) if gap["kind"] in ("search", "page")
        ),
    )


async def findings_from(state: dict[str, Any], records: RunRecords) -> Findings:
    """Return everything that was found, in plan order."""
    brief, plan = Brief.from_json(state["brief"]), Plan.from_json(state["plan"])
    outcomes = {outcome["number"]: outcome for outcome in outcomes_of(state)}
    sections = []
    for number, section in enumerate(plan.sections, start=state.get("sections_before", 0) + 1):
        outcome = outcomes.get(number, {})
        known = {
            "brief": state["brief"],
            "section": section.to_json(),
            "evidence": [*outcome.get("evidence", ()), *state.get("shared", {}).get(section.title, [])],
            "synthesis": outcome.get("synthesis", ""),
            "round": outcome.get("rounds", 0),
            "asked": outcome.get("asked", ()),
        }
        work = await section_work(known, records)
        own = without_copies(work.evidence, state.get("copies", {}))
        sections.append(work.model_copy(update={"evidence": tuple(own)}))
    return Findings(brief=brief, plan=plan, sections=tuple(sections))


async def share_out(state: dict[str, Any], records: RunRecords, *, has_writer: bool) -> dict[str, list[str]]:
    """Return for each section what pages read for others have for it, the best first, as far as there is room.

    Who writes the report chooses among all of it.
    """
    plain = {**state, "shared": {}, "copies": {}}
    shared: dict[str, list[str]] = {}
    for work in (await findings_from(plain, records)).sections:
        known, title = {piece.id for piece in work.evidence}, work.section.title
        others = [id_ for id_ in state.get("gathered_info", []) if id_ not in known]
        found = await records.evidence(others, section=title)
        fitting = sorted((piece for piece in found if piece.section == title), key=lambda one: (-one.score, one.id))
        chosen = fitting if has_writer else await in_thread(_new_to, work.evidence, fitting, room=work.brief.room)
        shared[title] = [piece.id for piece in chosen]
    return shared


def _new_to(known: Sequence[Evidence], offered: Sequence[Evidence], *, room: int) -> list[Evidence]:
    chosen: list[Evidence] = []
    for piece in offered:
        if len(known) + len(chosen) >= room:
            break
        if piece.header or not any(repeats(piece.quote, other.quote) for other in (*known, *chosen)):
            chosen.append(piece)
    return chosen


def unanswered(outcomes: list[Any], findings: Findings) -> list[str]:
    """Return what the sections left open, in plan order, each question once.

    A section that found nothing by itself but was given something by others has not said what is open.
    """
    given = {work.section.title for work in findings.sections if work.evidence}
    left = [
        question
        for outcome in outcomes
        if not outcome["is_sufficient"] and (outcome["evidence"] or outcome["title"] not in given)
        for question in outcome["open_questions"]
    ]
    return list(dict.fromkeys(left))
