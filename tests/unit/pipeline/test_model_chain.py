"""The chain of models: each try is journalled, a busy model is waited for, a dead one is passed over."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from deep_research.errors import (
    BudgetExceeded,
    CallFailed,
    CreditSpent,
    ModelBusy,
    ModelError,
    ModelRefused,
    NetworkError,
    UnusableAnswer,
)
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.pipeline.budget import BudgetLedger
from deep_research.pipeline.context import RunContext, StageContext
from deep_research.pipeline.journal import Dependencies, Journal, spent_so_far
from deep_research.pipeline.journalled import JournalledModel
from deep_research.pipeline.prompt_meter import PromptMeter
from deep_research.pipeline.scope import Scope
from deep_research.request import Budget, Spend
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.port import Lease
from deep_research.storage.store.store import Store
from deep_research.testing import FakeClock
from tests.support.store_samples import start_run

RUN = "a1b2c3d4"
REQUEST = ModelRequest(act="plan", role="thinking", system="S", context=("C",), prompt="P", max_tokens=50)


class Model:
    """Fails as listed, then answers with its name."""

    unpriced: tuple[str, ...] = ()

    def __init__(self, name: str, *failures: CallFailed) -> None:
        self.name = name
        self._failures = list(failures)
        self.calls = 0

    def estimate(self, request: ModelRequest) -> Spend:
        return Spend(tokens=100, usd=0.01)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        self.calls += 1
        if self._failures:
            raise self._failures.pop(0)
        return ModelReply(text=self.name, model=self.name, tokens_in=30, tokens_out=5, usd=0.002)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "store.db"))
    yield store
    await store.close()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await start_run(store, RUN)


def _chain(
    store: Store,
    lease: Lease,
    models: Sequence[Model],
    *,
    clock: FakeClock | None = None,
    scope: str = "plan",
    is_abandoned: bool = False,
    **limits: float,
) -> JournalledModel:
    clock = clock or FakeClock()
    ledger = BudgetLedger(Budget.from_json(limits), Spend(), active_s=lambda: 0.0)
    journal = Journal(store=store, lease=lease, ledger=ledger, clock=clock, code_version="1")
    run = cast("RunContext", SimpleNamespace(journal=journal))
    at = StageContext(run=run, scope=Scope(scope), phase="ending", dependencies=Dependencies(), is_branch=False)
    return JournalledModel(tuple(models), at.call, clock=clock, meter=PromptMeter(), tries=3, is_abandoned=is_abandoned)


async def test_a_busy_model_is_waited_for_with_growing_waits(store, lease):
    clock, model = FakeClock(), Model("a", ModelBusy("busy"), NetworkError("reset"))
    assert (await _chain(store, lease, [model], clock=clock).complete(REQUEST)).text == "a"
    assert clock.waits == [1.0, 2.0]


async def test_a_models_own_wish_to_wait_is_honoured(store, lease):
    clock, model = FakeClock(), Model("a", ModelBusy("busy", retry_after_s=7.0))
    await _chain(store, lease, [model], clock=clock).complete(REQUEST)
    assert clock.waits == [8.0]


async def test_a_wish_for_too_long_a_wait_goes_to_the_next_model(store, lease):
    clock, first, second = FakeClock(), Model("a", ModelBusy("busy", retry_after_s=3600.0)), Model("b")
    assert (await _chain(store, lease, [first, second], clock=clock).complete(REQUEST)).text == "b"
    assert (clock.waits, first.calls) == ([], 1)


@pytest.mark.parametrize("failure", [CreditSpent("no credit"), ModelError("bad request")])
async def test_a_model_that_will_never_answer_is_passed_over_at_once(store, lease, failure):
    first, second = Model("a", failure, failure), Model("b")
    chain = _chain(store, lease, [first, second])
    assert (await chain.complete(REQUEST)).text == "b"
    assert first.calls == 1
    assert chain.passed_over is failure, "who is billed instead is no secret"


async def test_a_wrong_key_of_the_first_bills_nobody_else(store, lease):
    first, second = Model("a", ModelRefused("wrong key")), Model("b")
    with pytest.raises(ModelRefused, match="wrong key"):
        await _chain(store, lease, [first, second]).complete(REQUEST)
    assert (first.calls, second.calls) == (1, 0)


async def test_a_wrong_key_further_on_is_passed_over(store, lease):
    first = Model("a", *(NetworkError("down") for _ in range(3)))
    second, third = Model("b", ModelRefused("wrong key")), Model("c")
    assert (await _chain(store, lease, [first, second, third]).complete(REQUEST)).text == "c"


async def test_where_all_fail_the_first_tells_why_and_all_are_asked_again(store, lease):
    first = Model("a", CreditSpent("no credit"))
    second = Model("b", *(NetworkError("down") for _ in range(3)))
    with pytest.raises(CreditSpent, match="no credit") as caught:
        await _chain(store, lease, [first, second]).complete(REQUEST)
    await store.supersede_calls(lease, caught.value.call_keys)
    assert (await _chain(store, lease, [Model("a", NetworkError("down")), Model("b")]).complete(REQUEST)).text == "a"


async def test_the_budget_holds_for_every_model_of_the_chain(store, lease):
    first, second = Model("a", *(NetworkError("down") for _ in range(3))), Model("b")
    with pytest.raises(BudgetExceeded):
        await _chain(store, lease, [first, second], tokens=99).complete(REQUEST)
    assert (first.calls, second.calls) == (0, 0)


async def test_a_resumed_run_goes_on_at_the_try_it_stood_at_and_does_not_wait_again(store, lease):
    first = Model("a", ModelBusy("busy"), ModelBusy("busy"), ModelBusy("busy"))
    with pytest.raises(ModelBusy):
        await _chain(store, lease, [first]).complete(REQUEST)
    clock, later = FakeClock(), Model("a")
    assert (await _chain(store, lease, [first, later], clock=clock).complete(REQUEST)).text == "a"
    assert (first.calls, later.calls, clock.waits) == (3, 1, [])


async def test_the_same_prompt_is_paid_once_wherever_it_is_asked(store, lease):
    model = Model("a")
    await _chain(store, lease, [model], scope="section/1").complete(REQUEST)
    await _chain(store, lease, [model], scope="section/2").complete(REQUEST)
    assert model.calls == 1


async def test_an_answer_on_record_is_kept_when_the_run_goes_on_with_another_model(store, lease):
    await _chain(store, lease, [Model("a")]).complete(REQUEST)
    other = Model("b")
    assert (await _chain(store, lease, [other]).complete(REQUEST)).text == "a"
    assert other.calls == 0


async def test_every_try_is_reserved_and_what_a_failed_one_cost_is_counted(store, lease):
    cut = NetworkError("cut in mid-stream", spend=Spend(tokens=40, usd=0.004))
    await _chain(store, lease, [Model("a", cut)]).complete(REQUEST)
    spent = spent_so_far(await store.list_calls(RUN))
    assert spent.tokens == 75
    assert spent.usd == pytest.approx(0.006)


async def test_a_budget_refuses_before_the_call(store, lease):
    model = Model("a")
    with pytest.raises(BudgetExceeded):
        await _chain(store, lease, [model], tokens=99).complete(REQUEST)
    assert model.calls == 0


async def test_an_act_that_was_given_up_is_answered_from_the_record_alone(store, lease):
    model = Model("a")
    await _chain(store, lease, [model]).complete(REQUEST)
    assert (await _chain(store, lease, [model], is_abandoned=True).complete(REQUEST)).text == "a"
    with pytest.raises(UnusableAnswer, match="plan"):
        await _chain(store, lease, [model], is_abandoned=True).complete(REQUEST.model_copy(update={"prompt": "new"}))
    assert model.calls == 1


def test_the_meter_counts_what_begins_like_the_prompt_before_and_like_any_earlier_one() -> None:
    meter, long = PromptMeter(), "The same words at the beginning of every prompt, byte for byte. " * 5
    first = meter.measure(REQUEST.model_copy(update={"system": long, "context": ("alpha " * 40,)}))
    other = meter.measure(REQUEST.model_copy(update={"system": "quite different", "context": ()}))
    again = meter.measure(REQUEST.model_copy(update={"system": long, "context": ("alpha " * 40,), "prompt": "Q"}))
    assert (first.repeated, first.seen, other.repeated) == (0, 0, 0)
    assert again.repeated == 0
    assert 0.9 < again.seen / again.tokens < 1
