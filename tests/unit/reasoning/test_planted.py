"""The false statements among which a judge's sentences stand."""

from deep_research.reasoning.model.planted import planted_statements
from tests.unit.reasoning.pieces import piece

PASSAGES = [
    piece("The new boiler may halve the heat losses of the northern district.", "a"),
    piece("In 2024 the heat losses of the district rose to 14.5 %, says Andrea Stone.", "b"),
    piece("The council plans to extend the network, and Victor Amsel leads the work.", "c"),
    piece("该项目可能在明年完成，投资为3.2亿元，覆盖四个城区。", "d"),
]
HEADER = piece("| Year | Losses |", "e").replace(header="h")


def test_each_differs_from_its_own_passage_and_comes_from_another() -> None:
    planted = planted_statements(PASSAGES, 4)
    assert len({each.evidence for each in planted}) == len(planted) == len(PASSAGES)
    quotes = {one.id: one.quote for one in PASSAGES}
    for each in planted:
        assert each.text not in quotes[each.evidence]


def test_the_same_passages_give_the_same_statements_in_any_order() -> None:
    assert planted_statements(PASSAGES, 3) == planted_statements(PASSAGES[::-1], 3)


def test_a_changed_figure_is_one_that_no_passage_holds() -> None:
    losses = piece("Heat losses were 14.5 % of what the works delivered.", "a")
    other = piece("| 44.5 % |", "b")
    assert [each.text for each in planted_statements([losses], 1)] == [
        "Heat losses were 44.5 % of what the works delivered."
    ]
    assert not planted_statements([losses, other], 1)


def test_rows_and_messages_that_begin_with_their_time_are_left_alone() -> None:
    sent = piece("[2025-03-04 10:15] The boiler may fail again in the winter.", "a")
    assert not planted_statements([HEADER, sent], 2)


def test_no_more_than_asked_for() -> None:
    assert len(planted_statements(PASSAGES, 1)) == 1
    assert not planted_statements(PASSAGES, 0)
