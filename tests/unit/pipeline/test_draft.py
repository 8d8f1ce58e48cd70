"""How long a report should be."""

import pytest

from deep_research.pipeline.stages.draft import words_wanted
from deep_research.reasoning.rules.question.analysis import outline_of_answer
from deep_research.reasoning.values import Brief, Findings, Plan, QuestionAnalysis, SectionPlan, SectionWork
from deep_research.report.evidence.passage import Evidence
from deep_research.request import Depth, ReportLength
from tests.unit.reasoning.pieces import piece


def findings(passages: int, length: ReportLength, *, title: str = "s", **given: object) -> Findings:
    brief = Brief.from_json({"question": "q", "original": "q", "language": "en", "length": length, **given})
    evidence: tuple[Evidence, ...] = tuple(
        piece(f"The town has {number} trees.", str(number)) for number in range(passages)
    )
    plan = Plan(research_title="t", sections=(SectionPlan(title=title),))
    return Findings(
        brief=brief, plan=plan, sections=(SectionWork(brief=brief, section=plan.sections[0], evidence=evidence),)
    )


@pytest.mark.parametrize(("length", "words"), [("short", 400), ("standard", 1_100), ("long", 2_500), ("deep", 4_500)])
def test_the_length_alone_says_how_long_a_report_is(length: ReportLength, words: int) -> None:
    for depth in ("quick", "standard", "deep"):
        assert words_wanted(findings(200, length, depth=Depth.named(depth).to_json())) == words


@pytest.mark.parametrize("length", ["standard", "long", "deep"])
def test_little_material_makes_a_short_report_whatever_is_asked_for(length: ReportLength) -> None:
    assert words_wanted(findings(10, length)) == 450


def test_one_thing_is_told_in_few_words() -> None:
    [title] = outline_of_answer("en")
    precise = QuestionAnalysis(kind="fact").to_json()
    question = "How many trees has the town?"
    assert words_wanted(findings(200, "deep", title=title, analysis=precise, question=question)) == 200
