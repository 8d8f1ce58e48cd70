"""Dates that are only partly known, and what lies in a time by them."""

from datetime import date

import pytest

from deep_research.sources.dating import days_of, may_be_within


@pytest.mark.parametrize(
    ("published", "days"),
    [
        ("2024-02-29", (date(2024, 2, 29), date(2024, 2, 29))),
        ("2024-02", (date(2024, 2, 1), date(2024, 2, 29))),
        ("2024", (date(2024, 1, 1), date(2024, 12, 31))),
        ("2024-02-31", None),
        ("", None),
    ],
)
def test_partial_date_stands_for_all_its_days(published, days):
    assert days_of(published) == days


@pytest.mark.parametrize(
    ("published", "is_within"),
    [
        ("2024-05", True),
        ("2024", True),
        ("2024-04", False),
        ("2023", False),
        ("2024-06-30", True),
        ("2024-07", False),
        ("2025", False),
        ("", True),
    ],
)
def test_partial_date_is_within_a_time_where_one_of_its_days_is(published, is_within):
    assert may_be_within(published, date(2024, 5, 15), date(2024, 6, 30)) is is_within
