"""Merging the answers of several engines."""

from hypothesis import given
from hypothesis import strategies as st

from deep_research.sources.address import canonical_address
from deep_research.sources.hit import Hit, merge_hits


def _hit(path: str, engine: str = "one") -> Hit:
    return Hit(address=f"https://example.org/{path}", title=path, engine=engine)


def test_answers_are_merged_rank_by_rank():
    merged = merge_hits([[_hit("a"), _hit("b"), _hit("c")], [_hit("x", "two")], []])
    assert [hit.title for hit in merged] == ["a", "x", "b", "c"]


def test_first_hit_of_an_address_is_kept():
    merged = merge_hits([[_hit("a?utm_source=x")], [_hit("a", "two"), _hit("b", "two")]])
    assert [(hit.title, hit.engine) for hit in merged] == [("a?utm_source=x", "one"), ("b", "two")]


def test_no_answers_give_no_hits():
    assert merge_hits([]) == []


@given(st.lists(st.lists(st.sampled_from("abcdef").map(_hit))))
def test_merging_loses_and_repeats_no_address(answers):
    merged = [canonical_address(hit.address) for hit in merge_hits(answers)]
    assert len(merged) == len(set(merged))
    assert set(merged) == {canonical_address(hit.address) for answer in answers for hit in answer}
