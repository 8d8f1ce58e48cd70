"""State is small, and comes out the same whichever branch was first."""

import itertools

from deep_research.pipeline.gap import Gap, GapKind
from deep_research.pipeline.state import TaskRecord, merge_by_scope, merge_unique


def _task(scope: str, *evidence: str) -> TaskRecord:
    return TaskRecord(scope=scope, evidence=evidence, after=())


def test_new_entries_are_added_once_and_in_order():
    assert merge_unique(["b", "a"], ["c", "a", "c"]) == ("b", "a", "c")


def test_records_are_sorted_by_scope_as_people_count():
    scopes = ["section/10", "section/2", "section/2/round/1", "section/1", "draft"]
    merged = [record.scope for record in merge_by_scope([], [_task(scope) for scope in scopes])]
    assert [scope for scope in merged if scope != "draft"] == [
        "section/1",
        "section/2",
        "section/2/round/1",
        "section/10",
    ]


def test_the_newest_record_of_a_scope_stays():
    assert merge_by_scope([_task("a", "old")], [_task("a", "new")]) == (_task("a", "new"),)


def test_a_merge_does_not_hang_on_who_came_first():
    updates = [[_task(f"section/{number}", str(number))] for number in range(1, 5)]
    merged = set()
    for order in itertools.permutations(updates):
        known: tuple[TaskRecord, ...] = ()
        for update in order:
            known = merge_by_scope(known, update)
        merged.add(known)
    assert len(merged) == 1


def test_different_things_lost_in_one_scope_are_all_kept():
    kinds: tuple[GapKind, ...] = ("search", "page")
    gaps = [Gap(kind=kind, scope="s", subject="a", reason="r") for kind in kinds]
    assert len(merge_by_scope(gaps[:1], gaps[1:])) == 2
