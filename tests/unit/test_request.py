"""What a caller may ask: sums, limits and the rounds of queries."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from deep_research.request import BUDGET_KINDS, Budget, Depth, ResearchRequest, Spend

SPENDS = st.builds(
    Spend,
    usd=st.integers(0, 100).map(float),
    tokens=st.integers(0, 10**6),
    seconds=st.integers(0, 1000).map(float),
    queries=st.integers(0, 50),
    pages=st.integers(0, 50),
)


@given(SPENDS, SPENDS)
def test_spending_adds_up_in_every_kind(one, other):
    assert all((one + other).of(kind) == one.of(kind) + other.of(kind) for kind in BUDGET_KINDS)


def test_kinds_of_spending_and_budget_are_the_same():
    assert tuple(Spend.model_fields) == tuple(Budget.model_fields) == BUDGET_KINDS


@pytest.mark.parametrize("kind", BUDGET_KINDS)
def test_budget_of_nothing_is_a_limit_and_no_budget_is_none(kind):
    assert Budget.from_json({kind: 0}).limit(kind) == 0
    assert Budget().limit(kind) is None


@pytest.mark.parametrize("kind", BUDGET_KINDS)
def test_negative_budget_is_refused(kind):
    with pytest.raises(ValidationError):
        Budget.from_json({kind: -1})


def test_default_depth_stops_after_three_rounds_and_the_rest():
    assert Depth().rounds() == [8, 5, 5, 2]


@given(
    st.builds(
        Depth,
        max_iterations=st.integers(1, 10),
        queries_first_iteration=st.integers(1, 20),
        queries_followup_iteration=st.integers(1, 20),
        max_total_queries=st.integers(0, 60),
    )
)
def test_rounds_never_exceed_any_limit(depth):
    rounds = depth.rounds()
    assert sum(rounds) <= depth.max_total_queries
    assert len(rounds) <= depth.max_iterations
    assert all(count > 0 for count in rounds)
    assert rounds[:1] <= [depth.queries_first_iteration]
    assert all(count <= depth.queries_followup_iteration for count in rounds[1:])


@pytest.mark.parametrize("iterations", [0, 11])
def test_iterations_outside_one_to_ten_are_refused(iterations):
    with pytest.raises(ValidationError):
        Depth(max_iterations=iterations)


def test_request_round_trips_through_json():
    request = ResearchRequest(
        question="KRAS G12C 靶点", language="zh-Hans", focus=("机制", "耐药"), budget=Budget(usd=1.5)
    )
    assert ResearchRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
