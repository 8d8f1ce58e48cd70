"""Carries schedules out: starts what is due, looks at how it ended, and has people notified.

Several servers may do this in one home: a time that is due, and the end of a run, belong to whoever changes the row
first. Times that nobody was there for are made up for once, not each.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from deep_research.errors import DeepResearchError, NotFound
from deep_research.events import ENDED
from deep_research.service.accounts.identity import LOCAL_USER, Identity
from deep_research.service.database import Records, ServerDatabase
from deep_research.service.public_text import public_message
from deep_research.service.runs.new_run import NewRun
from deep_research.service.schedules.notifications import (
    REPORTED_KINDS,
    NotificationKind,
    add_notifications,
    notification_of,
)
from deep_research.storage.database.port import Row
from deep_research.storage.store.port import RunRow
from deep_research.text.in_thread import in_thread
from deep_research.value import json_of
from deep_research.verify.changes import Changes, compare_reports

if TYPE_CHECKING:
    from deep_research.service.service import ResearchService

_log = logging.getLogger(__name__)
SKIPPED = "skipped: the run before was still under way"


@dataclass
class Scheduler:
    """Looks at all schedules, whenever it is asked to."""

    database: ServerDatabase
    service: "ResearchService"
    address: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def check(self) -> None:
        """Record how runs have ended, then start what is due."""
        for row in await self.database.all("unsettled_schedules"):
            await self._note_ending(row)
        for row in await self.database.all("active_schedules", local=LOCAL_USER):
            if await self._is_taken(row):
                await self._start(row)

    async def _is_taken(self, row: Row) -> bool:
        """Return whether a schedule is due and this server is the one to carry it out."""
        now, due, every = self.now(), datetime.fromisoformat(row["next_at"]), timedelta(seconds=row["every_s"])
        is_due = due <= now
        if not is_due and due - now <= every:
            return False
        # Of several times that went by, this makes up for all. A time too far away was set before the clock was
        # turned back.
        next_at = due + every * ((now - due) // every + 1) if is_due else now + every
        seen, next_time = row["next_at"], next_at.isoformat()
        taken = await self.database.run("claim_schedule", id=row["id"], seen=seen, next_at=next_time)
        return is_due and bool(taken)

    async def _start(self, row: Row) -> None:
        if not row["is_settled"]:
            await self.database.run("note_schedule", id=row["id"], note=SKIPPED)
            return
        try:
            run = await self._begun(row)
        except DeepResearchError as exc:
            _log.warning("schedule %s: %s", row["id"], exc)
            error = public_message(str(exc))
            news = notification_of(row, kind="run-failed", address=self.address, error=error)
            await self.database.work(lambda records: add_notifications(records, row, "", news))
            await self.database.run("note_schedule", id=row["id"], note=f"failed: {error}")
            return
        await self.database.run("start_schedule", id=row["id"], run=run.id)

    async def _begun(self, row: Row) -> RunRow:
        who = Identity(user=row["user"])
        if row["mode"] == "update" and row["done_run"]:
            try:
                return await self.service.update(row["done_run"], who)
            except NotFound:
                _log.info("schedule %s: its last run was deleted; it asks anew", row["id"])
        return await self.service.create(NewRun.model_validate(json_of(row["request"])), who)

    async def _note_ending(self, row: Row) -> None:
        """Look at how the last run of a schedule ended, if it has, and note who is to be notified of what."""
        done, note, news = row["done_run"], "the run was cancelled", None
        try:
            run = await self.service.store.get_run(row["last_run"])
        except NotFound:
            note = "the run was deleted"
        else:
            if run.status not in ENDED:
                return
            if run.status == "done":
                done, note, news = run.id, "", await self._news(row, run)
            elif run.status == "failed":
                error = public_message(run.failure)
                note = f"failed: {error}"
                news = notification_of(row, kind="run-failed", address=self.address, run=run, error=error)

        def put(records: Records) -> None:
            is_first = records.run("settle_schedule", id=row["id"], run=row["last_run"], done_run=done, note=note)
            if is_first and news is not None:
                add_notifications(records, row, row["last_run"], news)

        await self.database.work(put)

    async def _news(self, row: Row, run: RunRow) -> dict[str, Any] | None:
        """Return the notification about a finished run; None where nobody wants to know."""
        changes = await self._changes(row, run)
        kind: NotificationKind = "first-report"
        if changes is not None:
            kind = "claims-changed" if any(changes.of(each) for each in REPORTED_KINDS) else "no-change"
        if kind != "claims-changed" and row["notify"] != "always":
            return None
        return notification_of(row, kind=kind, address=self.address, run=run, changes=changes)

    async def _changes(self, row: Row, run: RunRow) -> Changes | None:
        who = Identity(user=row["user"])
        if run.request.update is not None:
            return await self.service.changes(run.id, who)
        if not row["done_run"]:
            return None
        try:
            before = await self.service.contents(row["done_run"], who)
        except NotFound:
            return None
        after = await self.service.contents(run.id, who)
        return await in_thread(compare_reports, before.edition, after.edition)
