"""Dates that are only partly known, and what lies in a time by them."""

from datetime import date

import pytest

from deep_research.report.sources.dating import day_of, days_of, may_be_within, period_named


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


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025", "2025-01-01", "2025-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        (" 2025-03-14 ", "2025-03-14", "2025-03-14"),
        ("March 2025", "2025-03-01", "2025-03-31"),
        ("2025年3月", "2025-03-01", "2025-03-31"),
        ("2025年3月14日", "2025-03-14", "2025-03-14"),
    ],
)
def test_a_period_may_be_named_as_people_write_it(text: str, first: str, last: str) -> None:
    assert tuple(map(str, period_named(text))) == (first, last)


@pytest.mark.parametrize("text", ["", "soon", "12", "2025-13", "2025-02-30", "in 2025", "2025-01-3100", "2024-Q3"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no date"):
        period_named(text)


def test_a_page_goes_by_its_own_date_and_a_file_by_what_its_text_says() -> None:
    text = "# Minutes\n\nDate: 2023-03-14\n\nIt cost 410 euros.\n"
    assert day_of("2026-01-01T10:00", text, is_page=False) == "2023-03-14"
    assert day_of("2026-01-01T10:00", text, is_page=True) == "2026-01-01"
    assert day_of("2026-01", "# Minutes", is_page=False) == "2026-01"
    assert day_of("", "# Minutes", is_page=True) == ""
