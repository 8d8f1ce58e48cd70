"""What accounts may use: runs at once and a day, queries a day, money a month.

A run reserves the most that it may spend before it is written down, and its own budget is lowered to that, so that
several at once cannot spend more than there is. Once its plan is settled, it keeps only the queries that the plan may
use; once it is over, what it spent takes the reservation's place. Days and months are those of UTC.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pydantic import AwareDatetime

from deep_research.errors import LimitReached, NotFound, UnknownRun
from deep_research.events import ENDED
from deep_research.pipeline.approval import effort_of
from deep_research.pipeline.journal import spent_so_far
from deep_research.pipeline.plan_text import followed_plan
from deep_research.request import ResearchRequest, Spend
from deep_research.service.accounts.accounts import Limits
from deep_research.service.accounts.identity import LOCAL_USER, Identity
from deep_research.service.database import Records, ServerDatabase
from deep_research.storage.database.port import Row, value_of
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.value import Value

# `seen_at` of a reservation whose run is about to be written down.
_NEW = "new"
# It was never written down: its server was killed at that moment.
_ABANDONED = timedelta(minutes=10)
# A run that is tried again has its old status for a moment; so long after, nobody has it tried again.
_NOT_BEGUN = timedelta(minutes=1)
# The plan is among the first events of a run.
_FIRST_EVENTS = 200
# So little of a limit, or less, is worth a word before the next run.
_LITTLE = 0.2
# Sums of prices carry rounding errors far below any price.
_ROUNDING = 1e-9


class Left(NamedTuple):
    """What is left of a limit; `renews_at` is None where a run that ends gives it back."""

    limit: str
    most: float
    left: float
    renews_at: datetime | None

    @property
    def is_little(self) -> bool:
        """Return whether it may not be enough for the next run; of runs at once, only whether none can begin."""
        return self.left <= 0 if self.renews_at is None else self.left <= _LITTLE * self.most


class Used(Value):
    """What an account uses now, has used, and may use; None is no limit."""

    limits: Limits
    runs_at_once: int
    runs_a_day: int
    usd_a_month: float
    queries_a_day: int
    day_renews_at: AwareDatetime
    month_renews_at: AwareDatetime

    def left(self, limit: str) -> float | None:
        """Return what is left of a limit; None where there is none."""
        most: float | None = getattr(self.limits, limit)
        return None if most is None else max(0.0, round(most - getattr(self, limit), 6))

    def each(self) -> list[Left]:
        """Return what is left of each limit that is set."""
        limits = ((limit, getattr(self.limits, limit), self.left(limit)) for limit in Limits.model_fields)
        return [Left(limit, most, left, self._renews_at(limit)) for limit, most, left in limits if left is not None]

    def _renews_at(self, limit: str) -> datetime | None:
        return {"runs_at_once": None, "usd_a_month": self.month_renews_at}.get(limit, self.day_renews_at)

    def require(self, limit: str, wanted: float | None = None) -> None:
        """Raise `LimitReached` unless something is left of a limit, or so much of it."""
        left = self.left(limit)
        is_enough = left is None or (left > 0 if wanted is None else wanted <= left + _ROUNDING)
        if not is_enough:
            most = float(getattr(self.limits, limit))
            raise LimitReached(limit=limit, most=most, left=left or 0.0, renews_at=self._renews_at(limit))


@dataclass
class UsageLimits:
    """Keeps every account within its limits."""

    database: ServerDatabase
    store: Store
    at_once: int
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def used_by(self, who: Identity) -> Used | None:
        """Return what the account of a request has used; None where there are no accounts, and so no limits."""
        return None if who.user == LOCAL_USER else await self.used(who.user)

    async def used(self, user: str) -> Used:
        """Return what an account has used."""
        await self._close_finished(user)
        return await self.database.work(lambda records: self._used(records, user))

    @asynccontextmanager
    async def admitted(self, request: ResearchRequest, who: Identity, *, run: str) -> AsyncIterator[ResearchRequest]:
        """Reserve what a new run may spend, and give its request with the budget that is left.

        The reservation names the run before it is written down, so that none can be there without one.
        """
        if who.user == LOCAL_USER:
            yield request
            return
        await self._close_finished(who.user)
        id_ = secrets.token_hex(8)

        def reserve(records: Records) -> ResearchRequest:
            used = self._used(records, who.user)
            lowered = self._lowered(request, used)
            reserved = self._reserved(lowered, Spend(), used.limits, effort_of(lowered).queries)
            records.run("add_usage", id=id_, user=who.user, run=run, seen_at=_NEW, **reserved)
            return lowered

        lowered = await self.database.work(reserve)
        try:
            yield lowered
        except asyncio.CancelledError:
            # A thread may still write the run down; the reservation stays until that is known.
            raise
        except BaseException:  # The run was not written down, for whatever reason; it is raised again.
            await self.database.run("remove_usage", id=id_)
            raise
        await self.database.run("confirm_usage", id=id_)

    async def admit_again(self, row: RunRow, who: Identity) -> None:
        """Reserve what a run that was over may still spend; one that never ended has its reservation."""
        if who.user == LOCAL_USER:
            return
        await self._close_finished(who.user)
        spent, most = await self.spent(row.id), await self._most_queries(row)
        budget = row.request.budget

        def reserve(records: Records) -> None:
            if records.one("open_usage_of", run=row.id):
                return
            used = self._used(records, who.user)
            for limit in ("runs_at_once", "runs_a_day"):
                used.require(limit)
            # Its budget stands; where less than that is left, it cannot go on.
            used.require("usd_a_month", float("inf") if budget.usd is None else budget.usd - spent.usd)
            used.require("queries_a_day", most - spent.queries)
            own = {"id": secrets.token_hex(8), "user": who.user, "run": row.id, "seen_at": row.updated_at.isoformat()}
            records.run("add_usage", **own, **self._reserved(row.request, spent, used.limits, most))

        await self.database.work(reserve)

    async def spent(self, run: str) -> Spend:
        """Return what a run has spent; asked before it is deleted."""
        return spent_so_far(await self.store.list_calls(run))

    async def close(self, run: str, spent: Spend) -> None:
        """Have what a run spent take its reservation's place."""
        for row in await self.database.all("open_usage_of", run=run):
            await self._close(row, spent)

    async def _close(self, row: Row, spent: Spend) -> None:
        usd, queries = max(0.0, spent.usd - row["usd_before"]), max(0, spent.queries - row["queries_before"])
        # By its own id: the run may have been tried again meanwhile, with a reservation that stays open.
        await self.database.run("settle_usage", id=row["id"], usd=usd, queries=queries)

    def _lowered(self, request: ResearchRequest, used: Used) -> ResearchRequest:
        """Return a request whose budget is no more than what is left."""
        for limit in Limits.model_fields:
            used.require(limit)
        changes: dict[str, object] = {}
        money = used.left("usd_a_month")
        if money is not None:
            # Who names no budget gets an equal share, so that the other runs that may begin have theirs.
            shares = max(1, (used.limits.runs_at_once or self.at_once) - used.runs_at_once)
            asked = request.budget.usd
            changes["usd"] = money / shares if asked is None else min(asked, money)
        queries = used.left("queries_a_day")
        if queries is not None:
            changes["queries"] = min(effort_of(request).queries, int(queries))
        return request.replace(budget=request.budget.replace(**changes))

    async def _most_queries(self, row: RunRow) -> int:
        """Return how many queries a run may use: as its plan says, or at most where it has none yet."""
        events = await self.store.read_events(row.id, limit=_FIRST_EVENTS)
        queries = (followed_plan(events) or {}).get("queries")
        return queries if isinstance(queries, int) else effort_of(row.request).queries

    def _reserved(self, request: ResearchRequest, spent: Spend, limits: Limits, most: int) -> dict[str, str | float]:
        """Return what a run reserves: the rest of its budget and queries, of what the account has a limit on."""
        usd = (request.budget.usd or 0.0) - spent.usd if limits.usd_a_month is not None else 0.0
        queries = most - spent.queries if limits.queries_a_day is not None else 0
        return {
            "at": self.now().isoformat(),
            "usd_before": spent.usd,
            "queries_before": spent.queries,
            "usd": max(0.0, usd),
            "queries": max(0, queries),
        }

    def _used(self, records: Records, user: str) -> Used:
        user_row = records.one("get_user", id=user)
        if user_row is None:
            raise NotFound("There is no such account.")
        day = self.now().replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        row = records.one("sum_usage", user=user, day=day.isoformat(), month=month.isoformat())
        assert row is not None
        return value_of(
            Used,
            row,
            limits=value_of(Limits, user_row),
            day_renews_at=day + timedelta(days=1),
            month_renews_at=(month + timedelta(days=32)).replace(day=1),
        )

    async def _close_finished(self, user: str) -> None:
        """Close what runs that are over had reserved, and give back the queries that a settled plan cannot use."""
        now = self.now()
        for row in await self.database.all("open_usage", user=user):
            age = now - datetime.fromisoformat(row["at"])
            is_new = row["seen_at"] == _NEW or not row["run"]
            try:
                run = await self.store.get_run(row["run"])
            except UnknownRun:
                if not is_new:
                    # Somebody deleted it at the command line; what it had reserved counts as spent.
                    await self.database.run("close_usage", id=row["id"])
                elif age > _ABANDONED:
                    await self.database.run("remove_usage", id=row["id"])
                continue
            has_changed = run.updated_at.isoformat() != row["seen_at"]
            if run.status in ENDED and (has_changed or age > _NOT_BEGUN):
                await self._close(row, await self.spent(run.id))
            elif is_new and age > _ABANDONED:
                # Its server was killed before it could say so.
                await self.database.run("confirm_usage", id=row["id"])
            elif row["queries"] and run.request.depth is None:
                most = await self._most_queries(run) - row["queries_before"]
                await self.database.run("lower_usage", id=row["id"], queries=max(0, most))
