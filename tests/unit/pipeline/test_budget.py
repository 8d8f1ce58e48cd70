"""Limits are checked before a call, and the ending keeps its share."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.pipeline.budget import BudgetLedger
from deep_research.pipeline.stages.plan import as_allocated
from deep_research.reasoning.values import Plan, SectionPlan
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import Budget, Depth, ResearchRequest, Spend


def _ledger(*, active_s: float = 0.0, **limits: float) -> BudgetLedger:
    return BudgetLedger(Budget.from_json(limits), Spend(), active_s=lambda: active_s)


def test_no_limit_refuses_nothing():
    ledger = _ledger(active_s=1e9)
    assert ledger.refusal(Spend(usd=1e9, tokens=10**9, queries=10**6, pages=10**6), "research") is None


@pytest.mark.parametrize(
    ("limits", "estimate", "phase", "refused"),
    [
        ({"tokens": 100}, Spend(tokens=60), "research", None),
        ({"tokens": 100}, Spend(tokens=61), "research", "tokens"),
        ({"tokens": 100}, Spend(tokens=100), "ending", None),
        ({"tokens": 100}, Spend(tokens=101), "ending", "tokens"),
        ({"usd": 1.0}, Spend(usd=0.6), "research", None),
        ({"usd": 1.0}, Spend(usd=0.61), "research", "usd"),
        ({"queries": 1}, Spend(queries=1), "research", None),
        ({"queries": 0}, Spend(queries=1), "research", "queries"),
        ({"pages": 0}, Spend(pages=1), "research", "pages"),
        ({"pages": 0, "usd": 0}, Spend(tokens=5), "research", None),
    ],
)
def test_a_call_is_refused_by_the_first_limit_it_could_break(limits, estimate, phase, refused):
    assert _ledger(**limits).refusal(estimate, phase) == refused


@pytest.mark.parametrize(
    ("active_s", "phase", "refused"),
    [(7.4, "research", None), (7.5, "research", "seconds"), (9.9, "ending", None), (10.0, "ending", "seconds")],
)
def test_seconds_run_out_for_every_call(active_s, phase, refused):
    assert _ledger(active_s=active_s, seconds=10).refusal(Spend(), phase) == refused


def test_what_is_reserved_is_not_there_for_others():
    ledger = _ledger(tokens=100)
    ledger.reserve(Spend(tokens=60))
    assert ledger.refusal(Spend(tokens=50), "ending") == "tokens"
    ledger.charge(Spend(tokens=60), Spend(tokens=10))
    assert ledger.refusal(Spend(tokens=50), "ending") is None
    assert ledger.spent.tokens == 10


def test_a_call_over_its_estimate_lowers_the_rest():
    ledger = _ledger(tokens=100)
    ledger.reserve(Spend(tokens=10))
    ledger.charge(Spend(tokens=10), Spend(tokens=95))
    assert ledger.refusal(Spend(tokens=6), "ending") == "tokens"
    assert ledger.refusal(Spend(tokens=5), "ending") is None


@given(st.lists(st.integers(1, 400), max_size=60), st.integers(0, 5000))
def test_money_never_goes_over_the_limit_by_rounding(cents, limit_cents):
    ledger = _ledger(usd=limit_cents / 100)
    paid = 0
    for cent in cents:
        estimate = Spend(usd=cent / 100)
        if ledger.refusal(estimate, "ending") is None:
            ledger.reserve(estimate)
            ledger.charge(estimate, estimate)
            paid += cent
        else:
            assert paid + cent > limit_cents, "a call was refused that fits"
    assert paid <= limit_cents


@given(st.integers(1, 12), st.integers(0, 40), st.integers(1, 5))
def test_every_query_of_the_first_round_is_dealt_once_and_earlier_sections_come_first(first, total, sections):
    depth = Depth(queries_first_iteration=first, max_total_queries=total)
    queries = tuple(SearchQuery(query=f"q{number}") for number in range(20))
    titles = [f"s{number}" for number in range(sections)]
    plan = Plan(
        research_title="t", sections=tuple(SectionPlan(title=title, search_queries=queries) for title in titles)
    )
    allocated = as_allocated(plan, ResearchRequest(question="q", depth=depth))
    shares = [len(section.search_queries) for section in allocated.sections]
    assert sum(shares) == min(first, total)
    assert shares == sorted(shares, reverse=True)
    assert max(shares) - min(shares) <= 1


async def test_a_call_waits_for_reservations_and_is_refused_only_by_what_is_really_spent() -> None:
    ledger = BudgetLedger(Budget(tokens=100), Spend(), active_s=lambda: 0.0)
    large = Spend(tokens=80)
    assert await ledger.admit(large, "ending") is None
    waiting = asyncio.create_task(ledger.admit(large, "ending"))
    await asyncio.sleep(0)
    assert not waiting.done()
    ledger.charge(large, Spend(tokens=10))
    assert await waiting is None
    ledger.charge(large, Spend(tokens=30))
    assert await ledger.admit(large, "ending") == "tokens"
