"""Events: every kind is known, described and plain JSON."""

import json
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from deep_research.events import EVENT_DATA, RunEvent

DOCUMENTED = (
    "progress message reasoning error report-plan serp-query search-task chart-planning chart-result final-report "
    "run-status clarification plan-approval source section-coverage research-map budget verdict stream-gap"
)
EVENT = RunEvent(
    seq=1,
    run="r",
    at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    kind="progress",
    key="progress:plan:1",
    data={"step": "plan", "status": "started", "data": {"说明": "开始"}},
)


def test_documented_kinds_are_all_there():
    assert set(EVENT_DATA) == set(DOCUMENTED.split())


def test_every_kind_has_described_data():
    assert all(data.__doc__ for data in EVENT_DATA.values())


def test_event_round_trips_through_json():
    assert RunEvent.from_json(json.loads(json.dumps(EVENT.to_json()))) == EVENT


def test_event_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        EVENT.seq = 2


@pytest.mark.parametrize("change", [{"kind": "gossip"}, {"extra": 1}, {"data": {"when": datetime}}])
def test_event_that_does_not_fit_is_refused(change):
    with pytest.raises(ValidationError):
        RunEvent.from_json(EVENT.to_json() | change)
