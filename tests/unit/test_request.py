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


@pytest.mark.parametrize(("name", "queries", "pages"), [("quick", 4, 12), ("standard", 20, 60), ("deep", 120, 200)])
def test_a_depth_is_known_by_its_queries(name, queries, pages):
    depth = Depth.named(name)
    assert (sum(depth.rounds()), depth.max_pages, depth.name) == (queries, pages, name)
    assert depth.replace(max_total_queries=queries - 1, max_iterations=2).name == name


def test_a_depth_reads_what_its_queries_want_where_no_other_number_is_set():
    assert Depth().max_pages == 60
    assert Depth(max_total_queries=40, urls_per_query=4).max_pages == 160
    assert Depth(urls_per_query=4, max_pages=10).max_pages == 10


STANDARD, DEEP, QUICK = (Depth.named(name) for name in ("standard", "deep", "quick"))


@pytest.mark.parametrize(
    ("breadth", "given", "depth", "length"),
    [
        ("fact", {}, STANDARD, "short"),
        ("comparison", {}, STANDARD, "standard"),
        ("", {}, STANDARD, "standard"),
        ("everything there is", {}, STANDARD, "standard"),
        ("field", {}, DEEP, "deep"),
        # What is set is kept, and only the other follows the question.
        ("field", {"depth": STANDARD}, STANDARD, "deep"),
        ("field", {"length": "short"}, DEEP, "short"),
        ("fact", {"length": "long"}, STANDARD, "long"),
        ("fact", {"depth": DEEP, "length": "short"}, DEEP, "short"),
        # Who reads much has much to tell, and who hardly reads has not.
        ("fact", {"depth": DEEP}, DEEP, "deep"),
        ("fact", {"depth": DEEP.replace(max_iterations=2)}, DEEP.replace(max_iterations=2), "deep"),
        ("fact", {"depth": QUICK}, QUICK, "short"),
        ("field", {"depth": QUICK}, QUICK, "standard"),
        ("field", {"depth": QUICK, "length": "deep"}, QUICK, "deep"),
    ],
)
def test_the_question_decides_what_its_user_has_not_set(breadth, given, depth, length):
    assert ResearchRequest(question="?", **given).extent(breadth, has_model=True) == (depth, length)


@pytest.mark.parametrize("breadth", ["", "fact", "field"])
def test_without_a_model_a_run_is_as_deep_as_is_set_and_its_report_keeps_its_length(breadth):
    request = ResearchRequest(question="?")
    assert request.extent(breadth, has_model=False) == (STANDARD, "standard")
    assert request.replace(depth=DEEP).extent(breadth, has_model=False) == (DEEP, "standard")
    assert request.replace(depth=QUICK, length="deep").extent(breadth, has_model=False) == (QUICK, "deep")


def test_the_most_that_a_run_may_take_is_known_before_its_question_is_read():
    assert ResearchRequest(question="?").deepest == STANDARD, "rules find no field"
    assert ResearchRequest(question="?", models=("openai:gpt-5",)).deepest == DEEP
    assert ResearchRequest(question="?", models=("openai:gpt-5",), depth=QUICK).deepest == QUICK


@pytest.mark.parametrize("breadth", ["", "fact", "field"])
def test_a_request_of_an_earlier_version_means_what_it_meant(breadth):
    numbers = {
        "max_iterations": 8,
        "queries_first_iteration": 12,
        "queries_followup_iteration": 4,
        "max_total_queries": 40,
        "urls_per_query": 4,
    }
    stored = ResearchRequest.from_json(
        {"question": "?", "length": "standard", "depth": numbers, "models": ["a:b", "a:b"]}
    )
    depth, length = stored.extent(breadth, has_model=True)
    assert {name: getattr(depth, name) for name in numbers} == numbers
    assert (depth.max_pages, length) == (160, "standard")
    assert stored.deepest == depth


@pytest.mark.parametrize("iterations", [0, 11])
def test_iterations_outside_one_to_ten_are_refused(iterations):
    with pytest.raises(ValidationError):
        Depth(max_iterations=iterations)


def test_request_round_trips_through_json():
    request = ResearchRequest(
        question="KRAS G12C 靶点", language="zh-Hans", focus=("机制", "耐药"), budget=Budget(usd=1.5)
    )
    assert ResearchRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    settled = request.replace(depth=Depth.named("deep"), length="deep")
    assert ResearchRequest.from_json(json.loads(json.dumps(settled.to_json()))) == settled
