"""Where sources disagree: the same figure of the same thing for the same time, told differently; nothing else."""

import pytest

from deep_research.reasoning.rules.weighing.claims import find_disagreements
from tests.unit.reasoning.pieces import piece, rows_of, table

HALDEN = "The Harbour Heat retrofit of Halden Bay cost {} in total by 31 December 2025{}."
QINGLAN = "青岚市海绵城市改造工程累计完成投资{}。"


def figures(*sentences: str) -> list[tuple[str, ...]]:
    """Return the figures of each disagreement between documents that say one sentence each."""
    evidence = [piece(sentence, f"d{at}") for at, sentence in enumerate(sentences)]
    tables = find_disagreements(evidence, section="s")
    return [tuple(sentence.lead for sentence in paragraph.sentences) for paragraph in tables]


def test_the_number_of_a_page_is_no_figure() -> None:
    told = "The calendar versioning of Python is discussed at https://discuss.test/t/calendar-versioning-python/{}/126."
    assert figures(told.format(55782), told.format(106800)) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            HALDEN.format("€163.8 million", ", according to the count of the Ratepayers' Association"),
            HALDEN.format("€146.2 million", ""),
            ("€146.2 million", "€163.8 million"),
        ),
        (
            "截至2025年12月31日，" + QINGLAN.format("48.6亿元"),
            "按青岚市政策观察社的统计，截至2025年12月31日，" + QINGLAN.format("53.9亿元"),
            ("48.6亿元", "53.9亿元"),
        ),
        (
            QINGLAN.format("48.6亿元，超出概算7.1亿元"),
            "截至2025年底，" + QINGLAN.format("53.9亿元"),
            ("48.6亿元", "53.9亿元"),
        ),
        (QINGLAN.format("48.6亿元"), "青嵐市海綿城市改造工程累計完成投資53.9億元。", ("48.6亿元", "53.9億元")),
        (HALDEN.format("€146.2m", ""), HALDEN.format("163.8 million euros", ""), ("€146.2m", "163.8 million euros")),
        (
            "Network losses of the harbour plant were 17.9 per cent of heat production.",
            "Network losses of the harbour plant were 13.2 % of heat production.",
            ("13.2 %", "17.9 per cent"),
        ),
    ],
)
def test_two_figures_of_one_thing_disagree(first, second, expected):
    assert figures(first, second) == [expected]
    assert figures(second, first) == [expected]


def test_each_statement_cites_its_own_document_and_is_quoted():
    one, other = piece(HALDEN.format("€146.2 million", ""), "a"), piece(HALDEN.format("€163.8 million", ""), "b")
    [paragraph] = find_disagreements([other, one], section="Where")
    assert (paragraph.kind, paragraph.section) == ("table", "Where")
    assert [(sentence.text, sentence.evidence) for sentence in paragraph.sentences] == [
        (one.quote, (one.id,)),
        (other.quote, (other.id,)),
    ]


def test_a_dispute_inside_a_longer_quote_is_found():
    long = f"The works took five years. {HALDEN.format('€146.2 million', '')} Nobody was hurt."
    assert figures(long, HALDEN.format("€163.8 million", "")) == [("€146.2 million", "€163.8 million")]


AGREE = {
    "other year": (
        "Network losses in Halden Bay were 13.2 per cent of heat production in 2024.",
        "Network losses in Halden Bay were 17.9 per cent of heat production in 2025.",
    ),
    "other year, Chinese": ("2023年青岚市调蓄池总容积达到30万吨。", "2024年青岚市调蓄池总容积达到42万吨。"),
    "other quarter": (
        "Revenue of the heating division was €12 million in the first quarter of 2024.",
        "Revenue of the heating division was €16 million in the second quarter of 2024.",
    ),
    "other unit": (HALDEN.format("€146.2 million", ""), HALDEN.format("$163.8 million", "")),
    "other name": (
        "The retrofit of the heat network in Halden cost €146.2 million in total.",
        "The retrofit of the heat network in Norvik cost €163.8 million in total.",
    ),
    "change and level": (
        "Household bills in the old town rose by 5 % after the works.",
        "Household bills in the old town were 7 % of income after the works.",
    ),
    "change and level, Chinese": ("青岚市内涝投诉量上升5%，市民不满。", "青岚市内涝投诉量占比7%，市民不满。"),
    "up and down": (
        "Sales of heat pumps rose 5 % in the third quarter of 2024.",
        "Sales of heat pumps fell 7 % in the third quarter of 2024.",
    ),
    "rounding": (HALDEN.format("€146.2 million", ""), HALDEN.format("€146 million", "")),
    "rounding, Chinese": (QINGLAN.format("48.6亿元"), QINGLAN.format("约49亿元")),
    "budget and cost": (
        "The retrofit of Halden Bay cost €146.2 million in total.",
        "The retrofit of Halden Bay had a budget of €120 million in total.",
    ),
    "budget and cost, Chinese": ("青岚市海绵城市改造工程预算41.5亿元。", "青岚市海绵城市改造工程投资48.6亿元。"),
    "average and median": (
        "The average response time of the service was 200 ms in tests.",
        "The median response time of the service was 120 ms in tests.",
    ),
    "many figures": (
        "The works of Halden Bay cost €10 million, €12 million, €14 million, €16 million and €18 million.",
        "The works of Halden Bay cost €20 million, €22 million, €24 million, €26 million and €28 million.",
    ),
    "too far apart": (HALDEN.format("€146.2 million", ""), HALDEN.format("€1.6 million", "")),
    "few words": ("It cost €5 million.", "It cost €9 million."),
    "no unit": ("The council of Halden Bay met 12 times.", "The council of Halden Bay met here 15."),
    "zero": (HALDEN.format("€0", ""), HALDEN.format("€5", "")),
}  # fmt: skip


@pytest.mark.parametrize("reason", AGREE)
def test_figures_of_different_things_do_not_disagree(reason):
    assert figures(*AGREE[reason]) == []


FALSELY_FOUND = {
    "the same sentence in two documents": (
        "We allocate 60% of our IT budget to infrastructure and maintenance, 20% to digital transformation of stores.",
    )
    * 2,
    "the other figure is told too": (
        "Halden Bay paid €52 million for the pumps and €146 million for the retrofit.",
        "Halden Bay paid €146 million for the retrofit.",
    ),
    "the other figure is told too, Chinese": (
        "青岚市年径流总量控制率由2020年的54%提高到2025年的74%。",
        "2025年青岚市年径流总量控制率为74%。",
    ),
    "other name at the beginning": (
        "Halden spent €146.2 million on the retrofit of its heat network.",
        "Norvik spent €163.8 million on the retrofit of its heat network.",
    ),
    "other city, simplified": (QINGLAN.format("48.6亿元"), QINGLAN.format("53.9亿元").replace("青岚市", "临江市")),
    "other city, traditional": (
        "青嵐市海綿城市改造工程累計完成投資48.6億元。",
        "臨江市海綿城市改造工程累計完成投資53.9億元。",
    ),
    "other thing": (
        "Gas covered 40 per cent of the heat demand of the old town.",
        "Heat pumps covered 60 per cent of the heat demand of the old town.",
    ),
    "other people": (
        "The survey found that 40 per cent of men smoked every day.",
        "The survey found that 30 per cent of women smoked every day.",
    ),
    "other deed": (
        "The country imports 30 million tonnes of wheat a year.",
        "The country exports 20 million tonnes of wheat a year.",
    ),
    "other payer, Chinese": (
        "青岚市海绵城市改造工程中省级财政补助12亿元。",
        "青岚市海绵城市改造工程中市级财政补助18亿元。",
    ),
    "other phase": ("Phase 1 of the retrofit cost €40 million.", "Phase 2 of the retrofit cost €60 million."),
    "other phase, Chinese": (
        "青岚市海绵城市改造一期工程完成投资12亿元。",
        "青岚市海绵城市改造二期工程完成投资18亿元。",
    ),
    "other half of the year, Chinese": (
        "上半年青岚市海绵城市改造工程完成投资12亿元。",
        "下半年青岚市海绵城市改造工程完成投资18亿元。",
    ),
    "other month without a year": (
        "In January the plant produced 120 GWh of heat for the old town.",
        "In July the plant produced 30 GWh of heat for the old town.",
    ),
    "a quarter and its year": (
        "Revenue of the heating division was €12 million in the first quarter of 2024.",
        "Revenue of the heating division was €46 million in 2024.",
    ),
    "before and after": (
        "Network losses were 18 per cent of heat production before the retrofit.",
        "Network losses were 13 per cent of heat production after the retrofit.",
    ),
    "at least": (
        "More than 40 % of the customers in the old town were satisfied.",
        "About 52 % of the customers in the old town were satisfied.",
    ),
    "inside a range": (
        "The retrofit of Halden Bay will cost between €140 million and €170 million.",
        "The retrofit of Halden Bay will cost €155 million.",
    ),
    "different causes": (
        "A new energy management system has been installed, reducing electricity usage by 10% annually.",
        "Introduced energy-efficient lighting in all stores, reducing electricity usage by 30% annually.",
    ),
    "other time, by a word": (
        "Last year the company earned $12 million in operating profit.",
        "This year the company earned $15 million in operating profit.",
    ),
    "a correction": (
        "According to first counts 5,200 people came to the fair in Halden Bay on 25 May 2024.",
        "Correction: not 5,200 but 4,700 people came to the fair in Halden Bay on 25 May 2024.",
    ),
    "some of them": (
        "In January 2024 the rate in Halden county was 5.8 %.",
        "Among people under 25 in Halden county the rate was 7.3 % in January 2024.",
    ),
    "budget and cost, traditional": ("青嵐市海綿城市改造工程預算41.5億元。", "青嵐市海綿城市改造工程投資48.6億元。"),
    "change and level, traditional": ("青嵐市內澇投訴量減少5%，市民滿意。", "青嵐市內澇投訴量占比7%，市民滿意。"),
}


@pytest.mark.parametrize("reason", FALSELY_FOUND)
def test_statements_that_can_both_be_true_do_not_disagree(reason):
    assert figures(*FALSELY_FOUND[reason]) == []


STILL_FOUND = {
    "before and after, at the beginning": (
        "Before the retrofit, network losses were 18 per cent of heat production.",
        "After the retrofit, network losses were 13 per cent of heat production.",
    ),
    "other people, at the beginning": (
        "Among men, the survey found that 40 per cent of workers smoked every day.",
        "Among women, the survey found that 30 per cent of workers smoked every day.",
    ),
    "what is to be": (
        "The plant is to reach an efficiency of 80 % in the old town.",
        "The plant had an efficiency of 60 % in the old town.",
    ),
}


@pytest.mark.parametrize("reason", STILL_FOUND)
@pytest.mark.xfail(strict=True, reason="a clause before the figure's own, and words such as to, are ignored")
def test_what_stands_before_the_clause_counts_too(reason):
    assert figures(*STILL_FOUND[reason]) == []


def test_one_document_does_not_disagree_with_itself():
    evidence = [
        piece(HALDEN.format(cost, ""), "a", start=at) for at, cost in enumerate(("€146 million", "€163 million"))
    ]
    assert find_disagreements(evidence, section="s") == ()


ACROSS_WORDINGS = {
    "scales": (
        "In 2023 the port of Ellmore handled 3.2 million tonnes of cargo on 1,140 ships.",
        "With 2,900,000 tonnes turned over in 2023, Ellmore remains the third largest of the inland ports.",
    ),
    "units": (
        "The well at Tor Hill was sunk to a depth of 3.12 m on 11 December 2023.",
        "On 11 December 2023 the depth of the well at Tor Hill was 287 cm.",
    ),
    "number words": (
        "The Friday market has 48 stalls.",
        "Fifty-five traders keep stalls at the Friday market.",
    ),
    "simplified": (
        "截至2023年12月31日，清河水库蓄水量为320万立方米，坝前水位46.2米。",
        "2023年末清河水库实际蓄水2,900,000立方米，可供下游3个乡镇灌溉使用。",
    ),
    "per cent, simplified": (
        "东郊厂2024年3月退货率为百分之三点二。",
        "2024年3月，东郊厂退货率达到4.5%，高于2%的目标。",
    ),
    "traditional": (
        "春季研習班共96人結業，表示滿意者占百分之九十一。",
        "春季研習班滿意度為83%，與會者認為場地太小。",
    ),
}


@pytest.mark.parametrize("kind", ACROSS_WORDINGS)
def test_other_words_and_units_hide_no_disagreement(kind):
    assert len(figures(*ACROSS_WORDINGS[kind])) == 1


def beside_row(sentence: str, header: list[str], cells: list[str]) -> list[tuple[str, ...]]:
    [(row, _)] = rows_of(table(header, cells), "b")
    tables = find_disagreements([piece(sentence, "a"), row], section="s")
    return [tuple(told.lead for told in paragraph.sentences) for paragraph in tables]


CARGO, SHIPS = (
    "In 2023 the port of Ellmore handled 3.2 million tonnes of cargo.",
    ["Port", "Year", "Cargo (t)", "Ships"],
)
STORED, STORES = "2023年底清河水庫蓄水量為320萬立方米。", ["水庫", "年度", "蓄水量（萬立方米）"]


def test_a_row_of_a_table_contradicts_a_sentence():
    assert beside_row(CARGO, SHIPS, ["Ellmore", "2023", "2,900,000", "1,140"]) == [("2,900,000", "3.2 million tonnes")]
    assert beside_row(STORED, STORES, ["清河水庫", "2023年", "290"]) == [("290", "320萬立方米")]


@pytest.mark.parametrize(
    "cells", [["Ellmore", "2023", "3,200,000"], ["Ellmore", "2022", "2,900,000"], ["Brigg", "2023", "2,900,000"]]
)
def test_a_row_that_agrees_or_is_of_another_year_or_subject_does_not(cells):
    assert beside_row(CARGO, SHIPS, [*cells, "1,140"]) == []


@pytest.mark.parametrize(
    "cells", [["清河水庫", "2023年", "320"], ["清河水庫", "2022年", "290"], ["南山水庫", "2023年", "290"]]
)
def test_a_chinese_row_that_agrees_or_is_of_another_year_or_subject_does_not(cells):
    assert beside_row(STORED, STORES, cells) == []


def test_rows_of_two_tables_disagree_in_the_same_column_only():
    [(price, _)] = rows_of(table(["Model", "Selling price (£)"], ["Solano 2", "1,190"]), "a")
    [(cost, _)] = rows_of(table(["Model", "Cost of production (£)"], ["Solano 2", "742"]), "b")
    [(other, _)] = rows_of(table(["Machine", "Selling price"], ["Solano 2", "£1,290"]), "c")
    assert find_disagreements([price, cost], section="s") == ()
    [paragraph] = find_disagreements([price, other], section="s")
    assert paragraph.cite_ids == (price.id, price.header, other.id, other.header)


def test_the_title_says_which_year_and_which_stage():
    pieces = [piece("The roof of the town hall cost £386,000.", "a"), piece("The town hall's roof cost £412,000.", "b")]

    def found(*titles: str) -> int:
        places = {one.id: title for one, title in zip(pieces, titles, strict=True)}
        return len(find_disagreements(pieces, section="s", places=places))

    assert found("Works report › Cost", "Council paper › Cost") == 1
    assert found("Works_report_2022 › Cost", "Works_report_2023 › Cost") == 0
    assert found("Works report, stage 2 › Cost", "Works report, stage 3 › Cost") == 0


def test_a_statement_stands_in_one_table_and_there_are_few_tables():
    places = ["Halden Bay", "Norvik Sound", "Mill Quay", "Sandmoor Point", "Lindenmark Hill", "Brida Cape"]
    sentences = [
        f"The retrofit of the heat network at {place} cost €{cost} million in total."
        for place in places
        for cost in (100, 130, 160)
    ]
    evidence = [piece(sentence, f"d{at}") for at, sentence in enumerate(sentences)]
    tables = find_disagreements(evidence, section="s")
    told = [sentence.text for paragraph in tables for sentence in paragraph.sentences]
    assert 1 <= len(tables) <= 4
    assert len(told) == len(set(told))
    for paragraph in tables:
        assert len({sentence.text.split(" cost ")[0] for sentence in paragraph.sentences}) == 1


def test_the_result_does_not_depend_on_the_order_of_the_evidence():
    sentences = [HALDEN.format(f"€{cost} million", "") for cost in (146.2, 163.8, 190.5)]
    evidence = [piece(sentence, f"d{at}") for at, sentence in enumerate(sentences)]
    assert find_disagreements(evidence, section="s") == find_disagreements(evidence[::-1], section="s")


def test_one_side_is_told_the_other_may_be_anything_gathered():
    told, known = piece(HALDEN.format("€146.2 million", ""), "a"), piece("Nobody was hurt in Halden Bay.", "b")
    other, third = (piece(HALDEN.format(f"€{cost} million", ""), cost) for cost in ("163.8", "190.5"))
    [table] = find_disagreements([told, known], section="s", gathered=[told, other])
    assert table.cite_ids == (told.id, other.id)
    assert find_disagreements([known], section="s", gathered=[other, third]) == ()


def test_nothing_to_compare_gives_nothing():
    assert find_disagreements([], section="s") == ()
    assert find_disagreements([piece(HALDEN.format("€146.2 million", ""))], section="s") == ()


# Titles, and a sentence of each document.
SHOWN_FALSELY = {
    "the title names the subject": (
        ("Tysons, Virginia", "The population was 19,627 as of the 2010 census."),
        ("Marion, Arkansas", "The population was 12,345 at the 2010 census."),
    ),
    "the title names the subject, Chinese": (("大鳞大眼鲷", "体长可达20公分。"), ("蟒鳗", "体长可达42公分。")),
    "bonds of two cities": (
        ("Qinglan: note of the lender", "The special bonds carry a term of 15 years."),
        ("Harbour Heat closing report", "The special bonds have a term of 20 years."),
    ),
    "another version": (
        ("Engine 1.23 released", "This release consists of 47 enhancements."),
        ("Engine 1.21 released", "This release consists of 51 enhancements."),
    ),
    "a number that counts nothing": (
        ("Gate log, Kelsby", "Own van, green, at the dock door 4; driver on time."),
        ("Where to find us, Kelsby", "Own van park, green, dock door 6; ring the bell."),
    ),
    "another measure": (
        ("Clinic report", "In 2024 CRM systems of Lindow helped to improve patient appointment scheduling by 35%."),
        ("Clinic survey", "In 2024 45% of patients preferred providers that offer CRM systems, Lindow found."),
    ),
    "another place and time, Chinese": (
        ("青岚积水点从87处降到11处", "当天11处积水点中有7处位于铁路以南。"),
        (
            "青岚市常见问题解答",
            "青岚市计划在2028年汛期前完成柳塘片区5处积水点治理，在2030年底前完成铁路以南8处积水点治理。",
        ),
    ),
    "changes of no one period": (
        ("Call centre review", "The training led to a 10% improvement in call handling times."),
        ("Call centre platform", "The platform helped us achieve a 15% improvement in call handling times."),
    ),
    "a limit": (
        ("Heat report", "Chatbots of the heat service cover up to 30% of all questions."),
        ("Heat survey", "Chatbots of the heat service cover 25% of all questions."),
    ),
    "the subject stands before a date, Chinese": (
        ("工会通知", "截至5月9日，全公司共有732名职工完成体检，占应检人数的81%。"),
        ("工会通知", "截至5月9日，技术中心共有148名职工完成体检，占应检人数的92%。"),
    ),
}


@pytest.mark.parametrize("reason", SHOWN_FALSELY)
def test_one_subject_measure_period_and_unit(reason):
    pieces = [piece(sentence, document) for document, (_, sentence) in zip("ab", SHOWN_FALSELY[reason], strict=True)]
    places = {one.id: title for one, (title, _) in zip(pieces, SHOWN_FALSELY[reason], strict=True)}
    assert find_disagreements(pieces, section="s", places=places) == ()


def test_rows_of_which_one_has_no_period_are_not_compared():
    header, places = ["村", "交叶户数"], ("合作社2023年度工作报告", "合作社理事会会议纪要")
    rows = [rows_of(table(header, ["上坪村", count]), document)[0][0] for count, document in (("84", "a"), ("87", "b"))]
    titles = {row.id: title for row, title in zip(rows, places, strict=True)}
    assert find_disagreements(rows, section="s", places=titles) == ()
    assert len(find_disagreements(rows, section="s")) == 1
