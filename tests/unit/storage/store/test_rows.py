"""Columns keep what values hold."""

from datetime import UTC, datetime, timedelta, timezone
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import StoreCorrupt
from deep_research.storage.database.port import Row
from deep_research.storage.store.rows import json_column, pack, read_json, time_column, unpack

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(st.recursive(st.none() | st.booleans() | st.integers() | ANY_TEXT, st.lists))
def test_json_column_is_encodable_and_round_trips(data):
    column = json_column(data)
    column.encode()
    assert read_json(column, "t", "k") == data


def test_chinese_is_stored_as_it_reads():
    assert json_column({"题": "研究"}) == '{"题":"研究"}'


def test_times_sort_as_text_whatever_zone_they_came_in():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=seconds) for seconds in (0, 0.5, 1, 60)]
    there = timezone(timedelta(hours=8))
    columns = [time_column(time.astimezone(there if number % 2 else UTC)) for number, time in enumerate(times)]
    assert columns == sorted(columns)
    assert [datetime.fromisoformat(column) for column in columns] == times


def test_bytes_under_another_id_are_damaged():
    row = cast("Row", pack(b"content").columns(None))
    with pytest.raises(StoreCorrupt, match="blobs") as caught:
        unpack(row, "another id", None)
    assert "content" not in str(caught.value)
