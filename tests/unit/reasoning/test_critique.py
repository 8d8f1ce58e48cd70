"""Which questions ask for judgement: by their words, by two words together, by their length; and which only
look like it. Three scripts.
"""

import pytest

from deep_research.reasoning.rules.question.signals import asks_for_judgement, cues_of
from deep_research.text.folding import to_simplified

ASKING = [
    # English: the words in their forms
    "Analyse the effects of the sugar tax in Mexico",
    "An analysis of Norway's EV subsidies",
    "Comparing heat pumps and gas boilers in old houses",
    "How do lithium and sodium batteries compare?",
    "Comparison of the pension systems of Denmark and Chile",
    "Swift versus Kotlin for embedded devices",
    "Assess the risks of deep-sea mining",
    "Give me an evaluation of the Berlin rent cap",
    "How has the Dutch nitrogen policy been assessed?",
    "Evaluating CRISPR for sickle cell disease",
    "Critically examine the case for carbon offsets",
    "A critical look at microcredit",
    "What are the main criticisms of GDP?",
    "Critique the theory of the resource curse",
    "Why did Sri Lanka default in 2022?",
    "I wonder why honey does not spoil",
    "What are the pros and cons of a four-day week?",
    "Cost-benefit analysis of the Fehmarn tunnel",
    # simplified
    "分析日本央行加息的影响",
    "评估碳税对钢铁业的影响",
    "如何评价深圳的公租房政策",
    "从多个角度批判性地看待平台经济",
    "比较固态电池与锂电池的成本",
    "请比较新能源车和燃油车的使用成本",
    "帮我比较小米和华为的手表",
    "德国与法国核电政策的比较",
    "为什么青岚市2025年没有再被淹",
    "日元为何持续贬值",
    "热泵和燃气锅炉对比",
    "延迟退休的利弊",
    # traditional
    "分析台積電赴美設廠的得失",
    "評估長照2.0的成效",
    "比較高鐵與飛機的碳排放",
    "為什麼香港的房價這麼高",
    "為何颱風路徑難以預測",
    "批判現行的健保制度",
    "兩岸半導體政策的比較",
    # two words together
    "光伏行业发展趋势研判",
    "解读2026年房价走势",
    "解讀半導體產業趨勢",
    "Interpret the trend in global fertility",
    "What do the trends in remote work mean: implications for cities",
    "市场对降息怎么看",
    "新能源汽车市场的前景",
    "市場對輝達財報的看法",
    "What is the market outlook for copper?",
    "What do investors think of hydrogen?",
    "Market sentiment on uranium",
    # what to do, which is better, what follows
    "Should we replace the boiler this year?",
    "Which of the two pumps is better?",
    "What are the implications of the new tariff?",
    "我们应该换供应商吗",
    "这两款哪个更好",
    "新的关税意味着什么",
    "我們應不應該換供應商，應該先談價嗎",
    "兩款熱泵哪一款更划算",
    # length
    (
        "Which regulatory, technical and commercial obstacles slow offshore wind in the Baltic states, and which grid"
        " queues, ports, turbine supply and permitting reforms shape developers' investment decisions until 2030?"
    ),
    "中国农村电商从县域物流体系建设、直播带货人才培养、农产品品牌打造、冷链仓储布局到金融支持各环节的做法与典型县市的实际成效及存在困难",
    "臺灣離岸風電從國產化要求、併網排程、港埠能量、融資條件到漁業補償各環節的作法與主要開發商的實際進度及面臨困難整理與彙總",
]  # fmt: skip

NOT_ASKING = [
    # English: false friends
    "How much does a financial analyst earn in Zurich?",
    "Which analysts cover ASML?",
    "What comparable sales exist for lots in Halden?",
    "Who founded the journal Comparative Literature?",
    "How many critical care beds does Italy have?",
    "Which minerals count as critical in the EU?",
    "List critically endangered birds of Hawaii",
    "What is critical mass in a reactor?",
    "Who wrote Why Nations Fail?",
    'When was the film "Why Him?" released?',
    "What is principal component analysis?",
    "How does a blood analysis work?",
    "When is the UK self-assessment deadline?",
    "Which is the largest price comparison website in Poland?",
    "Who translated the Critique of Pure Reason into Chinese?",
    "Which hotels near Borough Market have a river view?",
    "Opening hours of the Naschmarkt flea market",
    "What did the Harbour Heat retrofit cost by the end of 2025?",
    "What is the current state of quantum error correction?",
    "How many people live in Reykjavik, and how many of them were born abroad?",
    "Which trends shaped Danish furniture in the 1950s?",
    "Who should be told when the alarm rings?",
    # simplified
    "《启示录》的作者",
    "哪个牌子的空调比较省电",
    "比较便宜的笔记本电脑有哪些",
    "我比较想了解竞赛的时间",
    "哪家医院比较好",
    "分析师这个职业的收入是多少",
    "什么是比较优势",
    "比较文学专业有哪些大学",
    "什么是批判性思维",
    "资产评估师考试时间",
    "主成分分析的计算步骤",
    "《十万个为什么》的出版社",
    "对比度是什么意思",
    "附近的农贸市场几点开门",
    "海绵城市改造花了多少钱",
    "上海的超市场景照片",
    # traditional
    "哪款手機比較耐用",
    "分析師證照怎麼考",
    "《純粹理性批判》的中譯本",
    "長照2.0的補助金額是多少",
    "台北哪裡有比較安靜的咖啡廳",
    "臺灣的人口有多少",
    "房地產評估公司有哪些",
]


@pytest.mark.parametrize("question", ASKING)
def test_a_question_that_asks_for_judgement_gets_an_analysis(question):
    assert asks_for_judgement(question)


@pytest.mark.parametrize("question", NOT_ASKING)
def test_a_question_for_facts_gets_none(question):
    assert not asks_for_judgement(question)


def test_every_kind_of_cue_is_shown_by_some_question():
    shown = frozenset[str]().union(*map(cues_of, ASKING))
    assert shown == {"analyse", "assess", "compare", "critique", "why", "advise", "trend_analysis", "market_view"}


def test_long_questions_are_asked_by_their_length_alone():
    assert not any(cues_of(question) for question in ASKING[-3:])


@pytest.mark.parametrize("question", [one for one in (*ASKING, *NOT_ASKING) if to_simplified(one) != one])
def test_script_makes_no_difference(question):
    assert asks_for_judgement(to_simplified(question)) == asks_for_judgement(question)


def test_capitals_make_no_difference():
    assert asks_for_judgement("WHY DID THE BRIDGE FALL?")
    assert asks_for_judgement("COMPARE A AND B")


@pytest.mark.parametrize("text", ["", "   ", "???", "\u200b", "“why”"])
def test_nothing_asks_for_nothing(text):
    assert not asks_for_judgement(text)
