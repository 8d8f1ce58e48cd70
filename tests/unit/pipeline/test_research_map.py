"""The map: what names an entry, how readers change it, and what is still asked for."""

from typing import Any

import pytest

from deep_research.pipeline.outcome import stop_of
from deep_research.pipeline.research_map import MapChange, changed, found_in, is_wanted, map_change_in
from deep_research.pipeline.state import SectionState
from deep_research.reasoning.values import Entries, MapEntry
from deep_research.report.sources.hit import SearchQuery
from deep_research.text.messages.words import words_in

ENTRIES = (
    MapEntry(name="PEP 517: build backends", section="Builds"),
    MapEntry(name="PEP 665：锁文件", section="Locks", status="found"),
)


def after(*changes: MapChange, language: str = "en") -> Entries:
    return changed(ENTRIES, changes, words_in(language))


@pytest.mark.parametrize(
    ("answer", "change"),
    [
        ("strike: PEP 517; PEP 665", MapChange(strike=("PEP 517", "PEP 665"))),
        ("删去：PEP 517；锁文件", MapChange(strike=("PEP 517", "锁文件"))),
        ("刪去：鎖文件", MapChange(strike=("鎖文件",))),
        ("add: PEP 751: lock files, reproducible", MapChange(add=("PEP 751: lock files, reproducible",))),
        ("補充：鎖文件", MapChange(add=("鎖文件",))),
        ("Enough!", MapChange(enough=True)),
        ("够了。", MapChange(enough=True)),
        ({"map": {"add": ["x"], "section": "Locks"}}, MapChange(add=("x",), section="Locks")),
        ("enough of the costs", None),
        ("add:", None),
        ("costs", None),
        ({"focus": ["costs"]}, None),
        (None, None),
    ],
)
def test_changes_are_told_from_other_answers(answer: Any, change: MapChange | None) -> None:
    assert map_change_in(answer) == change


@pytest.mark.parametrize(("language", "reason"), [("en", "struck by a reader"), ("zh-Hans", "已由读者删去")])
def test_a_struck_entry_is_set_aside_with_its_reason(language: str, reason: str) -> None:
    first, second = after(MapChange(strike=("pep 517", "PEP 665：锁文件")), language=language)
    assert (first.status, first.reason, first.is_struck) == ("set_aside", reason, True)
    assert second.is_struck
    # What a page says of it, or what was asked for it, brings it back in no way.
    assert found_in(first, {"d": "pep 517 again"}).status == "set_aside"
    assert first.replace(queries=("PEP 517",)).at_the_end.status == "set_aside"


def test_what_is_added_stands_first_and_what_is_known_is_not_added_twice() -> None:
    entries = after(MapChange(add=("PEP 751", "pep 517", "PEP 665"), section="Locks"))
    assert [entry.name for entry in entries] == ["PEP 751", *(entry.name for entry in ENTRIES)]
    assert (entries[0].section, entries[0].is_wanted) == ("Locks", True)
    assert entries[1].is_wanted
    assert entries[2] == ENTRIES[1]


def test_a_struck_entry_that_is_added_again_is_asked_for_again() -> None:
    again = after(MapChange(strike=("PEP 517",)), MapChange(add=("PEP 517: build backends",)))[0]
    assert (again.status, again.reason, again.is_wanted) == ("open", "", True)


def test_a_query_for_nothing_but_what_was_struck_is_not_wanted() -> None:
    entries = (*after(MapChange(strike=("PEP 517",))), MapEntry(name="PEP 518"))
    queries = ("PEP 517 backends", "PEP 517 and PEP 518", "PEP 5170", "lock files")
    assert [is_wanted(SearchQuery(query=query), entries) for query in queries] == [False, True, True, True]


def test_search_goes_on_for_what_was_added_and_ends_where_a_reader_says_so() -> None:
    entries = after(MapChange(add=("PEP 751",)))
    state = SectionState(round=1, is_sufficient=True, grants=(5,), entries=entries)
    assert stop_of(state) == ""
    assert stop_of(state.replace(grants=())) == "sufficient"
    assert stop_of(state.replace(is_ended=True)) == "enough"
