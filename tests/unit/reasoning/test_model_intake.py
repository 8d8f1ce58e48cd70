"""What a model makes of a question: whether it is clear, and what it asks for."""

import json

import pytest

from deep_research.errors import UnusableAnswer
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.values import (
    Inquiry,
    QuestionAnalysis,
)
from tests.unit.reasoning.scripted import (
    Scripted,
    reasoner_of,
)


async def test_a_question_is_researched_as_it_stands_and_a_talk_as_the_question_it_comes_to() -> None:
    answer = {"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "refined_question": "What do cats eat?"}
    alone = Inquiry(question="What do dogs eat at night?")
    assessment = await reasoner_of(Scripted([json.dumps(answer)])).assess(alone)
    assert assessment.refined_query == ""
    talked = alone.model_copy(update={"context": "We spoke of cats."})
    assessment = await reasoner_of(Scripted([json.dumps(answer)])).assess(talked)
    assert assessment.refined_query == "What do cats eat?"
    assert any("What do cats eat?" in line for line in assessment.assumptions)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ({"confidence": 0.95, "goal": "g", "focuses": ["a", "b", "c"]}, "START_RESEARCH"),
        ({"confidence": 0.95, "goal": "g", "focuses": ["a", "b"]}, "START_RESEARCH"),
        ({"confidence": 0.95, "goal": "", "focuses": ["a", "b", "c"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.95, "goal": "g", "focuses": ["a"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.6, "goal": "g", "focuses": ["a", "b", "c"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "unknown_terms": ["XYZ123"]}, "VERIFY_TOPIC"),
        ({"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "unknown_terms": ["ABC"]}, "START_RESEARCH"),
        ({"confidence": 0.1, "impossible": "it asks for the asker's own thoughts"}, "CANNOT_DO"),
    ],
)
async def test_the_thresholds_of_the_next_action_are_ours(answer: dict[str, object], action: str) -> None:
    inquiry = Inquiry(question="What does the gene XYZ123 do in mice?")
    assessment = await reasoner_of(Scripted([json.dumps(answer)])).assess(inquiry)
    assert assessment.next_action == action


_CLEAR = {"confidence": 0.95, "goal": "g", "focuses": ["a", "b", "c"]}


async def _read_as(question: str, **answer: object) -> QuestionAnalysis:
    assessment = await reasoner_of(Scripted([json.dumps(_CLEAR | answer)])).assess(Inquiry(question=question))
    assert assessment.analysis is not None
    return assessment.analysis


async def test_what_a_model_takes_a_question_to_ask_for_is_kept() -> None:
    analysis = await _read_as(
        "Tell me about the mast at Lower Ford in 2024: its mending, its price. No surcharges.",
        kind="Who/When/Where",
        parts=["the mast at Lower Ford: its mending", "the mast at Lower Ford: its price"],
        excluded=["surcharges"],
        anchors=["Lower Ford", "2024"],
        asks_for="Money",
    )
    assert analysis.kind == "who_when_where"
    assert len(analysis.parts) == 2
    assert analysis.excluded == ("surcharges",)
    assert analysis.names == ("Lower Ford",)
    assert analysis.periods == ("2024",)
    assert analysis.asks_for == "money"


@pytest.mark.parametrize("question", ["2023年青岚市花了多少钱？", "2023年青嵐市花了多少錢？"])
async def test_the_same_in_chinese(question: str) -> None:
    analysis = await _read_as(question, kind="fact", anchors=[question[5:8], "2023年"], asks_for="money")
    assert (analysis.kind, analysis.names, analysis.periods) == ("fact", (question[5:8],), ("2023",))


async def test_what_the_asker_did_not_write_is_not_taken_from_a_model() -> None:
    question = "Who mended the mast at Lower Ford, and what did that cost?"
    analysis = await _read_as(
        question,
        kind="riddle",
        parts=["Who mended the mast?", "Was the mayor bribed?"],
        excluded=["bribes"],
        anchors=["Halden", "1999", "stage 4"],
        asks_for="glory",
    )
    assert analysis == analyze_question(question)


@pytest.mark.parametrize(
    ("said", "breadth"), [("field", "field"), ("Fact", "fact"), (" comparison ", "comparison"), (None, ""), ("", "")]
)
async def test_how_wide_a_question_is_comes_with_the_same_answer(said: object, breadth: str) -> None:
    model = Scripted([json.dumps(_CLEAR | {"breadth": said})])
    assessment = await reasoner_of(model).assess(Inquiry(question="Who mended the mast at Lower Ford?"))
    assert assessment.breadth == breadth
    [request] = model.requests
    assert "a subject with its history, its alternatives and a decision that needs all of them" in request.text


@pytest.mark.parametrize("nothing", [None, [], "", {}])
async def test_an_analysis_that_a_model_leaves_out_is_made_by_rules(nothing: object) -> None:
    question = "Who mended the mast at Lower Ford, and what did that cost?"
    fields = dict.fromkeys(("kind", "parts", "excluded", "anchors", "asks_for", "topic_explicit"), nothing)
    assert await _read_as(question, **fields) == analyze_question(question)


@pytest.mark.parametrize("dimension", ["topic_explicit", "scope_inferable", "goal_clear"])
@pytest.mark.parametrize("no", [False, "no", "否"])
async def test_a_dimension_in_doubt_and_a_question_to_ask_come_before_confidence(dimension: str, no: object) -> None:
    answer = _CLEAR | {dimension: no, "question": "Which one?", "options": ["a", "b"]}
    assessment = await reasoner_of(Scripted([json.dumps(answer)])).assess(
        Inquiry(question="What did the retrofit cost?")
    )
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert assessment.clarification_question == "Which one?"


async def test_strict_mode_needs_no_model() -> None:
    model = Scripted()
    assessment = await reasoner_of(model).assess(Inquiry(question="ai", clarify="strict"))
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert model.requests == []


async def test_an_assessment_that_broke_off_is_asked_for_again_and_never_put_to_the_asker() -> None:
    model = Scripted(['{"confidence": 0.95,'])
    assessment = await reasoner_of(model).assess(Inquiry(question="What did the harbour retrofit of Halden cost?"))
    assert assessment.next_action == "START_RESEARCH"
    assert len(model.requests) == 2
    with pytest.raises(UnusableAnswer, match="goal"):
        await reasoner_of(Scripted(['{"confidence": 0.95,'] * 2)).assess(Inquiry(question="What did it cost?"))
