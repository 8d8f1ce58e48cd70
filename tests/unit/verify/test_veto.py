"""What code refuses before a judge may look, and that it never raises anything to supported."""

import pytest

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, SentenceKind, Verdict
from deep_research.verify.veto import veto

COST = "The Harbour Heat retrofit of Halden Bay cost €146.2 million by 31 December 2025."
COST_ZH = "截至2025年12月31日，青岚市海绵城市改造工程累计完成投资48.6亿元。"


def judge(sentence: str, *quotes: str, kind: SentenceKind = "finding", asked: str = "") -> Verdict | None:
    passages = tuple(
        Evidence(id=f"e{n}", document="d", start=10, end=10 + len(quote), quote=quote, finding="", section="")
        for n, quote in enumerate(quotes, start=1)
    )
    return veto(Sentence(text=sentence, kind=kind), passages, asked=asked)


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The Halden Bay retrofit cost 146.2 million euros.", COST),
        ("By the end of 2025, 4.86 billion yuan had been invested.", COST_ZH),
        ("工程到2025年底投资48.6亿元。", COST_ZH),
        ("The WHO approved 3 drugs.", "The World Health Organization approved three drugs."),
        ("The World Health Organization approved it.", "It was approved by the WHO."),
        ("German buyers paid more.", "Buyers in Germany paid more."),
        ("The tank cost 11.7 million euros.", "| Part | EUR million |\n| Tank | 11.7 |"),
        ("不仅投资增加，工期也延长。", "投资增加，工期也延长。"),
    ],
)
def test_faithful_paraphrase_is_left_to_the_judge(sentence, quote):
    assert judge(sentence, quote) is None


@pytest.mark.parametrize(
    ("sentence", "quote", "kind", "reason"),
    [
        (COST.replace("146.2", "163.8"), COST, "contradicted", "number: €163.8 million"),
        (COST_ZH.replace("48.6", "53.9"), COST_ZH, "contradicted", "number: 53.9亿元"),
        ("Tariffs rose to 163.8 euros.", COST, "not_found", "number: 163.8 euros"),
        (COST.replace("million", "billion"), COST, "contradicted", "number: €146.2 billion"),
        ("Losses fell by 5 percentage points.", "Losses in winter fell by 5% only.", "not_found",
         "unit: 5 percentage points"),
        (COST.replace("2025", "2024"), COST, "contradicted", "date: 31 December 2024"),
        (COST_ZH.replace("2025年12月31日", "2026年1月1日"), COST_ZH, "contradicted", "date: 2026年1月1日"),
        ("The retrofit of Kettle Point cost €146.2 million.", COST, "not_found", "name: Kettle"),
        ("The pump is not safe at sea.", "The pump is safe at sea.", "contradicted", "negation"),
        ("The pump is safe at sea.", "The pump isn't safe at sea.", "contradicted", "negation"),
        ("该水泵适合在海上使用。", "该水泵不适合在海上使用。", "contradicted", "negation"),
    ],
)  # fmt: skip
def test_what_the_passages_do_not_hold_is_refused(sentence, quote, kind, reason):
    verdict = judge(sentence, "Something else entirely.", quote)
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == (kind, reason)
    if kind == "contradicted":
        assert (verdict.evidence, verdict.start, verdict.end) == ("e2", 10, 10 + len(quote))


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("A third of the firms agreed.", "33 % of the firms agreed."),
        ("A third of the firms agreed.", "One in three firms agreed."),
        ("33 % of the firms agreed.", "三分之一的企业同意。"),
        ("Half of the firms agreed.", "有五成企业同意。"),
        ("一半的企业同意。", "50 per cent of the firms agreed."),
        ("A quarter of the firms agreed.", "Of the firms, 5 of the 20 agreed."),
        ("Costs doubled.", "Costs grew twofold."),
        ("Costs doubled.", "費用翻了一番。"),
        ("费用增加一倍。", "Costs doubled."),
        ("Costs are twice as high.", "Costs rose by 100 %."),
        ("Twenty firms agreed.", "20 firms agreed."),
        ("约七十家企业同意。", "Seventy firms agreed."),
        ("The pump is two-dimensional.", "The pump is 2D."),
        ("Two firms agreed.", "Both firms agreed."),
        ("Hundreds of firms agreed.", "640 firms agreed."),
        ("One of the firms agreed.", "The firm agreed."),
    ],
)
def test_equal_quantities_are_one_however_they_are_written(sentence, quote):
    assert judge(sentence, quote) is None


@pytest.mark.parametrize(
    ("sentence", "quote", "kind", "reason"),
    [
        ("A third of the firms agreed.", "A fifth of the firms agreed.", "contradicted", "number: A third of"),
        ("A third of the firms agreed.", "The firms agreed.", "not_found", "number: A third of"),
        ("三分之一的企业同意。", "五分之一的企业同意。", "contradicted", "number: 三分之一"),
        ("Costs tripled in winter.", "Costs doubled in winter.", "contradicted", "number: tripled"),
        ("費用翻了兩番。", "費用翻了一番。", "contradicted", "number: 翻了兩番"),
        ("Seven firms agreed.", "Six firms agreed.", "contradicted", "number: Seven"),
        ("九家企业同意。", "六家企业同意。", "contradicted", "number: 九"),
        ("Dozens of firms agreed.", "Thousands of firms agreed.", "contradicted", "number: Dozens"),
        ("Half of the firms agreed.", "Of 20 firms, 14 agreed.", "not_found", "number: Half of"),
        ("34 % of the firms agreed.", "Thirty-three per cent of them agreed.", "not_found", "number: 34 %"),
        ("50 % of the firms agreed.", "Half-life and a third party.", "not_found", "number: 50 %"),
    ],
)
def test_a_quantity_in_words_is_refused_like_a_wrong_digit(sentence, quote, kind, reason):
    verdict = judge(sentence, quote)
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == (kind, reason)


def test_figure_in_any_of_the_passages_is_enough():
    assert judge("It cost €5 million and took 3 years.", "It cost €5 million.", "It took 3 years.") is None


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("The two totals differ in what they include.", ("It cost €146 million.", "It cost €164 million.")),
        ("两个总额口径不同。", ("投资48.6亿元。", "投资53.9亿元。")),
    ],
)
def test_a_sentence_may_count_the_sources_that_it_brings_together(sentence, quotes):
    assert judge(sentence, *quotes) is None
    # Whether the others are among them is for a judge to see.
    assert judge(sentence, *quotes, "It took a year.") is None
    for fewer, more in ((quotes[:1], sentence), (quotes, sentence.replace("two", "three").replace("两", "三"))):
        verdict = judge(more, *fewer)
        assert verdict is not None
        assert verdict.reason.startswith("number")


@pytest.mark.parametrize(
    ("sentence", "quotes", "result"),
    [
        (
            "So €17.6 million is a matter of scope.",
            ("€146.2 million.", "€163.8 million."),
            "That is €17.6 million.",
        ),
        ("可见5.3亿元之差出于口径。", ("投资48.6亿元。", "投资53.9亿元。"), "两者相差5.3亿元。"),
    ],
)
def test_a_sentence_may_repeat_what_its_caller_knows(sentence, quotes, result):
    passages = [
        Evidence(id=f"e{at}", document="d", start=0, end=len(quote), quote=quote, finding="", section="")
        for at, quote in enumerate(quotes)
    ]
    conclusion = Sentence(text=sentence, kind="conclusion")
    assert veto(conclusion, passages, known=[result]) is None
    assert veto(conclusion, passages) is not None


def test_nothing_cited_is_nothing_found():
    verdict = judge("The pump is safe.")
    assert verdict is not None
    assert verdict.kind == "not_found"


@pytest.mark.parametrize(
    "named",
    [
        "https://invented.example/a", "www.invented.example/a", "invented.example/a/b", "10.1234/invented.5",
        "arXiv:2101.01234", "nobody@invented.example", "[7]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("frame", ["The pump is safe ({}).", "该水泵很安全，见{}。"])
def test_address_out_of_nowhere_is_refused(named, frame):
    verdict = judge(frame.format(named), "The pump is safe. 该水泵很安全。")
    assert verdict is not None
    assert (verdict.kind, verdict.reason) == ("not_found", f"reference: {named}")
    assert judge(frame.format(named), f"The pump is safe. 该水泵很安全。 See {named}, page 4.") is None


def test_address_is_the_same_with_and_without_scheme_and_line_break():
    quote = "It is at http://www.pumps.example/long/\npath-to-it."
    assert judge("It is at https://pumps.example/long/path-to-it.", quote) is None


def test_names_and_dates_may_stand_in_the_title_of_the_document():
    passage = Evidence(id="e1", document="d", start=0, end=20, quote="The tank is empty.", finding="", section="")
    sentence = Sentence(text="According to the Halden Courier of 12 May 2024, the tank is empty.")
    assert veto(sentence, [passage]) is not None
    assert veto(sentence, [passage], titles=["Halden Courier, 12 May 2024"]) is None
    wrong = Sentence(text="According to the Halden Courier, the tank holds 5 tonnes.")
    refused = veto(wrong, [passage], titles=["Halden Courier: 5 tonnes"])
    assert refused is not None, "a figure in a title says nothing about the passage"


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("In time French buyers paid more.", "Buyers in France paid more in time."),
        ("Prices in Spain rose.", "Spanish prices rose."),
        ("Prices in the Netherlands rose.", "Dutch prices rose."),
    ],
)
def test_a_people_and_its_land_are_one_name(sentence, quote):
    assert judge(sentence, quote) is None


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("So a first step should follow in 2026.", ""),
        ("So a first step should follow by June 2026.", ""),
        ("因此应在2026年先行一步。", ""),
        ("因此應在2026年先行一步。", ""),
        ("So a first step should follow in 2028.", "date"),
        ("So a first step was due in 2024.", "date"),
        ("因此应在2028年先行一步。", "date"),
    ],
)
def test_a_conclusion_may_name_a_year_between_those_of_question_and_passages(sentence, reason):
    asked = "What should be done until 2027?"
    verdict = judge(sentence, COST, kind="conclusion", asked=asked)
    assert (verdict.reason.split(":")[0] if verdict else "") == reason
    finding = judge(sentence, COST, asked=asked)
    assert finding is not None, "what is told as a fact needs its own year"
    assert finding.reason.startswith("date")


@pytest.mark.parametrize(
    "sentence",
    [
        "The retrofit was dear: Halden Bay paid.",
        "The retrofit was dear; Nobody denies it.",
        "The retrofit was dear – Everybody paid.",
        "The retrofit had an aim (Lower costs).",
    ],
)
def test_a_capital_word_after_the_end_of_a_clause_is_no_name(sentence):
    assert judge(sentence, COST) is None


@pytest.mark.parametrize(
    "sentence", ["The retrofit was dear: only Kettle paid.", "The retrofit was dear, Kettle paid."]
)
def test_a_foreign_name_within_a_clause_is_still_refused(sentence):
    verdict = judge(sentence, COST)
    assert verdict is not None
    assert verdict.reason == "name: Kettle"


@pytest.mark.parametrize(
    ("sentence", "quote", "reason"),
    [
        ("The tank was filled on 19 June.", "The tank was filled on June 19.", ""),
        ("The tank was filled on 20 June.", "The tank was filled on June 19.", "number"),
        ("水箱于6月19日注满。", "水箱在6月19日注满。", ""),
        ("水箱於6月20日注滿。", "水箱在6月19日注滿。", "number"),
    ],
)
def test_a_day_without_a_year_is_the_one_that_the_passage_names(sentence, quote, reason):
    verdict = judge(sentence, quote)
    assert (verdict.reason.split(":")[0] if verdict else "") == reason


@pytest.mark.parametrize(
    ("quote", "faithful", "changed"),
    [
        ("该塔建于宋代。药片须在饭前服用。", "药片要在饭前服用。", "药片要在饭后服用。"),
        ("新馆共有九层展厅，二楼为咖啡馆。", "新馆的展厅共九层。", "新馆的展厅共七层。"),
        ("门票在周末上涨，平日不变。", "周末门票上涨。", "周末门票下跌。"),
        (
            "The ferry leaves from the pier north of the castle.",
            "The ferry departs from the pier north of the castle.",
            "The ferry departs from the pier south of the castle.",
        ),
        (
            "The lease runs for twelve months and may be renewed once.",
            "The lease runs for a year and can be renewed once.",
            "The lease runs for two years and can be renewed once.",
        ),
        (
            "Mara Quint sold the mill to Jon Abel in 1998.",
            "In 1998 Mara Quint sold the mill to Jon Abel.",
            "In 1998 Jon Abel sold the mill to Mara Quint.",
        ),
    ],
)
def test_one_small_change_of_a_faithful_sentence_is_refused(quote, faithful, changed):
    assert judge(faithful, quote) is None
    assert judge(changed, quote) is not None
