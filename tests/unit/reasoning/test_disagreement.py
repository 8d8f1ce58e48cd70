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
    "other time, by a word": (
        "Last year the company earned $12 million in operating profit.",
        "This year the company earned $15 million in operating profit.",
    ),
    "what is to be": (
        "The plant is to reach an efficiency of 80 % in the old town.",
        "The plant had an efficiency of 60 % in the old town.",
    ),
}


@pytest.mark.parametrize("reason", STILL_FOUND)
@pytest.mark.xfail(
    strict=True, reason="a clause before the figure's own, and words such as last, this, to, are ignored"
)
def test_what_stands_before_the_clause_counts_too(reason):
    assert figures(*STILL_FOUND[reason]) == []


def test_one_document_does_not_disagree_with_itself():
    evidence = [
        piece(HALDEN.format(cost, ""), "a", start=at) for at, cost in enumerate(("€146 million", "€163 million"))
    ]
    assert find_disagreements(evidence, section="s") == ()


def test_rows_of_tables_are_not_compared():
    rows = [
        row
        for document, cost in (("a", "€146 million"), ("b", "€163 million"))
        for row, _ in rows_of(
            table(["Retrofit of Halden Bay", "Total cost"], ["Total cost of Halden Bay", cost]), document
        )
    ]
    assert len(rows) == 2
    assert find_disagreements(rows, section="s") == ()


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
