"""What answers and context do to a question: one good answer is enough, and nothing of ours leaks into the query."""

import pytest

from deep_research.reasoning.rules.question.clarifier import assess
from deep_research.reasoning.rules.question.material import topic_of
from deep_research.reasoning.values import Assessment, Exchange, Inquiry, RelatedText
from deep_research.text.messages.language import report_language
from deep_research.text.script import detect_language


def answered(question: str, *answers: str | int, **given) -> Assessment:
    """Put our own questions one after the other; a number chooses that option."""
    inquiry = Inquiry(question=question, language=report_language(question), **given)
    for answer in answers:
        asked = assess(inquiry).clarification
        assert asked is not None
        text = asked.options[answer] if isinstance(answer, int) else answer
        exchange = Exchange(question=asked.question, answer=text)
        inquiry = inquiry.model_copy(update={"exchanges": (*inquiry.exchanges, exchange)})
    return assess(inquiry)


@pytest.mark.parametrize("question", ["癌症", "cancer", "癌症治療", "AI", "cancer treatment"])
@pytest.mark.parametrize("option", range(4))
def test_every_side_that_is_offered_is_an_answer(question, option):
    assessment = answered(question, option)
    assert assessment.next_action == "START_RESEARCH"
    assert assessment.refined_query.startswith(question)


HELD = (
    RelatedText(title="Waterworks report 2025", text="Two pumps of the Harbour Lights project failed."),
    RelatedText(title="泵站年报", text="泵站有两台水泵。海湾新城项目已经开工。"),
)


@pytest.mark.parametrize("question", ["帮我研究一下", "那个东西", "help me", "Tell me about it"])
@pytest.mark.parametrize("option", range(3))
def test_documents_can_be_chosen_where_no_subject_is_named(question, option):
    assert answered(question, option, held=HELD).next_action == "START_RESEARCH"


@pytest.mark.parametrize("question", ["帮我研究一下", "help me", "Tell me about it", "那個報告", "cancer", "cv"])
def test_nobody_without_documents_is_offered_documents(question):
    asked = assess(Inquiry(question=question, language=report_language(question))).clarification
    assert asked is not None
    assert not any("document" in option or "资料" in option or "資料" in option for option in asked.options)


@pytest.mark.parametrize(
    ("question", "title", "refined"),
    [
        ("pumps", "Waterworks report 2025", "What does Waterworks report 2025 say about pumps?"),
        ("水泵", "泵站年报", "泵站年报里关于水泵说了什么？"),
        ("CV", "Waterworks report 2025", None),
    ],
)
def test_what_documents_hold_on_a_broad_word_is_offered_and_can_be_chosen(question, title, refined):
    asked = assess(Inquiry(question=question, language=report_language(question), held=HELD)).clarification
    assert asked is not None
    assert (title in asked.options) == bool(refined)
    if refined:
        assessment = answered(question, title, held=HELD)
        assert assessment.is_clear
        assert assessment.refined_query == refined
        assert answered(question, 0, held=HELD).refined_query == question


@pytest.mark.parametrize(
    ("question", "name", "refined"),
    [
        ("What is the budget of that project?", "Harbour Lights project", "What is the budget of {}?"),
        ("那个项目的预算是多少", "海湾新城项目", "{}的预算是多少"),
        ("那個項目的預算是多少", "海湾新城项目", "{}的預算是多少"),
    ],
)
def test_names_in_the_documents_are_offered_for_a_word_that_points_at_nothing(question, name, refined):
    asked = assess(Inquiry(question=question, language=report_language(question), held=HELD)).clarification
    assert asked is not None
    assert name in asked.options
    assert answered(question, name, held=HELD).refined_query == refined.format(name)


def test_whoever_has_documents_is_not_asked_for_limits():
    assert assess(Inquiry(question="Plan a trip for the pump crew of Halden", held=HELD)).is_clear


@pytest.mark.parametrize(
    ("question", "answer", "refined"),
    [
        ("癌症", "机制", "癌症：机制"),
        ("帮我研究一下", "肺癌免疫治疗的耐药机制", "肺癌免疫治疗的耐药机制"),
        ("帮我研究一下", "我想了解固态电池的成本", "固态电池的成本"),
        ("那个新药", "司美格鲁肽", "司美格鲁肽"),
        ("那个靶点的耐药机制", "KRAS G12C", "KRAS G12C的耐药机制"),
        ("How does it work?", "a heat pump", "How does a heat pump work?"),
        ("tell me about that new drug", "semaglutide", "semaglutide"),
        ("那個靶點的抗藥機制", "KRAS G12C", "KRAS G12C的抗藥機制"),
    ],
)
def test_answer_becomes_part_of_the_question(question, answer, refined):
    assessment = answered(question, answer)
    assert assessment.is_clear
    assert assessment.refined_query == refined


def test_vague_answer_leads_to_another_question():
    assert answered("帮我研究一下", "癌症").next_action == "NEED_CLARIFICATION"
    assert answered("帮我研究一下", "癌症", 0).next_action == "START_RESEARCH"


@pytest.mark.parametrize("answer", ["", "隨便", "whatever", "I don't know.", "start now", "直接开始研究", "你看着办"])
def test_refusal_starts_with_default_assumptions(answer):
    assessment = answered("癌症", answer)
    assert assessment.next_action == "START_RESEARCH"
    assert assessment.refined_query == "癌症"
    assert assessment.assumptions


def test_question_carries_the_assumptions_that_hold_if_nobody_answers():
    assessment = answered("癌症")
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert len(assessment.task.research_focus) == 3
    assert len(assessment.assumptions) == 2


def test_unknown_term_may_be_searched_as_written():
    assessment = answered("XYZ123 基因", 0, unknown_terms=("XYZ123",))
    assert assessment.next_action == "START_RESEARCH"
    assert assessment.refined_query == "XYZ123 基因"
    assert any("XYZ123" in line for line in assessment.assumptions)


def test_unknown_term_may_be_left_out_or_corrected():
    question = "What does XYZ123 do in liver fibrosis?"
    assert "XYZ123" not in answered(question, 1, unknown_terms=("XYZ123",)).refined_query
    assert answered("XYZ123 基因", "TP53", unknown_terms=("XYZ123",)).refined_query == "TP53 基因"


def test_corrected_term_is_looked_up_as_well():
    assert answered("XYZ123 基因", "STAT6", unknown_terms=("XYZ123",)).next_action == "VERIFY_TOPIC"


def test_limits_of_a_task_are_asked_once():
    assert answered("Plan a trip to Paris", 2).is_clear


def test_meaning_of_an_ambiguous_abbreviation_is_offered():
    assessment = answered("cv")
    assert assessment.clarification is not None
    assert "computer vision" in assessment.clarification.options
    assert answered("cv", "computer vision").is_clear


@pytest.mark.parametrize(
    ("question", "context", "refined"),
    [
        ("那个靶点", "我们刚才讨论了 KRAS G12C 靶点的抑制剂", "KRAS G12C 靶点"),
        ("那個靶點", "我們剛才討論了 KRAS G12C 靶點的抑制劑", "KRAS G12C 靶點"),
        ("那个靶点的耐药机制", "上文提到 KRAS G12C 靶点。", "KRAS G12C 靶点的耐药机制"),
        ("它的成本", "我们刚才在讨论海绵城市改造", "海绵城市改造的成本"),
        ("that target", "We discussed KRAS G12C and its inhibitors.", "KRAS G12C"),
        ("How does that target drive resistance?", "We discussed the KRAS G12C target.", None),
    ],
)
def test_context_says_what_a_pointer_means(question, context, refined):
    assessment = answered(question, context=context)
    assert assessment.next_action == "START_RESEARCH"
    assert refined in (None, assessment.refined_query)
    assert assessment.assumptions


def test_several_candidates_in_the_context_are_offered():
    context = "KRAS G12C 靶点和 EGFR 靶点各有抑制剂"
    asked = answered("那个靶点", context=context).clarification
    assert asked is not None
    assert asked.options == ("KRAS G12C 靶点", "EGFR 靶点")
    assert answered("那个靶点", 1, context=context).refined_query == "EGFR 靶点"


def test_context_that_names_nothing_leaves_the_question_open():
    assert answered("那个靶点", context="好的，谢谢。").next_action == "NEED_CLARIFICATION"


HALDEN = "How much did the Halden Bay heat pump retrofit cost?"
QINGXIA = "青峡水坝的改造花了多少钱？"
QINGXIA_HANT = "青峽水壩的改造花了多少錢？"
COMPLETE = "What are the rules for noise near homes at night?"


@pytest.mark.parametrize(
    ("before", "question", "refined"),
    [
        (HALDEN, "And what did it save?", "what did Halden Bay heat pump retrofit save?"),
        (HALDEN, "Who built it?", "Who built Halden Bay heat pump retrofit?"),
        (HALDEN, "What about the noise?", "Halden Bay heat pump retrofit: What about the noise?"),
        (HALDEN, "Why?", "Halden Bay heat pump retrofit: Why?"),
        (HALDEN, "What did Siemens supply?", "What did Siemens supply?"),
        (HALDEN, COMPLETE, COMPLETE),
        (QINGXIA, "那成本呢？", "青峡水坝 改造：成本呢？"),
        (QINGXIA, "它什么时候建成？", "青峡水坝 改造什么时候建成？"),
        (QINGXIA, "这个项目有哪些问题？", "青峡水坝 改造有哪些问题？"),
        (QINGXIA, "那么谁负责施工？", "青峡水坝 改造：谁负责施工？"),
        (QINGXIA, "比亚迪2023年的净利润是多少？", "比亚迪2023年的净利润是多少？"),
        (QINGXIA_HANT, "那維護呢？", "青峽水壩 改造：維護呢？"),
    ],
)
def test_a_follow_up_is_about_what_was_asked_before(before, question, refined):
    assessment = answered(question, subject=topic_of(before), earlier=RelatedText(title=before, text="…"))
    assert assessment.next_action == "START_RESEARCH"
    assert assessment.refined_query == refined
    is_stated = any("Halden Bay heat pump retrofit" in each or "改造" in each for each in assessment.assumptions)
    assert is_stated == (refined != question), "what was put in is stated"


def test_strict_asks_each_signal_once_and_then_starts():
    assessment = answered("what is ai", 0, 0, 0, clarify="strict")
    assert assessment.next_action == "START_RESEARCH"


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_question_is_put_in_the_readers_script(language):
    asked = assess(Inquiry(question="癌症", language=language)).clarification
    assert asked is not None
    assert detect_language(" ".join((asked.question, *asked.options))) == language


def test_question_is_put_in_english_to_an_english_reader():
    asked = assess(Inquiry(question="cancer", language="en")).clarification
    assert asked is not None
    assert "cancer" in asked.question
    assert "".join(asked.options).isascii()
