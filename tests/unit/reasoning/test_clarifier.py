"""The intake gate without a model: examples of each kind, ordinary questions, thresholds and modes."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.reasoning.rules.question.clarifier import (
    START_CONFIDENCE,
    START_FOCUSES,
    Clarifier,
    assess,
    decide,
    is_no_preference,
)
from deep_research.reasoning.rules.question.signals import is_complex
from deep_research.reasoning.values import Assessment, Exchange, Inquiry
from deep_research.text.messages.language import report_language


def judged(question: str, **given) -> Assessment:
    return assess(Inquiry(question=question, language=report_language(question), **given))


@pytest.mark.parametrize(
    ("question", "action"),
    [
        ("KRAS G12C 靶点", "START_RESEARCH"),
        ("帮我研究一下", "NEED_CLARIFICATION"),
        ("那个新药", "NEED_CLARIFICATION"),
        ("STATUS6 基因", "VERIFY_TOPIC"),
        ("GLP-1 激动剂最新进展", "START_RESEARCH"),
        ("癌症治疗", "NEED_CLARIFICATION"),
        ("ADC 药物的 linker 设计", "START_RESEARCH"),
        ("PD-1 耐药机制", "START_RESEARCH"),
        ("GLP-1 激动剂", "START_RESEARCH"),
        ("那个靶点", "NEED_CLARIFICATION"),
        ("癌症", "NEED_CLARIFICATION"),
        ("药物", "NEED_CLARIFICATION"),
        ("那个东西", "NEED_CLARIFICATION"),
        ("了解一下", "NEED_CLARIFICATION"),
        ("有什么信息", "NEED_CLARIFICATION"),
        ("XYZ123 基因", "VERIFY_TOPIC"),
        # The same in traditional script.
        ("KRAS G12C 靶點", "START_RESEARCH"),
        ("幫我研究一下", "NEED_CLARIFICATION"),
        ("那個新藥", "NEED_CLARIFICATION"),
        ("GLP-1 激動劑最新進展", "START_RESEARCH"),
        ("癌症治療", "NEED_CLARIFICATION"),
        ("ADC 藥物的 linker 設計", "START_RESEARCH"),
        ("PD-1 耐藥機制", "START_RESEARCH"),
        ("PD-1 抗藥機制", "START_RESEARCH"),
        ("GLP-1 激動劑", "START_RESEARCH"),
        ("那個靶點", "NEED_CLARIFICATION"),
        ("藥物", "NEED_CLARIFICATION"),
        ("那個東西", "NEED_CLARIFICATION"),
        ("瞭解一下", "NEED_CLARIFICATION"),
        ("有什麼資訊", "NEED_CLARIFICATION"),
        ("有什麼信息", "NEED_CLARIFICATION"),
    ],
)
def test_documented_examples(question, action):
    assert judged(question).next_action == action


@pytest.mark.parametrize(
    "question",
    [
        "book me a table",
        "Could you order me a pizza?",
        "Send flowers to my mother",
        "Remind me to call Tom",
        "Write a poem about spring",
        "write a short story about a dragon",
        "Tell me a joke",
        "送我一束花",
        "帮我订一张去上海的机票",
        "能不能帮我订一个餐厅",
        "写一首关于春天的诗",
        "给我讲个笑话",
        "幫我訂一張去上海的機票",
        "寫一首關於春天的詩",
        "編一個童話故事",
    ],
)
def test_errands_and_fiction_are_refused_with_the_reason(question):
    assessment = judged(question)
    assert assessment.next_action == "CANNOT_DO"
    assert assessment.reasoning
    assert judged(question, clarify="off").next_action == "CANNOT_DO"


@pytest.mark.parametrize(
    "question",
    [
        "Order the countries by GDP",
        "How do I book a table at Noma?",
        "Write a report on the poem Ozymandias",
        "Write the story of Marie Curie",
        "Send me a summary of the minutes",
        "Order a pizza or cook at home: which is cheaper?",
        "买一台电脑要多少钱",
        "写一篇关于唐诗的综述",
        "讲讲故宫的故事",
        "打电话的历史",
        "送一份禮物給媽媽合適嗎",
        "寫一份關於小說市場的報告",
    ],
)
def test_questions_about_errands_and_fiction_are_none(question):
    assert judged(question).next_action != "CANNOT_DO"


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Find the best Italian restaurants", "limit"),
        ("I love historical fiction. Which books would fit?", "limit"),
        ("Remove all the stop words from a given text file", "a given text file"),
        ("帮我找最好的餐厅", "条件"),
        ("查询某个城市的天气", "某个城市"),
        ("查詢某個城市的天氣", "某個城市"),
    ],
)
def test_choices_and_material_that_only_the_asker_knows_are_asked_about(question, asked):
    assert asked in judged(question).clarification_question


def test_verified_term_lets_research_start():
    assert judged("STATUS6 基因", known_terms=("STATUS6",)).next_action == "START_RESEARCH"


def test_term_that_no_source_knows_is_asked_about_by_name():
    assessment = judged("XYZ123 基因", unknown_terms=("XYZ123",))
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert assessment.unknown_terms == ("XYZ123",)
    assert "XYZ123" in assessment.clarification_question


def test_all_strange_terms_are_looked_up_together():
    assert judged("How do STATUS6 and XYZ123 interact?").unknown_terms == ("STATUS6", "XYZ123")


def test_bare_name_starts_with_stated_assumptions():
    assessment = judged("GLP-1 激动剂")
    assert assessment.confidence >= START_CONFIDENCE
    assert not assessment.goal_clear
    assert any("GLP-1 激动剂" in line for line in assessment.assumptions)
    assert any("最新进展" in line for line in assessment.assumptions)


@pytest.mark.parametrize(
    "question",
    [
        "How does attention scale with sequence length?",
        "What is the cost of X in Y?",
        "How can we cut food waste under FSMA 204?",
        "What do the documents say about the tariff?",
        "Summarize my documents",
        "What is photosynthesis?",
        "Is it safe to eat raw eggs during pregnancy?",
        "What happened to inflation this year?",
        "How much did the Halden Bay heat pump retrofit cost and what did it achieve?",
        "Design considerations for offshore wind farms",
        "Write a report on the EU AI Act",
        "AI in radiology",
        "perovskite solar cells",
        "Marie Curie",
        "CRISPR",
        "青岚市的海绵城市改造花了多少钱，效果如何？",
        "青岚市",
        "《红楼梦》",
        "喝咖啡有害吗",
        "为什么天空是蓝色的",
        "比亚迪和特斯拉有什么区别",
        "这些文件对关税有什么说法？",
        "资料里怎么说关税？",
        "台積電在美國設廠的成本",
        "量子計算最新進展",
        "Wie funktioniert eine Wärmepumpe?",
        "Как работает фотосинтез?",
        "日本の少子化対策の効果は？",
    ],
)
def test_ordinary_question_starts_at_once(question):
    assert judged(question).is_clear


@pytest.mark.parametrize(
    "question",
    [
        "it",
        "what",
        "how",
        "hello",
        "AI",
        "What is AI?",
        "cancer",
        "Cancer Treatment",
        "CANCER TREATMENT",
        "What about drugs?",
        "Tell me about it",
        "How does it work?",
        "How much does it cost?",
        "What are the side effects of this drug?",
        "what are the risks?",
        "latest news",
        "help me",
        "Plan a trip for me",
        "最新进展",
        "它的成本是多少",
        "这个药的副作用",
        "了解一下癌症",
        "新能源汽车",
        "帮我制定一个旅行计划",
    ],
)
def test_question_that_leaves_its_subject_open_is_asked_about(question):
    assert judged(question).next_action == "NEED_CLARIFICATION"


@pytest.mark.parametrize("question", ["", "   ", "\u200b\x00", "???", "！？。", "🙂🙂", "42", "2024-05"])
@pytest.mark.parametrize("mode", ["auto", "strict", "off"])
def test_input_without_words_cannot_be_researched(question, mode):
    assessment = judged(question, clarify=mode)
    assert assessment.next_action == "CANNOT_DO"
    assert assessment.reasoning


def test_complex_question_wants_its_plan_confirmed():
    assert judged("比较固态电池与锂电池的成本").next_action == "CONFIRM_PLAN"
    assert judged("Compare heat pumps and gas boilers").next_action == "CONFIRM_PLAN"


@pytest.mark.parametrize("text", ["全面評估碳稅", "詳細對比兩種方案", "an in-depth look at zinc", "评估风险"])
def test_words_of_complex_questions_are_known_in_all_scripts(text):
    assert is_complex(text)


@pytest.mark.parametrize("text", ["深度学习是什么", "比较想了解竞赛", "How tall is K2?"])
def test_lookalikes_of_complex_words_are_not(text):
    assert not is_complex(text)


@pytest.mark.parametrize(
    ("confidence", "goal", "focuses", "action"),
    [
        (0.7, "g", 3, "START_RESEARCH"),
        (0.91, "g", 3, "START_RESEARCH"),
        (0.69, "g", 3, "NEED_CLARIFICATION"),
        (0.5, "g", 3, "NEED_CLARIFICATION"),
        (0.4, "g", 3, "NEED_CLARIFICATION"),
        (0.95, "", 3, "NEED_CLARIFICATION"),
        (0.95, "  ", 3, "NEED_CLARIFICATION"),
        (0.95, "g", 2, "START_RESEARCH"),
        (0.95, "g", 1, "NEED_CLARIFICATION"),
    ],
)
def test_thresholds(confidence, goal, focuses, action):
    assert decide(confidence=confidence, goal=goal, focuses=focuses) == action


def test_unknown_term_is_looked_up_once_and_then_asked_about():
    sure = partial(decide, confidence=0.95, goal="g", focuses=5, unknown_terms=("X1", "X2"))
    assert sure(looked_up=("X1",)) == "VERIFY_TOPIC"
    assert sure(looked_up=("X1", "X2")) == "NEED_CLARIFICATION"


def test_complex_question_wants_its_plan_confirmed_however_sure_we_are():
    judge = partial(decide, goal="g", focuses=5, is_complex=True)
    assert judge(confidence=0.99) == "CONFIRM_PLAN"
    assert judge(confidence=0.6) == "NEED_CLARIFICATION"
    assert judge(confidence=0.99, is_possible=False) == "CANNOT_DO"


def test_focuses_come_from_the_words_of_the_question():
    focuses = judged("青岚市的海绵城市改造花了多少钱，效果如何？").task.research_focus
    assert focuses[:2] == ("成本与费用", "效果与影响")
    assert len(focuses) == START_FOCUSES


def test_third_focus_is_inferred_where_the_asker_gave_two():
    assessment = judged("癌症", focus=("靶点", "药物"))
    assert assessment.next_action == "START_RESEARCH"
    assert assessment.task.research_focus[:2] == ("靶点", "药物")
    assert len(assessment.task.research_focus) == START_FOCUSES
    assert assessment.task.research_focus[2] in assessment.assumptions[0]


def test_one_telling_focus_makes_a_broad_subject_specific():
    assert judged("cancer", focus=("resistance to KRAS G12C inhibitors",)).is_clear
    assert not judged("cancer", focus=("drugs",)).is_clear


def test_strict_follows_the_letter():
    strict = Clarifier("strict")
    assert strict.needs_clarification("How does attention scale with sequence length?")
    assert strict.needs_clarification("KRAS G12C 靶点")
    assert strict.needs_clarification("Adoption of AI among rural hospitals in Kenya")
    assert not strict.needs_clarification("Cost of heat pumps in Norway since 2010")
    assert strict.needs_clarification("x" * 19)
    assert not strict.needs_clarification("x" * 20)


def test_strict_puts_one_question_for_each_signal():
    assert len(Clarifier("strict").generate_questions("what is ai")) == 3
    assert Clarifier("strict").generate_questions("Cost of heat pumps in Norway since 2010") == []


def test_off_never_asks():
    off = Clarifier("off")
    assert not off.needs_clarification("那个东西")
    assert off.generate_questions("那个东西") == []
    assert judged("XYZ123 基因", clarify="off").next_action == "START_RESEARCH"


@pytest.mark.parametrize("topic", ["", "癌症", "cancer", "那個靶點", "it"])
def test_topic_that_needs_clarification_gets_one_question(topic):
    clarifier = Clarifier()
    assert clarifier.needs_clarification(topic)
    assert len(clarifier.generate_questions(topic)) == 1


def test_clear_topic_gets_no_question():
    assert Clarifier().generate_questions("KRAS G12C 靶点") == []


PIECES = (
    *(
        "那个",
        "靶点",
        "癌症",
        "的",
        "最新进展",
        "帮我",
        "研究一下",
        "它",
        "STATUS6",
        "KRAS",
        "基因",
        "？",
        "比较",
        "写",
        "吗",
    ),
    *(
        "that ",
        "it ",
        "drug ",
        "cancer ",
        "How ",
        "does ",
        "Plan a ",
        "my ",
        "cv ",
        "AI ",
        "?",
        "risks ",
        "of ",
        "(",
        "“",
    ),
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=7).map("".join))


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from(["auto", "strict", "off"]))
def test_every_text_is_judged_within_the_rules(text, context, answers, mode):
    exchanges = tuple(Exchange(question="?", answer=answer) for answer in answers)
    assessment = judged(text, clarify=mode, context=context, exchanges=exchanges)
    asks = assessment.next_action == "NEED_CLARIFICATION"
    assert asks == (assessment.clarification is not None)
    if assessment.clarification:
        assert mode != "off"
        assert assessment.confidence < START_CONFIDENCE
        assert len(set(assessment.clarification.options)) == len(assessment.clarification.options) <= 4
        assert assessment.clarification.missing_info
    if assessment.is_clear and mode != "off" and not (answers and is_no_preference(answers[-1])):
        assert assessment.confidence >= START_CONFIDENCE
        assert assessment.task.goal
        assert len(assessment.task.research_focus) >= START_FOCUSES
        assert not assessment.unknown_terms
