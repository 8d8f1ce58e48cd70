"""Figures of two documents that are offered to whoever writes as belonging together."""

import pytest

from deep_research.reasoning.rules.weighing.connections import Connection, connections_of, in_words
from deep_research.reasoning.values import Context, Findings, Plan, SectionPlan, SectionWork
from deep_research.report.evidence.passage import Evidence
from tests.unit.reasoning.pieces import brief, piece


def found_in(*pieces: Evidence) -> list[Connection]:
    asked = brief("How did costs develop?")
    work = SectionWork(brief=asked, section=SectionPlan(title="S"), evidence=pieces)
    contexts = {each.id: Context(title=each.document) for each in pieces}
    plan = Plan(research_title="T", sections=(work.section,))
    return connections_of(Findings(brief=asked, plan=plan, sections=(work,), contexts=contexts))


PLANNED = piece("The council planned a boiler budget of 40 million euros for the harbour works.", "plan", score=1.0)
ACTUAL = piece("By December the harbour works had spent a boiler budget of 60 million euros.", "account", score=1.0)


def test_a_plan_and_its_result_are_put_together_with_the_sum_done() -> None:
    (pair,) = found_in(PLANNED, ACTUAL)
    assert {*pair.evidence} == {PLANNED.id, ACTUAL.id}
    factor = "1.5" if pair.evidence[0] == PLANNED.id else "0.667"
    assert pair.between == f"the second is {factor} times the first"


@pytest.mark.parametrize(
    "other",
    [
        ACTUAL.replace(document="plan"),
        piece("The choir spent 60 million euros on robes.", "choir", score=1.0),
        piece("The harbour works bought a boiler that heats 60 million litres.", "litres", score=1.0),
        ACTUAL.replace(score=0.0),
    ],
    ids=["one document", "another matter", "another unit", "found by no search"],
)
def test_what_does_not_belong_together_is_not(other: Evidence) -> None:
    assert not found_in(PLANNED, other)


def test_only_pairs_of_which_both_are_shown_are_told() -> None:
    pairs = found_in(PLANNED, ACTUAL)
    first, second = pairs[0].evidence
    assert in_words(pairs, {first: "P1"}) == []
    (line,) = in_words(pairs, {first: "P1", second: "P2"})
    assert line.startswith("P1: ")
    assert "P2: " in line
