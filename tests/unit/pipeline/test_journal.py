"""A finished call is never made again; one flight per key; failures are played back; refusals are kept."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deep_research.errors import BudgetExceeded, CallFailed, ModelError, NetworkError, RunInterrupted, RunTaken
from deep_research.pipeline.budget import BudgetLedger
from deep_research.pipeline.journal import Call, CallResult, Dependencies, Journal, longest_chain_s, spent_so_far
from deep_research.request import Budget, Spend
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import JournalRow, Lease
from deep_research.storage.store.store import Store
from deep_research.testing import FakeClock
from tests.support.store_samples import LEASE_S, start_run

RUN = "a1b2c3d4"
NOTHING = Spend()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(SqliteFile(tmp_path / "store.db"))
    yield store
    await store.close()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await start_run(store, RUN)


def _journal(store: Store, lease: Lease, *, spent: Spend = NOTHING, **limits: float) -> Journal:
    ledger = BudgetLedger(Budget.from_json(limits), spent, active_s=lambda: 0.0)
    return Journal(store=store, lease=lease, ledger=ledger, clock=FakeClock(), code_version="1")


def _call(scope: str = "s", payload: str = "p", **estimate: float) -> Call:
    return Call("sandbox", scope, payload, Spend.from_json(estimate), "ending")


class _Service:
    """Counts how often it is asked."""

    def __init__(self, *, answer: object = "yes", spend: Spend = NOTHING, failure: Exception | None = None) -> None:
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._answer = answer
        self._spend = spend
        self.failure = failure

    async def __call__(self) -> CallResult:
        self.calls += 1
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return CallResult(self._answer, self._spend)  # type: ignore[arg-type]  # tests give JSON


@pytest.mark.parametrize("answer", ["yes", None, [], {"a": 1}, "é文" * 9000])
async def test_a_finished_call_is_answered_from_the_journal(store, lease, answer):
    service = _Service(answer=answer)
    assert await _journal(store, lease).call(_call(), service, Dependencies()) == answer
    assert await _journal(store, lease).call(_call(), service, Dependencies()) == answer
    assert service.calls == 1


async def test_scope_payload_and_kind_make_another_call(store, lease):
    journal, service = _journal(store, lease), _Service()
    for call in (_call(), _call("t"), _call(payload="q"), Call("fetch", "s", "p", Spend(), "ending")):
        await journal.call(call, service, Dependencies())
    assert service.calls == 4


@pytest.mark.parametrize("kind", ["llm", "search", "look"])
async def test_a_prompt_a_search_and_a_look_are_the_same_call_from_everywhere(store, lease, kind):
    journal, service = _journal(store, lease), _Service()
    for scope in ("s", "t"):
        await journal.call(Call(kind, scope, "p", Spend(), "ending"), service, Dependencies())
    assert service.calls == 1


async def test_a_call_from_two_branches_is_one_flight(store, lease):
    journal, service = _journal(store, lease), _Service()
    service.gate.clear()
    waiting = [asyncio.ensure_future(journal.call(_call(), service, Dependencies())) for _ in range(5)]
    while not service.calls:
        await asyncio.sleep(0)
    service.gate.set()
    assert await asyncio.gather(*waiting) == ["yes"] * 5
    assert service.calls == 1


async def test_a_branch_that_is_cancelled_does_not_lose_the_answer(store, lease):
    journal, service = _journal(store, lease), _Service(spend=Spend(tokens=7))
    service.gate.clear()
    branch = asyncio.ensure_future(journal.call(_call(tokens=9), service, Dependencies()))
    while not service.calls:
        await asyncio.sleep(0)
    branch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await branch
    service.gate.set()
    await journal.drain()
    (row,) = await store.list_calls(RUN)
    assert (row.state, row.spend.tokens) == ("done", 7)
    assert journal.ledger.spent.tokens == 7


async def test_what_cannot_be_kept_is_not_waited_for_unless_it_is_paid_for(store, lease):
    journal, page, model = _journal(store, lease), _Service(), _Service()
    calls = [(Call("fetch", "f", "p", Spend(), "ending"), page), (_call(), model)]
    for service in (page, model):
        service.gate.clear()
    waiting = [asyncio.ensure_future(journal.call(call, service, Dependencies())) for call, service in calls]
    while not page.calls or not model.calls:
        await asyncio.sleep(0)
    draining = asyncio.ensure_future(journal.drain(with_pages=False))
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    model.gate.set()
    await draining
    assert {row.kind: row.state for row in await store.list_calls(RUN)} == {"fetch": "started", "sandbox": "done"}


async def test_a_recorded_failure_is_raised_again_without_a_call(store, lease):
    service = _Service(failure=ModelError("nonsense", spend=Spend(tokens=5)))
    for _ in range(2):
        with pytest.raises(ModelError, match="nonsense") as caught:
            await _journal(store, lease).call(_call(tokens=9), service, Dependencies())
        assert caught.value.call_key == _call().key(0)
    assert service.calls == 1
    assert spent_so_far(await store.list_calls(RUN)).tokens == 5


async def test_a_superseded_failure_is_tried_again_under_the_next_attempt(store, lease):
    service = _Service(failure=NetworkError("down"))
    with pytest.raises(NetworkError):
        await _journal(store, lease).call(_call(), service, Dependencies())
    await store.supersede_calls(lease, [_call().key(0)])
    service.failure = None
    assert await _journal(store, lease).call(_call(), service, Dependencies()) == "yes"
    assert [(row.attempt, row.state) for row in await store.list_calls(RUN)] == [(0, "failed"), (1, "done")]


async def test_a_call_that_takes_too_long_is_a_network_error(store, lease):
    service = _Service()
    service.gate.clear()
    with pytest.raises(NetworkError, match="within"):
        await _journal(store, lease).call(_call(seconds=0.01), service, Dependencies())
    (row,) = await store.list_calls(RUN)
    assert row.state == "failed"


async def test_a_refused_call_is_a_decision_that_stands(store, lease):
    service = _Service()
    with pytest.raises(BudgetExceeded) as caught:
        await _journal(store, lease, tokens=10).call(_call(tokens=11), service, Dependencies())
    assert caught.value.args == ("tokens",)
    with pytest.raises(BudgetExceeded):
        await _journal(store, lease, tokens=1000).call(_call(tokens=11), service, Dependencies())
    assert service.calls == 0
    (row,) = await store.list_calls(RUN)
    assert (row.state, row.spend) == ("refused", Spend())


async def test_calls_at_once_do_not_reserve_the_same_money(store, lease):
    journal, service = _journal(store, lease, tokens=25), _Service(spend=Spend(tokens=10))
    calls = [journal.call(_call(str(number), tokens=10), service, Dependencies()) for number in range(5)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(outcome, BudgetExceeded) for outcome in outcomes) == 3
    assert spent_so_far(await store.list_calls(RUN)).tokens == 20


async def test_a_call_lost_in_a_crash_counts_with_its_estimate(store, lease):
    started = JournalRow(
        key=_call().key(0),
        kind="sandbox",
        scope="s",
        attempt=0,
        state="started",
        estimate=Spend(tokens=40, usd=0.1, pages=1, seconds=60),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    await store.record_call(lease, started)
    before = spent_so_far(await store.list_calls(RUN))
    assert (before.tokens, before.usd, before.pages, before.seconds) == (40, 0.1, 0, 0)
    service = _Service(spend=Spend(tokens=30))
    await _journal(store, lease, spent=before, tokens=100).call(_call(tokens=40), service, Dependencies())
    assert service.calls == 1, "a call in flight at a crash happens at least once"
    (row,) = await store.list_calls(RUN)
    assert (row.orphaned.tokens, row.spend.tokens) == (40, 30)
    assert spent_so_far([row]).tokens == 70


async def test_a_stopped_journal_plays_back_but_begins_nothing(store, lease):
    journal, service = _journal(store, lease), _Service()
    await journal.call(_call(), service, Dependencies())
    journal.stop(RunInterrupted())
    assert await journal.call(_call(), service, Dependencies()) == "yes"
    with pytest.raises(RunInterrupted):
        await journal.call(_call("t"), service, Dependencies())
    assert service.calls == 1
    assert len(await store.list_calls(RUN)) == 1


async def test_an_overtaken_journal_makes_no_call(store, lease, monkeypatch):
    monkeypatch.setattr("deep_research.storage.store.rows.holds_lease", lambda *_, **__: False)
    await store.lease(RUN, current_owner(), lease_s=LEASE_S)
    service = _Service()
    with pytest.raises(RunTaken):
        await _journal(store, lease).call(_call(), service, Dependencies())
    assert service.calls == 0
    assert await store.list_calls(RUN) == []


async def test_an_unexpected_error_leaves_the_call_open(store, lease):
    journal, service = _journal(store, lease), _Service(failure=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await journal.call(_call(), service, Dependencies())
    service.failure = None
    assert await journal.call(_call(), service, Dependencies()) == "yes"


async def test_rows_know_what_they_rest_on(store, lease):
    journal, service = _journal(store, lease), _Service()
    dependencies = Dependencies()
    await journal.call(_call("a"), service, dependencies)
    left, right = dependencies.fork(), dependencies.fork()
    await journal.call(_call("b"), service, left)
    with pytest.raises(CallFailed):
        await journal.call(_call("c"), _Service(failure=NetworkError("down")), right)
    dependencies.join([left, right])
    await journal.call(_call("d"), service, dependencies)
    after = {row.scope: set(row.after) for row in await store.list_calls(RUN)}
    keys = {scope: _call(scope).key(0) for scope in "abcd"}
    assert after == {"a": set(), "b": {keys["a"]}, "c": {keys["a"]}, "d": {keys["b"], keys["c"]}}


def _timed(key: str, start: float, end: float, *after: str) -> JournalRow:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return JournalRow(
        key=key,
        kind="sandbox",
        scope=key,
        attempt=0,
        state="done",
        started_at=at + timedelta(seconds=start),
        ended_at=at + timedelta(seconds=end),
        after=after,
    )


def test_the_longest_chain_follows_what_was_needed():
    rows = [_timed("a", 0, 1), _timed("b", 1, 4, "a"), _timed("c", 1, 2, "a"), _timed("d", 4, 5, "b", "c")]
    assert longest_chain_s(rows) == 5.0
    assert longest_chain_s([]) == 0.0
