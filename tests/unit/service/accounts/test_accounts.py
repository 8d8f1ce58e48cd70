"""Accounts with a clock that the test moves: throttling, expiry, and what a limit lets through."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, cast

import pytest
import pytest_asyncio
from argon2 import PasswordHasher
from pydantic import SecretStr

from deep_research.errors import LimitReached, NotFound, SignInFailed, TooManyTries
from deep_research.request import Budget, Depth, ResearchRequest, Spend
from deep_research.service.accounts.accounts import SIGN_IN_FOR, Accounts, Limits
from deep_research.service.accounts.identity import LOCAL, ActionLog, Identity
from deep_research.service.accounts.limits import UsageLimits
from deep_research.service.accounts.passwords import Passwords
from deep_research.service.database import open_server_database
from deep_research.settings import Settings
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import JournalRow, Lease, NewEvent, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject
from deep_research.wiring import open_store
from tests.support.store_samples import make_run

PASSWORD = "correct horse battery"
HOME, OFFICE = "192.0.2.1", "198.51.100.7"


class CountingHasher(PasswordHasher):
    """The real hasher with the least work, which counts how often it is asked."""

    checked = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - the library's name
        self.checked += 1
        return super().verify(hash, password)


class House:
    """A server's accounts and limits over a real database, and the clock they go by."""

    def __init__(self, folder: Path, database_url: str = "") -> None:
        self.settings = Settings(home=folder, database_url=SecretStr(database_url))
        self.now = datetime(2026, 3, 31, 22, 0, tzinfo=UTC)
        self.folder = folder
        self.open()

    def open(self) -> None:
        self.database = open_server_database(self.settings)
        self.store = open_store(self.settings)
        self.audit = ActionLog(self.database, now=lambda: self.now)
        self.hasher = CountingHasher(time_cost=1, memory_cost=8, parallelism=1)
        passwords = Passwords(self.hasher)
        self.accounts = Accounts(self.database, self.audit, passwords=passwords, now=lambda: self.now)
        self.limits = UsageLimits(self.database, self.store, at_once=4, now=lambda: self.now)

    async def close(self) -> None:
        self.accounts.close()
        await self.database.close()
        await self.store.close()

    async def failures(self, count: int, name: str = "ann", address: str = HOME) -> None:
        for _ in range(count):
            with pytest.raises(SignInFailed):
                await self.accounts.sign_in(name, "wrong", address=address)

    async def signed_in(self, name: str = "ann", address: str = HOME) -> str:
        return await self.accounts.sign_in(name, PASSWORD, address=address)

    async def user(self, name: str = "ann", **limits: float) -> Identity:
        account = await self.accounts.add(name, PASSWORD, limits=Limits.model_validate(limits))
        return Identity(user=account.id, name=name)

    async def begun(self, who: Identity, *, run: str, usd: float | None = None, queries: int | None = 20) -> RunRow:
        """Make a run as the service does, and return it; without `queries` the question decides how deep it goes."""
        depth = queries and Depth(max_total_queries=queries, queries_first_iteration=queries)
        request = ResearchRequest(question="Why?", budget=Budget(usd=usd), depth=depth or None, models=("a:b", "a:b"))
        async with self.limits.admitted(request, who, run=run) as granted:
            row = make_run(run).model_copy(update={"request": granted, "user": who.user, "created_at": self.now})
            await self.store.create_run(row)
        return await self.store.get_run(run)

    async def planned(self, run: str, queries: int) -> Lease:
        """Have a run's plan settled, which may use so many queries."""
        lease = await self.store.lease(run, current_owner(), lease_s=30)
        plan: JsonObject = {"title": "Why", "goal": "", "sections": [], "queries": queries}
        event = NewEvent(at=self.now, kind="report-plan", key="report-plan", data=plan)
        await self.store.append_events(lease, [event])
        return lease

    async def ended(
        self, run: str, *, usd: float = 0.0, queries: int = 0, status: str = "done", lease: Lease | None = None
    ) -> None:
        """Have a run spend something and end."""
        lease = lease or await self.store.lease(run, current_owner(), lease_s=30)
        spend = Spend(usd=usd, queries=queries)
        call = JournalRow(
            key=f"llm:{lease.epoch}", kind="llm", scope="s", attempt=0, state="done", spend=spend, started_at=self.now
        )
        await self.store.record_call(lease, call)
        event = NewEvent(at=self.now, kind="run-status", key=f"end/{lease.epoch}", data={"status": status})
        await self.store.finish(lease, status, event=event)  # type: ignore[arg-type]


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def house(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    house = House(tmp_path, request.getfixturevalue("database_url") if request.param == "postgres" else "")
    yield house
    await house.close()


# Throttling


async def test_after_five_failures_even_the_right_password_waits(house):
    await house.user()
    await house.failures(5)
    with pytest.raises(TooManyTries) as refused:
        await house.signed_in()
    assert 0 < refused.value.retry_after_s <= 15 * 60
    house.now += timedelta(seconds=refused.value.retry_after_s)
    assert await house.signed_in()


async def test_failures_are_counted_over_a_restart(house):
    await house.user()
    await house.failures(5)
    await house.close()
    house.open()
    with pytest.raises(TooManyTries):
        await house.signed_in()


async def test_tries_that_are_refused_do_not_make_the_wait_longer(house):
    await house.user()
    await house.failures(5)
    for _ in range(14):
        house.now += timedelta(minutes=1)
        with pytest.raises(TooManyTries):
            await house.signed_in()
    house.now += timedelta(minutes=1)
    assert await house.signed_in()


async def test_many_tries_at_once_are_no_way_around(house):
    await house.user()
    tries = [house.accounts.sign_in("ann", "wrong", address=HOME) for _ in range(20)]
    ended = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, SignInFailed) for one in ended) == 5
    assert sum(isinstance(one, TooManyTries) for one in ended) == 15


async def test_an_address_that_tries_many_names_is_slowed_down(house):
    for number in range(30):
        await house.failures(1, name=f"user{number}")
    with pytest.raises(TooManyTries):
        await house.accounts.sign_in("user99", "wrong", address=HOME)


async def test_one_network_of_ipv6_counts_as_one_address(house):
    for number in range(30):
        await house.failures(1, name=f"user{number}", address=f"2001:db8::{number:x}")
    with pytest.raises(TooManyTries):
        await house.accounts.sign_in("user99", "wrong", address="2001:db8::ffff")


async def test_strangers_cannot_lock_a_user_out_of_where_they_have_signed_in(house):
    await house.user()
    await house.signed_in(address=OFFICE)
    for number in range(50):
        await house.failures(1, address=f"203.0.113.{number}")
    with pytest.raises(TooManyTries):
        await house.signed_in(address=HOME)
    assert await house.signed_in(address=OFFICE)
    house.now += timedelta(hours=1, seconds=1)
    assert await house.signed_in(address=HOME)


async def test_a_clock_that_was_ahead_locks_nobody_out(house):
    await house.user()
    house.now += timedelta(days=300)
    await house.failures(5)
    house.now -= timedelta(days=300)
    assert await house.signed_in()


async def test_a_name_that_nobody_has_costs_the_same_work_and_counts_the_same(house):
    await house.user()
    await house.failures(5)
    assert house.hasher.checked == 5
    await house.failures(5, name="nobody")
    assert house.hasher.checked == 10
    for name in ("ann", "nobody"):
        with pytest.raises(TooManyTries):
            await house.accounts.sign_in(name, "wrong", address=HOME)
    assert house.hasher.checked == 10


# Expiry


async def test_a_sign_in_ends_by_itself(house):
    await house.user()
    secret = await house.signed_in()
    house.now += SIGN_IN_FOR - timedelta(seconds=1)
    assert await house.accounts.of_sign_in(secret)
    house.now += timedelta(seconds=1)
    assert await house.accounts.of_sign_in(secret) is None


async def test_a_clock_that_is_put_right_signs_nobody_out_and_keeps_nobody_waiting_longer(house):
    await house.user()
    secret = await house.signed_in()
    for jump in (-timedelta(hours=1), timedelta(days=1)):
        house.now += jump
        assert await house.accounts.of_sign_in(secret)
    await house.failures(5)
    with pytest.raises(TooManyTries):
        await house.signed_in()
    house.now += timedelta(days=1)
    assert await house.signed_in()


async def test_a_token_ends_when_it_was_said_to(house):
    await house.user()
    token = await house.accounts.make_token("ann", scopes=["read"], expires_in=timedelta(days=30))
    assert await house.accounts.of_token(token)
    house.now += timedelta(days=30)
    assert await house.accounts.of_token(token) is None


async def test_what_was_typed_as_a_name_is_not_written_down(house):
    await house.user()
    await house.failures(1, name="hunter2-my-password")
    raw = b"".join(path.read_bytes() for path in house.folder.glob("server.db*"))
    assert b"hunter2" not in raw
    assert [entry.action for entry in await house.audit.entries()] == ["sign-in-failed", "user-added"]


# Limits


async def test_without_limits_a_request_stays_as_it_is(house):
    assert (await house.begun(await house.user(), run="run-a")).request.budget == Budget()
    assert (await house.begun(LOCAL, run="run-b")).request.budget == Budget()


async def test_a_removed_account_begins_no_run(house):
    who = await house.user()
    await house.accounts.remove("ann")
    with pytest.raises(NotFound):
        await house.begun(who, run="run-a")


async def test_as_many_runs_at_once_as_the_account_may_have(house):
    who = await house.user(runs_at_once=2)
    await house.begun(who, run="run-a")
    await house.begun(who, run="run-b")
    with pytest.raises(LimitReached) as refused:
        await house.begun(who, run="run-c")
    assert (refused.value.limit, refused.value.renews_at) == ("runs_at_once", None)
    await house.ended("run-a")
    await house.begun(who, run="run-c")


async def test_as_many_runs_a_day_as_the_account_may_start(house):
    who = await house.user(runs_a_day=1)
    await house.begun(who, run="run-a")
    await house.ended("run-a")
    with pytest.raises(LimitReached) as refused:
        await house.begun(who, run="run-b")
    assert refused.value.renews_at == datetime(2026, 4, 1, tzinfo=UTC)
    house.now += timedelta(hours=2)
    await house.begun(who, run="run-b")


async def test_several_runs_at_once_cannot_spend_more_than_there_is(house):
    who = await house.user(usd_a_month=1.0)
    budgets = [(await house.begun(who, run=f"run-{letter}")).request.budget.usd for letter in "abcd"]
    assert all(usd and usd > 0 for usd in budgets)
    assert sum(budgets) <= 1.0 + 1e-6
    with pytest.raises(LimitReached) as refused:
        await house.begun(who, run="run-e")
    assert (refused.value.limit, refused.value.left) == ("usd_a_month", 0.0)
    assert refused.value.renews_at == datetime(2026, 4, 1, tzinfo=UTC)


async def test_a_run_that_asks_for_more_money_than_is_left_gets_what_is_left(house):
    who = await house.user(usd_a_month=1.0)
    await house.begun(who, run="run-a", usd=0.4)
    assert (await house.begun(who, run="run-b", usd=5.0)).request.budget.usd == pytest.approx(0.6)


async def test_what_a_run_did_not_spend_is_there_for_the_next(house):
    who = await house.user(usd_a_month=1.0)
    await house.begun(who, run="run-a", usd=1.0)
    await house.ended("run-a", usd=0.25)
    assert (await house.begun(who, run="run-b", usd=5.0)).request.budget.usd == pytest.approx(0.75)
    used = await house.limits.used(who.user)
    assert (used.runs_at_once, used.runs_a_day, used.usd_a_month) == (1, 2, pytest.approx(1.0))


async def test_a_deleted_run_has_still_spent_its_money(house):
    who = await house.user(usd_a_month=1.0)
    for run, by_server in (("run-a", True), ("run-b", False)):
        await house.begun(who, run=run, usd=0.5)
        await house.ended(run, usd=0.5)
        spent = await house.limits.spent(run)
        await house.store.delete_run(run, current_owner())
        if by_server:
            await house.limits.close(run, spent)
    with pytest.raises(LimitReached):
        await house.begun(who, run="run-c", usd=0.1)


async def test_a_new_month_brings_new_money(house):
    who = await house.user(usd_a_month=1.0)
    await house.begun(who, run="run-a", usd=1.0)
    await house.ended("run-a", usd=1.0)
    house.now += timedelta(hours=2)
    assert (await house.begun(who, run="run-b", usd=1.0)).request.budget.usd == pytest.approx(1.0)


async def test_queries_of_a_day_are_shared_by_its_runs(house):
    who = await house.user(queries_a_day=30)
    assert (await house.begun(who, run="run-a")).request.budget.queries == 20
    assert (await house.begun(who, run="run-b")).request.budget.queries == 10
    with pytest.raises(LimitReached) as refused:
        await house.begun(who, run="run-c")
    assert refused.value.limit == "queries_a_day"
    await house.ended("run-a", queries=5)
    assert (await house.begun(who, run="run-c")).request.budget.queries == 15


async def test_a_run_whose_plan_is_settled_keeps_only_the_queries_that_it_may_use(house):
    who = await house.user(queries_a_day=130)
    assert (await house.begun(who, run="run-a", queries=None)).request.budget.queries == 120
    assert (await house.limits.used(who.user)).queries_a_day == 120
    lease = await house.planned("run-a", 20)
    assert (await house.limits.used(who.user)).queries_a_day == 20
    assert (await house.begun(who, run="run-b", queries=None)).request.budget.queries == 110
    await house.planned("run-b", 130)
    assert (await house.limits.used(who.user)).queries_a_day == 130, "a reservation never grows"
    await house.ended("run-a", queries=12, status="failed", lease=lease)
    await house.limits.admit_again(await house.store.get_run("run-a"), who)
    assert (await house.limits.used(who.user)).queries_a_day == 130, "12 of its 20 are spent, and 8 reserved again"


async def test_a_run_that_is_tried_again_reserves_again_and_pays_only_what_it_adds(house):
    who = await house.user(usd_a_month=1.0, runs_at_once=1)
    await house.begun(who, run="run-a", usd=0.6)
    await house.ended("run-a", usd=0.2, status="failed")
    await house.limits.admit_again(await house.store.get_run("run-a"), who)
    assert (await house.limits.used(who.user)).usd_a_month == pytest.approx(0.6)
    with pytest.raises(LimitReached):
        await house.begun(who, run="run-b")
    await house.ended("run-a", usd=0.1)
    used = await house.limits.used(who.user)
    assert (used.runs_at_once, used.runs_a_day, used.usd_a_month) == (0, 2, pytest.approx(0.3))


async def test_a_run_cannot_go_on_with_money_that_is_no_longer_there(house):
    who = await house.user(usd_a_month=1.0)
    await house.begun(who, run="run-a", usd=0.6)
    await house.ended("run-a", usd=0.2, status="failed")
    await house.begun(who, run="run-b", usd=0.7)
    with pytest.raises(LimitReached):
        await house.limits.admit_again(await house.store.get_run("run-a"), who)


async def test_a_run_that_waits_for_its_turn_keeps_its_reservation(house):
    who = await house.user(runs_at_once=1)
    await house.begun(who, run="run-a")
    await house.ended("run-a", status="failed")
    await house.limits.admit_again(await house.store.get_run("run-a"), who)
    await house.store.reopen_run("run-a", retry=True)
    house.now += timedelta(minutes=5)
    assert (await house.limits.used(who.user)).runs_at_once == 1


async def test_a_run_that_nobody_had_tried_again_after_all_gives_its_reservation_back(house):
    who = await house.user(runs_at_once=1)
    await house.begun(who, run="run-a")
    await house.ended("run-a", status="failed")
    await house.limits.admit_again(await house.store.get_run("run-a"), who)
    assert (await house.limits.used(who.user)).runs_at_once == 1
    house.now += timedelta(minutes=5)
    assert (await house.limits.used(who.user)).runs_at_once == 0


async def test_a_reservation_whose_run_was_never_written_is_given_back(house):
    who = await house.user(runs_at_once=1)
    with pytest.raises(RuntimeError):
        async with house.limits.admitted(ResearchRequest(question="Why?"), who, run="run-b"):
            raise RuntimeError
    await house.begun(who, run="run-a")


async def test_a_run_written_down_as_its_server_was_lost_keeps_its_reservation(house):
    who = await house.user(usd_a_month=1.0)
    with pytest.raises(asyncio.CancelledError):
        async with house.limits.admitted(
            ResearchRequest(question="Why?", budget=Budget(usd=1.0)), who, run="run-a"
        ) as granted:
            row = make_run("run-a").model_copy(update={"request": granted, "user": who.user, "created_at": house.now})
            await house.store.create_run(row)
            raise asyncio.CancelledError
    for _ in range(2):
        house.now += timedelta(minutes=11)
        with pytest.raises(LimitReached):
            await house.begun(who, run="run-b", usd=1.0)
    await house.ended("run-a", usd=0.25)
    assert (await house.begun(who, run="run-c", usd=1.0)).request.budget.usd == pytest.approx(0.75)


async def test_a_reservation_whose_run_was_never_written_down_is_given_back_later(house):
    who = await house.user(usd_a_month=1.0)
    with pytest.raises(asyncio.CancelledError):
        async with house.limits.admitted(ResearchRequest(question="Why?", budget=Budget(usd=1.0)), who, run="run-a"):
            raise asyncio.CancelledError
    with pytest.raises(LimitReached):
        await house.begun(who, run="run-b", usd=1.0)
    house.now += timedelta(minutes=11)
    await house.begun(who, run="run-c", usd=1.0)


async def test_a_run_that_is_tried_again_while_another_server_settles_it_keeps_its_reservation(house):
    who = await house.user(usd_a_month=1.0)
    row = await house.begun(who, run="run-a", usd=1.0)
    await house.ended("run-a", usd=0.25, status="failed")

    class Slow:
        """The store as another server sees it, which is overtaken between its look at a run and what follows."""

        def __init__(self) -> None:
            self.get_run = house.store.get_run

        async def list_calls(self, run: str) -> list[JournalRow]:
            calls = await house.store.list_calls(run)
            await house.limits.admit_again(await house.store.get_run(run), who)
            await house.store.reopen_run(run, retry=True)
            return calls

    other = UsageLimits(house.database, cast("Store", Slow()), at_once=4, now=lambda: house.now)
    used = await other.used(who.user)
    assert used.usd_a_month == pytest.approx(1.0)
    assert used.runs_at_once == 1
    assert row.request.budget.usd == pytest.approx(1.0)
    with pytest.raises(LimitReached):
        await house.begun(who, run="run-b", usd=0.5)


async def test_many_requests_at_once_get_no_more_than_one(house):
    who = await house.user(runs_at_once=3, usd_a_month=1.0)
    asked = [house.begun(who, run=f"run-{number}") for number in range(12)]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    begun = [one for one in ended if isinstance(one, RunRow)]
    assert len(begun) == 3
    assert sum(row.request.budget.usd or 0 for row in begun) <= 1.0 + 1e-6
