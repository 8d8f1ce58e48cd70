"""What a section's research came to, and the reading of it back from the state."""

from typing import Any

from deep_research.pipeline.context import Ports
from deep_research.pipeline.gap import Gap
from deep_research.reasoning.values import Brief, Findings, Plan, SectionPlan, SectionWork, Synthesis
from deep_research.value import Value


class SectionOutcome(Value):
    """A section after its last round; `used` counts its search tasks, `granted` what it was dealt."""

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
    is_exhausted: bool = False
    open_questions: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    next_queries: tuple[dict[str, Any], ...] = ()
    after: tuple[str, ...] = ()


async def section_work(state: dict[str, Any], *, ports: Ports) -> SectionWork:
    """Return what is known about the section that a section's state describes."""
    before = state.get("synthesis", "")
    synthesis = await ports.load(Synthesis, before) if before else Synthesis(text="", coverage=0.0)
    return SectionWork(
        brief=Brief.from_json(state["brief"]),
        section=SectionPlan.from_json(state["section"]),
        evidence=tuple(
            await ports.store.get_evidence(
                ports.run.row.id, state.get("evidence", []), section=state["section"]["title"]
            )
        ),
        synthesis=synthesis.text,
        coverage=synthesis.coverage,
        round=state.get("round", 0),
        queries_left=sum(state.get("grants", [])[1:]),
        asked=tuple(state.get("asked", ())),
        failures=tuple(
            Gap.from_json(gap).in_words for gap in state.get("gaps", ()) if gap["kind"] in ("search", "page")
        ),
    )


async def findings_from(state: dict[str, Any], *, ports: Ports) -> Findings:
    """Return everything that was found, in plan order."""
    brief, plan = Brief.from_json(state["brief"]), Plan.from_json(state["plan"])
    outcomes = {outcome.number: outcome for outcome in map(SectionOutcome.from_json, state.get("outcomes", []))}
    sections = []
    for number, section in enumerate(plan.sections, start=1):
        outcome = outcomes.get(number) or SectionOutcome(scope=f"section/{number}", number=number, title=section.title)
        known = {
            "brief": state["brief"],
            "section": section.to_json(),
            "evidence": list(outcome.evidence),
            "synthesis": outcome.synthesis,
            "round": outcome.rounds,
            "asked": list(outcome.asked),
        }
        sections.append(await section_work(known, ports=ports))
    return Findings(brief=brief, plan=plan, sections=tuple(sections))


def unanswered(outcomes: list[Any]) -> list[str]:
    """Return what the sections left open, in plan order, each question once."""
    left = [question for outcome in outcomes if not outcome["is_sufficient"] for question in outcome["open_questions"]]
    return list(dict.fromkeys(left))
