"""State is small, plain JSON, and comes out the same whichever branch was first."""

import itertools
import json

import pytest

from deep_research.pipeline.state import Stage, highest, merge_by_scope, merge_unique, plain
from deep_research.value import JsonObject


def test_new_entries_are_added_once_and_in_order():
    assert merge_unique(["b", "a"], ["c", "a", "c"]) == ["b", "a", "c"]


def test_records_are_sorted_by_scope_as_people_count():
    scopes = ["section/10", "section/2", "section/2/round/1", "section/1", "draft"]
    merged = [record["scope"] for record in merge_by_scope([], [{"scope": scope} for scope in scopes])]
    assert [scope for scope in merged if scope != "draft"] == [
        "section/1",
        "section/2",
        "section/2/round/1",
        "section/10",
    ]


def test_the_newest_record_of_a_scope_stays():
    assert merge_by_scope([{"scope": "a", "n": 1}], [{"scope": "a", "n": 2}]) == [{"scope": "a", "n": 2}]


def test_a_merge_does_not_hang_on_who_came_first():
    updates: list[list[JsonObject]] = [[{"scope": f"section/{number}", "n": number}] for number in range(1, 5)]
    merged = set()
    for order in itertools.permutations(updates):
        known: list[JsonObject] = []
        for update in order:
            known = merge_by_scope(known, update)
        merged.add(json.dumps(known))
    assert len(merged) == 1


def test_different_things_lost_in_one_scope_are_all_kept():
    gaps: list[JsonObject] = [{"scope": "s", "kind": kind, "subject": "a"} for kind in ("search", "page")]
    assert len(merge_by_scope(gaps[:1], gaps[1:])) == 2


def test_the_larger_count_stays():
    assert (highest(3, 2), highest(2, 3)) == (3, 3)


def test_an_update_looks_as_it_will_after_a_reload():
    assert plain({"a": (1, 2), "stage": Stage.PLAN, "文": None}) == {"a": [1, 2], "stage": "plan", "文": None}


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", 1j])
def test_an_update_that_is_not_plain_is_refused(value):
    with pytest.raises(TypeError):
        plain({"value": value})


def test_an_update_with_no_number_in_it_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        plain({"value": float("nan")})
