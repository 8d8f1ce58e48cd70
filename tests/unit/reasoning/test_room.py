"""How much is told: repetitions passed over, the report's room shared, no section swallowed and none swallowing."""

from hypothesis import given
from hypothesis import strategies as st

from deep_research.reasoning.rules.quoting.selection import MAX_SECTION_SHARE, choose, sentence_count, share_room
from deep_research.report.evidence.passage import Evidence
from tests.unit.reasoning.pieces import piece, rows_of, table

SUBJECTS = "pumps tanks pipes bills tariffs losses grants bonds delays leaks storms audits".split()


def told(number: int, size: int, score: float) -> Evidence:
    """Return a piece of so many sentences that nothing else repeats."""
    sentences = (f"The {SUBJECTS[number % 12]} of plant {number} cost {number}{at} euros." for at in range(size))
    return piece(" ".join(sentences), f"d{number}", score=score)


@st.composite
def sections(draw: st.DrawFn) -> list[list[Evidence]]:
    sizes = draw(st.lists(st.lists(st.integers(1, 3), max_size=8), max_size=6))
    numbers = iter(range(1000))
    made = [[told(next(numbers), size, draw(st.integers(0, 9))) for size in own] for own in sizes]
    # The same piece may have been found for two sections.
    shared = [own[0] for own in made if own][:1]
    return [[*own, *shared] if draw(st.booleans()) and shared and shared[0] not in own else own for own in made]


def size_of(pieces: list[Evidence]) -> int:
    return sum(map(sentence_count, pieces))


@given(sections=sections(), room=st.integers(0, 60), least=st.integers(0, 3))
def test_the_room_is_kept_and_no_section_takes_more_than_its_part(sections, room, least):
    shared = share_room(sections, room=room, least=least)
    assert len(shared) == len(sections)
    assert sum(map(size_of, shared)) <= room
    assert all(size_of(own) <= MAX_SECTION_SHARE * room for own in shared)


@given(sections=sections(), room=st.integers(0, 60), least=st.integers(0, 3))
def test_each_piece_is_told_once_in_its_own_section_and_in_its_order(sections, room, least):
    shared = share_room(sections, room=room, least=least)
    ids = [one.id for own in shared for one in own]
    assert len(ids) == len(set(ids))
    for own, pieces in zip(shared, sections, strict=True):
        assert own == [one for one in pieces if one in own]


@given(sections=sections())
def test_where_there_is_room_everything_is_told(sections):
    shared = share_room(sections, room=10_000, least=2)
    assert {one.id for own in shared for one in own} == {one.id for pieces in sections for one in pieces}


@given(sections=sections(), room=st.integers(36, 60))
def test_each_section_with_evidence_of_its_own_tells_something(sections, room):
    """With room for two pieces of every section, none is left empty by the others."""
    shared = share_room(sections, room=room, least=2)
    told_before: set[str] = set()
    for own, pieces in zip(shared, sections, strict=True):
        assert own or all(one.id in told_before for one in pieces)
        told_before |= {one.id for one in own}


def test_the_last_section_keeps_something_in_a_short_report():
    sections = [[told(10 * at + each, 3, 1.0) for each in range(2)] for at in range(5)]
    assert all(share_room(sections, room=24, least=2))


def test_beyond_its_least_a_section_is_told_by_score():
    weak = [told(number, 1, 0.1) for number in range(4)]
    strong = [told(number, 1, 0.9) for number in range(4, 8)]
    assert [len(own) for own in share_room([weak, [], strong], room=8, least=1)] == [4, 0, 4]
    assert [len(own) for own in share_room([weak, [], strong], room=6, least=1)] == [3, 0, 3], "half of the room"
    weaker = [told(number, 1, 0.05) for number in range(8, 12)]
    assert [len(own) for own in share_room([weaker, weak, strong], room=6, least=1)] == [1, 2, 3]


def test_a_repetition_is_passed_over_and_the_next_piece_taken():
    ranked = [
        piece("Network losses in Halden Bay were 13.2 per cent of heat production in 2025.", "a"),
        piece("In 2025 network losses in Halden Bay were 13.2 per cent of heat production.", "b"),
        piece("The national fund paid a grant of €52 million.", "c"),
    ]
    assert choose(ranked, room=2) == [ranked[0], ranked[2]]


def test_a_piece_that_does_not_fit_leaves_its_room_to_smaller_ones():
    ranked = [told(1, 2, 0.9), told(2, 3, 0.8), told(3, 1, 0.7)]
    assert choose(ranked, room=3) == [ranked[0], ranked[2]]
    assert choose(ranked, room=0) == []


def test_rows_of_a_table_do_not_repeat_each_other():
    rows = [
        row
        for row, _ in rows_of(table(["Plant in the harbour", "Cost of heat"], ["Plant one", "5"], ["Plant two", "5"]))
    ]
    assert choose(rows, room=9) == rows
