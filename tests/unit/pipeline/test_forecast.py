"""What a run will cost: nothing without a model, more with more to do, never above its budget."""

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.pipeline.approval import ACTS, Effort, effort_of, forecast
from deep_research.reasoning.port import Reasoner
from deep_research.request import Budget, Depth, ResearchRequest, Spend
from deep_research.service.runs.estimate import Estimate, estimate_of
from deep_research.testing import ScriptedModel


class _Priced(ScriptedModel):
    """A model that costs a dollar for a thousand tokens, read or written."""

    def estimate(self, request: ModelRequest) -> Spend:
        tokens = len(request.text.split()) * 1.25 + request.max_tokens
        return Spend(usd=tokens / 1000, tokens=round(tokens))


def asked(**given: object) -> ResearchRequest:
    return ResearchRequest.from_json({"question": "q?", **given})


def test_research_without_a_model_costs_nothing() -> None:
    estimate = forecast(asked(), ())
    assert (estimate.calls, estimate.tokens, estimate.usd, estimate.most_usd) == (0, 0, 0.0, 0.0)


def test_money_follows_the_tokens_of_the_table() -> None:
    estimate = forecast(asked(), (_Priced(),))
    assert estimate.usd == pytest.approx(estimate.tokens / 1000, rel=0.01)
    assert estimate.most_usd is not None
    assert estimate.most_usd > estimate.usd > 0
    assert estimate.calls > len(ACTS)


def test_more_to_do_costs_more() -> None:
    small = forecast(asked(depth=Depth(max_total_queries=4).to_json()), (_Priced(),))
    large = forecast(asked(), (_Priced(),))
    assert (small.calls, small.tokens, small.usd) < (large.calls, large.tokens, large.usd)


def test_a_longer_report_costs_more_and_takes_longer() -> None:
    deep = Depth.named("deep").to_json()
    short, usual, long, deepest = (
        forecast(asked(length=length, depth=depth), (_Priced(),))
        for length, depth in (("short", None), (None, None), ("long", None), ("deep", deep))
    )
    for less, more in ((short, usual), (usual, long), (long, deepest)):
        assert (less.tokens, less.usd, less.minutes) < (more.tokens, more.usd, more.minutes)
        assert (less.most_usd or 0) < (more.most_usd or 0)
    assert 0 < usual.minutes < 10, "a run of standard depth takes some minutes"


def test_before_the_question_is_read_the_usual_is_told_and_the_most_that_it_may_come_to() -> None:
    def estimate(**given: object) -> Estimate:
        return estimate_of(asked(models=["a:b", "a:b"], **given), (_Priced(),))

    usual, deep = (estimate(depth=Depth.named(name).to_json(), length=name) for name in ("standard", "deep"))
    either = estimate()
    assert (either.tokens, either.usd) == (usual.tokens, usual.usd)
    assert (either.queries, either.pages, either.most_usd) == (deep.queries, deep.pages, deep.most_usd)
    assert estimate(depth=Depth.named("deep").to_json()) == deep, "who sets the depth has set the length"


def test_no_run_costs_more_than_its_budget() -> None:
    estimate = forecast(asked(budget=Budget(usd=0.5).to_json()), (_Priced(),))
    assert (estimate.usd, estimate.most_usd) == (0.5, 0.5)


def test_model_without_a_known_price_has_no_most_and_a_free_one_costs_nothing() -> None:
    unknown, free = (forecast(asked(), (model,)) for model in (ScriptedModel(unpriced=("acme:new",)), ScriptedModel()))
    assert unknown.tokens == free.tokens > 0
    assert (unknown.usd, unknown.most_usd) == (0.0, None)
    assert (free.usd, free.most_usd) == (0.0, 0.0)


def test_every_act_that_can_be_paid_for_has_a_size() -> None:
    acts = {name for name in dir(Reasoner) if not name.startswith("_")}
    # Room is made and backing counted by rules, and the answer stands in the draft.
    assert set(ACTS) == acts - {"analyze", "compress", "conclude"}


@pytest.mark.parametrize(
    ("given", "effort"),
    [
        ({}, Effort(first=8, queries=20, rounds=4, pages=60)),
        ({"budget": {"queries": 6}}, Effort(first=6, queries=6, rounds=1, pages=18)),
        ({"budget": {"pages": 7}}, Effort(first=8, queries=20, rounds=4, pages=7)),
        ({"depth": {"max_iterations": 1}}, Effort(first=8, queries=8, rounds=1, pages=24)),
        ({"depth": Depth.named("deep").to_json()}, Effort(first=40, queries=120, rounds=4, pages=200)),
        ({"depth": {"max_pages": 7}}, Effort(first=8, queries=20, rounds=4, pages=7)),
        # The most that it may come to, before the question is read.
        ({"models": ["a:b", "a:b"]}, Effort(first=40, queries=120, rounds=4, pages=200)),
        ({"models": ["a:b", "a:b"], "depth": {}}, Effort(first=8, queries=20, rounds=4, pages=60)),
        ({"depth": {"max_total_queries": 0}}, Effort(first=0, queries=0, rounds=0, pages=0)),
    ],
)
def test_effort_is_the_depth_within_the_budget(given: dict[str, object], effort: Effort) -> None:
    assert effort_of(asked(**given)) == effort
    forecast(asked(**given), (_Priced(),))
