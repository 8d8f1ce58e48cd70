"""The false statements among which a judge's sentences stand."""

import pytest

from deep_research.reasoning.model.planted import planted_statements
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from tests.unit.reasoning.pieces import piece

PASSAGES = [
    piece("The new boiler may halve the heat losses of the northern district.", "a"),
    piece("In 2024 the heat losses of the district rose to 14.5 %, says Andrea Stone.", "b"),
    piece("The council plans to extend the network, and Victor Amsel leads the work.", "c"),
    piece("旧城管网可能在明年完成，投资为3.2亿元，覆盖四个城区。", "d"),
]
HEADER = piece("| Year | Losses |", "e").replace(header="h")


def said(text: str, of: Evidence) -> Sentence:
    return Sentence(text=text, evidence=(of.id,))


def made_false(text: str, *quotes: str, title: str = "") -> list[str]:
    """Return what becomes of a sentence that cites the first of these passages."""
    pieces = [piece(quote, str(number)) for number, quote in enumerate(quotes)]
    planted = planted_statements([said(text, pieces[0])], pieces, 1, {pieces[0].id: title})
    return [each.text for each in planted if each.evidence == (pieces[0].id,)]


def test_they_are_the_texts_own_sentences_with_one_thing_changed_and_cite_what_those_cite() -> None:
    own = [
        said("Losses may be halved by a new boiler in the north.", PASSAGES[0]),
        said("Losses of the district came to 14.5 % a year earlier.", PASSAGES[1]),
    ]
    planted = planted_statements(own, PASSAGES, 2)
    assert {(each.text, each.evidence) for each in planted} == {
        ("Losses will be halved by a new boiler in the north.", own[0].evidence),
        ("Losses of the district came to 44.5 % a year earlier.", own[1].evidence),
    }


def test_two_calls_on_the_same_passages_get_other_statements() -> None:
    first = said("Losses of the district came to 14.5 % a year earlier.", PASSAGES[1])
    second = said("Of the heat, 14.5 % never reached the district's homes.", PASSAGES[1])
    one, other = (planted_statements([each], PASSAGES, 1) for each in (first, second))
    assert [each.text for each in (*one, *other)] == [
        "Losses of the district came to 44.5 % a year earlier.",
        "Of the heat, 44.5 % never reached the district's homes.",
    ]


@pytest.mark.parametrize(
    ("text", "quotes", "title", "change"),
    [
        ("PEP 517 was accepted in the end.", ("It was accepted in 2017.",), "PEP 517", "accepted/rejected"),
        ("索引合并提案经过多年的讨论，最终已被驳回，没有进入标准。", ("该提案被驳回。",), "", "驳回/接受"),
        ("PEP 517 defines how builds begin.", ("Hooks are called.", "See PEP 516."), "", "517/516"),
        ("PEP 517规定了构建方式，构建由前端调用后端来完成。", ("前端调用后端。", "见PEP 516。"), "", "517/516"),
    ],
)
def test_a_status_and_an_actor_are_changed_to_another_of_its_kind(
    text: str, quotes: tuple[str, ...], title: str, change: str
) -> None:
    before, after = change.split("/")
    assert made_false(text, *quotes, title=title) == [text.replace(before, after)]


@pytest.mark.parametrize(
    ("text", "quotes", "title"),
    [
        # The writer's own hedge, and both words in the passage: the changed sentence may be true.
        ("The boiler may halve all losses.", ("The boiler halves all losses.",), ""),
        ("The boiler may halve all losses.", ("It may halve losses, and will do so soon.",), ""),
        # What is named so is the cited document itself, and a number of a version is no size.
        ("PEP 517 is told of by its successor.", ("Hooks are called.", "See PEP 660."), "PEP 660"),
        ("The change came with Python 3.12 at last.", ("Removed in Python 3.12.",), ""),
        ("Metadata of 1.0 and of 1.1 set no scheme.", ("Neither 1.0 nor 1.1 sets one.",), ""),
    ],
)
def test_what_could_be_true_or_absurd_is_not_made(text: str, quotes: tuple[str, ...], title: str) -> None:
    assert made_false(text, *quotes, title=title) == []


def test_where_no_sentence_can_be_changed_those_of_passages_are_each_from_another() -> None:
    planted = planted_statements([said("So be it, as they say.", PASSAGES[0])], PASSAGES, 4)
    assert len({each.evidence for each in planted}) == len(planted) == len(PASSAGES)
    quotes = {one.id: one.quote for one in PASSAGES}
    for each in planted:
        assert each.text not in quotes[each.evidence[0]]


def test_the_same_passages_give_the_same_statements_in_any_order() -> None:
    assert planted_statements([], PASSAGES, 3) == planted_statements([], PASSAGES[::-1], 3)


def test_a_changed_figure_is_one_that_no_passage_holds() -> None:
    losses = "Heat losses were 14.5 % of what the works delivered."
    assert made_false(losses, losses) == ["Heat losses were 44.5 % of what the works delivered."]
    assert not made_false(losses, losses, "| 44.5 % |")


def test_rows_and_messages_that_begin_with_their_time_are_left_alone() -> None:
    sent = piece("[2025-03-04 10:15] The boiler may fail again in the winter.", "a")
    assert not planted_statements([], [HEADER, sent], 2)


def test_no_more_than_asked_for() -> None:
    assert len(planted_statements([], PASSAGES, 1)) == 1
    assert not planted_statements([], PASSAGES, 0)
