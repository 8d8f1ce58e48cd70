"""How strong evidence is: who gives the same figure, who another, what is weighed, what would change the picture."""

import pytest

from deep_research.pipeline.stages.verify import claims_nothing
from deep_research.reasoning.rules.weighing.claims import agree, ranked_claims
from deep_research.reasoning.rules.weighing.strength import (
    changes_of,
    in_brief,
    strength_table,
    weigh_findings,
    weigh_tables,
)
from deep_research.reasoning.values import Findings, Plan, SectionPlan, SectionWork
from deep_research.report.paragraph import Backing, Sentence
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.unit.reasoning.pieces import brief, piece, rows_of, table

COST = "The retrofit of Halden Bay cost €146.2 million in total by 31 December 2025."


def agreeing(one: str, other: str) -> bool:
    """Say whether any figure of one document is that of another."""
    first, second = list(ranked_claims([piece(one, "a")])), list(ranked_claims([piece(other, "b")]))
    return any(agree(a, b) for a in first for b in second)


SAME = {
    "other words": (COST, "The city and its utility spent €146.2 million on the retrofit of Halden Bay."),
    "fewer digits": (COST, "The retrofit of Halden Bay cost about €146 million."),
    "another language's sign": (COST, "The retrofit of Halden Bay cost 146.2 million euros."),
    "the end of a change": (
        "Network losses in Halden Bay were 13.2 per cent of heat production in 2025.",
        "Network losses fell from 17.5 per cent of heat production in 2021 to 13.2 per cent in 2025.",
    ),
    "simplified": (
        "青岚市海绵城市改造工程累计完成投资48.6亿元。",
        "海绵城市改造完成投资48.6亿元，平均每平方公里约2,290万元。",
    ),
    "two scripts": ("青岚市共改造雨污管网386公里。", "青嵐市五年內改造雨污管網386公里。"),
    "two scales": ("青岚市海绵城市改造工程完成投资48.6亿元。", "青岚市海绵城市改造工程完成投资4.86 billion yuan。"),
}
NOT_THE_SAME = {
    "another figure": (COST, COST.replace("146.2", "163.8")),
    "another unit": (COST, COST.replace("€", "$")),
    "another time": (
        "Network losses in Halden Bay were 13.2 per cent of heat production in 2025.",
        "Network losses in Halden Bay were 13.2 per cent of heat production in 2021.",
    ),
    "a plan": (COST, "The budget for the retrofit of Halden Bay was €146.2 million."),
    "a plan, Chinese": ("青岚市海绵城市改造工程完成投资48.6亿元。", "青岚市海绵城市改造工程概算48.6亿元。"),
    "another thing with a round figure": (
        "About 30 per cent of residents of Halden Bay were satisfied.",
        "Gas boilers covered 30 per cent of the heat demand of Halden Bay.",
    ),
    "nothing in common": (COST, "Norvik exported fish worth €146.2 million."),
    "no unit": ("The council of Halden Bay met 146 times.", "The council of Halden Bay met 146."),
}


@pytest.mark.parametrize("reason", SAME)
def test_one_figure_in_other_words_is_the_same(reason):
    assert agreeing(*SAME[reason])
    assert agreeing(*reversed(SAME[reason]))


@pytest.mark.parametrize("reason", NOT_THE_SAME)
def test_figures_of_different_things_confirm_nothing(reason):
    assert not agreeing(*NOT_THE_SAME[reason])


def test_one_document_does_not_confirm_itself():
    first, second = ranked_claims([piece(COST, "a"), piece(COST, "a", start=200)])
    assert not agree(first, second)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (COST, False),
        ("According to the closing report, the retrofit cost €146.2 million.", True),
        ("The paper cites the council, which paid €146.2 million.", True),
        ("据水务局总结报告，工程完成投资48.6亿元。", True),
        ("據水務局總結報告，工程完成投資48.6億元。", True),
        ("工程完成投资48.6亿元。", False),
        ("收据显示工程完成投资48.6亿元。", False),
    ],
)
def test_who_names_another_as_the_source_is_no_origin(sentence, expected):
    claim, *_ = ranked_claims([piece(sentence)])
    assert claim.is_hearsay is expected


def findings(*sections: list, language: Language = "en", **more) -> Findings:
    asked = brief("Assess it", language).model_copy(update={"today": "2026-06-01"})
    works = tuple(
        SectionWork(brief=asked, section=SectionPlan(title=f"Side {letter}"), evidence=tuple(own))
        for letter, own in zip("ABCDEFGH", sections, strict=False)
    )
    return Findings(brief=asked, plan=Plan(research_title="t", sections=()), sections=works, **more)


def test_the_best_of_each_section_is_weighed_then_what_others_tell():
    first = [
        piece("The pumps of Halden Bay cost €61.4 million.", "a", score=3.0),
        piece(COST, "a", start=90, score=1.0),
    ]
    second = [piece("The tank of Halden Bay holds 9,300 tonnes of water.", "b", score=2.0)]
    others = [piece("Halden Bay spent €146.2 million on the retrofit.", "c")]
    weighed = weigh_findings(findings(first, second), [*first, *second, *others])
    assert [one.row.lead for one in weighed] == ["€61.4 million", "9,300 tonnes", "€146.2 million"]
    assert [len(one.agreeing) for one in weighed] == [0, 0, 1]
    assert weighed[2].documents == ("a", "c")


def test_a_table_row_confirms_a_sentence():
    own = piece("In 2023 the port of Ellmore handled 3.2 million tonnes of cargo.", "a")
    [(row, _)] = rows_of(table(["Port", "Year", "Cargo (t)"], ["Ellmore", "2023", "3,200,000"]), "b")
    [(other, _)] = rows_of(table(["Port", "Year", "Cargo (t)"], ["Brigg", "2023", "3,200,000"]), "c")
    [one] = weigh_findings(findings([own]), [own, row, other])
    assert [claim.piece for claim in one.agreeing] == [row]


def test_a_quotation_gives_way_to_whom_it_quotes():
    quoting = piece("According to the council, the retrofit of Halden Bay cost €146.2 million.", "a", score=3.0)
    own = piece(COST, "b", score=1.0)
    [one] = weigh_findings(findings([quoting, own]), [quoting, own])
    assert one.claim.piece == own
    assert [claim.piece for claim in one.agreeing] == [quoting]


def test_other_figures_for_what_is_told_are_named():
    own, confirming = piece(COST, "a"), piece("Halden Bay spent €146.2 million on the retrofit.", "b", score=2.0)
    other = piece(COST.replace("146.2", "163.8"), "c", score=-1.0)
    [one] = weigh_findings(findings([own, confirming]), [own, confirming, other])
    assert [claim.figure.raw.strip() for claim in one.against] == ["€163.8 million"]


def test_how_long_something_takes_is_not_weighed():
    lasting = [piece(f"The roads of Halden Bay are dry again after 3 hours, says source {at}.", at) for at in "ab"]
    assert weigh_findings(findings(lasting), lasting) == []


def test_there_are_few_rows():
    works = "The works at quay {}{} of Halden Bay cost €1{}{} million."
    pieces = [
        [piece(works.format(letter, at, at, ord(letter)), f"{letter}{at}") for at in range(5)] for letter in "ABCDEFGH"
    ]
    assert 1 <= len(weigh_findings(findings(*pieces), [one for own in pieces for one in own])) <= 6


def test_the_order_of_what_was_gathered_makes_no_difference():
    pieces = [
        piece(COST, "a"),
        piece(COST.replace("cost", "has cost"), "b"),
        piece(COST.replace("146.2", "163.8"), "c"),
    ]
    assert weigh_findings(findings(pieces), pieces) == weigh_findings(findings(pieces), pieces[::-1])


def test_statements_of_a_table_find_their_claims_again():
    pieces = [piece(COST, "a"), piece("Halden Bay spent €146.2 million on the retrofit.", "b")]
    [one] = weigh_findings(findings(pieces[:1]), pieces)
    tables = strength_table(findings(pieces[:1], strength=(one.row,)))
    [again] = weigh_tables(tables, pieces)
    assert again.claim == one.claim
    assert again.agreeing == one.agreeing


# What would change the conclusion


def row(id_: str, **backing) -> Sentence:
    return Sentence(text="x", evidence=(id_,), lead="5 %", backing=Backing(**backing))


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_what_would_change_the_picture_claims_nothing(language):
    pieces = [piece(COST, document) for document in "abc"]
    rows = (
        row(pieces[0].id, origins=1, newest="2019"),
        row(pieces[1].id, origins=2, newest="2026-01-01", against=(("6 %", "e"),)),
        row(pieces[2].id, origins=2, newest=""),
    )
    told = changes_of(findings(*([one] for one in pieces), language=language, strength=rows))
    say = words_in(language)
    assert told == (
        say("change.disputed"),
        say("change.single", titles="Side A"),
        say("change.old", titles="Side A"),
    )
    assert all(claims_nothing(text) for text in told)


def test_a_section_whose_title_holds_a_figure_is_not_named():
    one = piece(COST)
    made = findings([one], strength=(row(one.id, origins=1),))
    work = made.sections[0].model_copy(update={"section": SectionPlan(title="The 12 towns in 2031")})
    assert changes_of(made.model_copy(update={"sections": (work,)})) == ()


def test_nothing_weighed_changes_nothing():
    assert changes_of(findings([piece(COST)])) == ()
    assert strength_table(findings([piece(COST)])) == ()


def test_a_prompt_is_told_what_was_counted():
    told = in_brief(row("e", origins=3, oldest="2024", newest="2026", against=(("6 %", "e"),)))
    assert told == "5 % | x | independent origins: 3 | other figures given: 6 % | dated: 2024 to 2026"
    assert in_brief(row("e")).endswith("other figures given: none | dated: unknown to unknown")
