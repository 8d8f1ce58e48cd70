"""Intake around any judge: terms are looked up once, nobody is asked too often, and what was left out is filled in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import ClarificationFailed
from deep_research.pipeline.stages.intake import brief_from, exchange_from, final_assessment, inquiry_from, names_it
from deep_research.pipeline.state import DeepResearchState
from deep_research.reasoning.rules.question.clarifier import assess
from deep_research.reasoning.values import Assessment, ClarificationQuestion, Exchange, Inquiry, TaskBrief
from deep_research.report.sources.hit import Hit
from deep_research.request import FocusRule, IntakeRules, ResearchRequest
from tests.e2e.harness import Lab, User

ASKED = ClarificationQuestion(question="Which one?", options=("a", "b"))


def judgement(action: str, **given: Any) -> Assessment:
    return Assessment.from_json({"next_action": action, "confidence": 0.3, **given})


def brought_in_line(assessment: Assessment, question: str = "癌症", **given: Any) -> Assessment:
    inquiry = Inquiry(question=question, **given)
    return final_assessment(assessment, assess(inquiry), inquiry)


def told(*answers: str) -> tuple[Exchange, ...]:
    return tuple(Exchange(question="?", answer=answer) for answer in answers)


def test_judge_that_asks_without_a_question_gets_ours() -> None:
    assert brought_in_line(judgement("NEED_CLARIFICATION")).clarification is not None
    clear = brought_in_line(judgement("NEED_CLARIFICATION"), "What is photosynthesis?")
    assert clear.clarification is not None
    assert len(clear.clarification.options) > 1


def test_judge_that_asks_with_a_question_is_heard() -> None:
    asked = brought_in_line(judgement("NEED_CLARIFICATION", clarification=ASKED.to_json()))
    assert asked.clarification == ASKED


@pytest.mark.parametrize("answers", [("a", "b", "c"), ("start now",), ("随便",)])
def test_whoever_is_not_asked_again_gets_stated_assumptions(answers: tuple[str, ...]) -> None:
    started = brought_in_line(judgement("NEED_CLARIFICATION"), exchanges=told(*answers), language="zh-Hans")
    assert started.next_action == "START_RESEARCH"
    assert started.clarification is None
    assert started.task.goal
    assert started.assumptions


@pytest.mark.parametrize("question", ["cv", "Plan a trip to Paris", "那个靶点", "it", "XYZ123 gene"])
def test_every_doubt_that_is_left_open_is_told(question: str) -> None:
    given: dict[str, Any] = {"unknown_terms": ("XYZ123",), "exchanges": told("start now")}
    inquiry = Inquiry(question=question, **given)
    started = final_assessment(assess(inquiry, infers_focus=False), assess(inquiry), inquiry)
    assert started.next_action == "START_RESEARCH"
    assert started.assumptions


def test_clear_judgement_is_given_no_assumption_it_did_not_make() -> None:
    clear = judgement("START_RESEARCH", task={"goal": "g", "research_focus": ["a", "b", "c"]})
    assert brought_in_line(clear, "GLP-1").assumptions == ()


def test_third_focus_is_inferred_beside_two_and_stated() -> None:
    two = judgement("START_RESEARCH", task={"goal": "g", "research_focus": ["Costs", "Evidence and figures"]})
    filled = brought_in_line(two)
    assert filled.task.research_focus[:2] == ("Costs", "Evidence and figures")
    assert len(set(filled.task.research_focus)) == 3
    assert filled.task.research_focus[2] in filled.assumptions[0]


def test_term_is_looked_up_once() -> None:
    verify = judgement("VERIFY_TOPIC", unknown_terms=["X1", "X2"])
    assert brought_in_line(verify).next_action == "VERIFY_TOPIC"
    assert brought_in_line(verify, unknown_terms=("X1",)).next_action == "VERIFY_TOPIC"
    asked = brought_in_line(verify, "X1 gene", unknown_terms=("X1", "X2"))
    assert asked.next_action == "NEED_CLARIFICATION"
    assert "X1" in asked.clarification_question


def test_term_that_was_found_is_not_asked_about_even_if_the_judge_insists() -> None:
    verify = judgement("VERIFY_TOPIC", unknown_terms=["X1"])
    assert brought_in_line(verify, known_terms=("X1",)).next_action == "START_RESEARCH"


def test_off_neither_looks_up_nor_asks() -> None:
    for action in ("VERIFY_TOPIC", "NEED_CLARIFICATION"):
        assert brought_in_line(judgement(action, unknown_terms=["X1"]), clarify="off").next_action == "START_RESEARCH"


def test_strict_wants_a_valid_answer() -> None:
    for answer in ("", "start now", "隨便", "9", "???"):
        with pytest.raises(ClarificationFailed) as failed:
            exchange_from(ASKED, answer, is_strict=True)
        assert failed.value.exit_code == 1
    assert exchange_from(ASKED, "2024", is_strict=True).answer == "2024"
    assert exchange_from(ASKED, "", is_strict=False).answer == ""


@pytest.mark.parametrize(
    ("title", "snippet", "is_named"),
    [
        ("A study of status6", "", True),
        ("Genes", "Expression of STATUS6 rose.", True),
        ("Genes", "Nothing of the kind.", False),
        ("Genes", "A long passage that was cut …", True),
    ],
)
def test_hit_must_name_the_term_as_far_as_it_can_be_seen(title: str, snippet: str, is_named: bool) -> None:
    assert names_it(Hit(address="a", title=title, snippet=snippet), "STATUS6") == is_named


def test_rules_give_the_focuses_of_a_question_and_of_its_answers() -> None:
    rules = IntakeRules(focus=(FocusRule(pattern="inhibitor", focus=("Targets", "Drugs")),), default_focus=("Basics",))
    given: dict[str, Any] = {"language": "en", "known_terms": (), "unknown_terms": ()}

    def focus(question: str, *answers: str, own: tuple[str, ...] = ()) -> tuple[tuple[str, ...], bool]:
        request = ResearchRequest(question=question, rules=rules, focus=own)
        inquiry = inquiry_from(request, DeepResearchState(exchanges=told(*answers), **given))
        assessment = Assessment(next_action="START_RESEARCH", confidence=1, task=TaskBrief(goal="g"))
        brief = brief_from(inquiry, assessment, today="2026-01-31")
        return brief.focus, brief.has_own_focus

    assert focus("KRAS inhibitors") == (("Targets", "Drugs"), True)
    assert focus("KRAS", "its inhibitors") == (("Targets", "Drugs"), True)
    assert focus("KRAS inhibitors", own=("Mine",)) == (("Mine",), True)
    assert focus("Heat pumps") == (("Basics",), True)


def test_rules_hold_for_a_judge_that_does_not_know_them() -> None:
    rules = IntakeRules(terms={"CV": "computer vision"}, questions={"aspect": "Which part of {topic}?"})
    inquiry = Inquiry(question="cancer", rules=rules)
    asked = final_assessment(judgement("NEED_CLARIFICATION", clarification=ASKED.to_json()), assess(inquiry), inquiry)
    assert asked.clarification_question == "Which part of cancer?"
    started = final_assessment(judgement("START_RESEARCH", refined_query="CV in radiology"), assess(inquiry), inquiry)
    assert started.refined_query == "CV (computer vision) in radiology"
    assert len(started.assumptions) == 1


@pytest.mark.parametrize("question", ["What did the projects cost and achieve?", "这些项目花了多少钱，效果如何？"])
def test_rules_assess_a_question_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    judged: list[str] = []

    def counted(inquiry: Inquiry, **given: Any) -> Assessment:
        judged.append(inquiry.question)
        return assess(inquiry, **given)

    monkeypatch.setattr("deep_research.pipeline.stages.intake.assess_by_rules", counted)
    monkeypatch.setattr("deep_research.reasoning.rules.reasoner.assess", counted)
    lab = Lab(User(tmp_path), change=lambda adapters: replace(adapters, models=(), reasoner=None))
    assert lab.ask(question).status == "done"
    assert judged == [question]
