"""What a run of the tests says of what it skipped."""

from types import SimpleNamespace
from typing import Any

import pytest

from evals.shared import DEFAULT_DATA
from tests.support import skips
from tests.support.programs import lacking


def skipped(test: str, reason: str) -> Any:
    return SimpleNamespace(nodeid=test, longrepr=("file.py", 1, f"Skipped: {reason}"))


def test_what_was_skipped_for_want_of_a_program_is_listed_with_what_brings_it() -> None:
    reports = [skipped("tests/e2e/a.py::one", lacking("chromium"))] * 2
    reports += [skipped("tests/e2e/a.py::two", lacking("jq")), skipped("tests/e2e/a.py::three", "root may write")]
    assert skips.wanting(reports) == [
        "2 tests were skipped without chromium: make system, or apt-get install chromium",
        "1 tests were skipped without jq: make system, or apt-get install jq",
    ]


@pytest.mark.parametrize(
    ("is_here", "reason", "is_named"),
    [
        (True, f"there is no {DEFAULT_DATA}/wcxb", True),
        (False, f"there is no {DEFAULT_DATA}/wcxb", False),
        (False, "no time was left for it", True),
    ],
)
def test_a_floor_may_be_skipped_only_where_none_of_the_sets_is_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, is_here: bool, reason: str, is_named: bool
) -> None:
    data = tmp_path if is_here else DEFAULT_DATA.with_name("nowhere")
    monkeypatch.setattr(skips, "DEFAULT_DATA", data)
    reports = [skipped("tests/evals/test_floors.py::test_wcxb", reason.replace(str(DEFAULT_DATA), str(data)))]
    assert skips.floors_skipped([*reports, skipped("tests/e2e/a.py::one", reason)]) == ["test_wcxb"] * is_named
