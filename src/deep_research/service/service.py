"""`ResearchService`: everything that a shell offers about runs, for one account at a time."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from uuid import uuid4

from deep_research.errors import DeepResearchError, InputError, NotFound, UnknownRun, UsageError, WrongState
from deep_research.events import RunStatus
from deep_research.export.contents import Contents
from deep_research.pipeline.approval import steer
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import answer_run, cancel_run, is_answered
from deep_research.pipeline.folder import with_files
from deep_research.pipeline.result import Result, contents_of, result_of
from deep_research.request import ResearchRequest
from deep_research.runner import processor_from, settings_of, update_request
from deep_research.service.accounts.accounts import Accounts
from deep_research.service.accounts.identity import ActionLog, Identity
from deep_research.service.accounts.limits import UsageLimits
from deep_research.service.database import Records, ServerDatabase, open_server_database
from deep_research.service.documents.documents import Documents
from deep_research.service.runs import runs
from deep_research.service.runs.estimate import Estimate, estimate_of
from deep_research.service.runs.feed import Item, open_feed, set_within
from deep_research.service.runs.new_run import NewRun, request_for
from deep_research.service.runs.plans import PlanEdit, PlanView, edited_plan, plan_view, require_approval, wrong_state
from deep_research.service.runs.progress import RunProgress, read_progress
from deep_research.service.runs.recent import RecentRuns
from deep_research.service.runs.run_queue import open_queue
from deep_research.service.runs.worker import Worker
from deep_research.service.schedules.notifications import Notifier
from deep_research.service.schedules.scheduler import Scheduler
from deep_research.service.schedules.schedules import Schedules
from deep_research.settings import Settings
from deep_research.storage.store.port import RunChoice, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import Json, Strings, digest, json_of
from deep_research.verify.changes import Changes
from deep_research.wiring import open_store

_KEY_LIFETIME = timedelta(hours=24)
_SWEEP_S = 15.0
_log = logging.getLogger(__name__)
# How long somebody who lets a run go on waits for its first sign of life.
_POLL_S, _MAX_POLLS = 0.02, 100


async def reserved_run(
    database: ServerDatabase, key: str, new: NewRun, user: str, *, now: datetime | None = None
) -> str:
    """Return the id of the run that a key stands for, whether or not it has been made yet.

    Whoever comes first decides it, so that two requests at once, or one sent again after a crash, make the same run.
    """
    at, asked = now or datetime.now(UTC), digest(new.model_dump(mode="json"))

    def work(records: Records) -> str:
        # A time far ahead was set before somebody turned the clock back.
        records.run("forget_keys", before=(at - _KEY_LIFETIME).isoformat(), after=(at + _KEY_LIFETIME).isoformat())
        records.run("keep_key", user=user, key=key, request=asked, run=uuid4().hex, now=at.isoformat())
        row = records.one("find_key", user=user, key=key)
        assert row is not None, "it was kept just now"
        if row["request"] != asked:
            raise InputError().with_message("fault.key_reused")
        return str(row["run"])

    return await database.work(work)


class ResearchService:
    """Runs of all accounts: made, steered and read; a run of another account is an unknown one."""

    def __init__(self, settings: Settings, *, at_once: int = 4) -> None:
        self.settings = settings
        self.store: Store = open_store(settings)
        self.database = open_server_database(settings)
        self.action_log = ActionLog(self.database)
        self.accounts = Accounts(self.database, self.action_log)
        self.feed = open_feed(settings, self.store)
        self.queue = open_queue(settings, self.store)
        self.worker = Worker(settings, self.store, self.feed, self.queue, at_once=at_once)
        self.limits = UsageLimits(self.database, self.store, at_once=settings.server_runs_at_once)
        self.documents = Documents(settings, self.database, self.store)
        self.schedules = Schedules(settings, self.database)
        self.scheduler = Scheduler(self.database, self, address=settings.server_address)
        self.notifier = Notifier(settings, self.database)
        # Each of a run that was just read; the report in parts and as a result, of one that is done.
        self.progress_of = RecentRuns(lambda row: read_progress(row, self.store))
        self.result_of = RecentRuns(lambda row: result_of(row, self.store))
        self.contents_of = RecentRuns(lambda row: contents_of(row, self.store))
        self._woken: list[asyncio.Event] = []
        self._sweeps: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self.worker.start()
        own = (self.worker.pick_up, self.documents.tidy, self.scheduler.check)
        # Those who are told may be slow to answer.
        for works in (own, (self.notifier.deliver,)):
            woken = asyncio.Event()
            self._woken.append(woken)
            self._sweeps.append(asyncio.create_task(_keep_doing(works, woken)))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.feed.close()
        for sweep in self._sweeps:
            sweep.cancel()
        await asyncio.gather(*self._sweeps, return_exceptions=True)
        await self.worker.stop()
        await self.close()

    async def close(self) -> None:
        """Release everything; enough for a service that was never entered."""
        await self.queue.close()
        await self.documents.stop()
        await self.notifier.close()
        self.accounts.close()
        await self.database.close()
        await self.store.close()

    @property
    def is_accepting(self) -> bool:
        """Whether a run that is asked for now will be begun."""
        return self.worker.is_accepting and bool(self._sweeps) and not any(sweep.done() for sweep in self._sweeps)

    def wake(self) -> None:
        """Have what is due looked at now."""
        for woken in self._woken:
            woken.set()

    async def create(self, new: NewRun, who: Identity, *, key: str = "") -> RunRow:
        """Make a run and begin with it; the same request under the same key is the same run."""
        settings, request = await self.request_of(new, who)
        run = await reserved_run(self.database, key, new, who.user) if key else ""
        row = await self._made(run) or await self._make(request, settings, who, run=run)
        if new.documents is not None:
            await self.documents.note_asked(new.documents, new.question, who)
        if new.tags:
            await self.store.set_tags(row.id, new.tags)
        if row.status == "created":
            await self.worker.submit(row)
        return await self.store.get_run(row.id)

    async def request_of(self, new: NewRun, who: Identity) -> tuple[Settings, ResearchRequest]:
        """Return what somebody asked for, with the folder and the earlier run that they may name."""
        docs = None if new.documents is None else await self.documents.folder_of(new.documents, who)
        earlier = await self.get(new.follow, who) if new.follow else None
        # A model server of one's own is asked for its window.
        settings, request = await asyncio.to_thread(request_for, new, self.settings, docs=docs, earlier=earlier)
        await self.documents.check_there(request)
        return settings, request

    async def _make(
        self, request: ResearchRequest, settings: Settings, who: Identity, *, run: str = "", wiring: str = ""
    ) -> RunRow:
        """Write down a new run, within what its account may still use."""
        processor = processor_from(settings, wiring)
        try:
            id_ = run or processor.adapters.new_id()
            async with self.limits.admitted(request, who, run=id_) as granted:
                row = await processor.create(granted, user=who.user, run=id_)
        except UsageError:
            # Another request under the same key may have been quicker.
            if made := await self._made(run):
                return made
            raise
        finally:
            await processor.adapters.close()
        await self.action_log.record(who, "run-made", row.id)
        return row

    async def _made(self, run: str) -> RunRow | None:
        with suppress(UnknownRun):
            return await self.store.get_run(run) if run else None
        return None

    async def estimate(self, new: NewRun, who: Identity) -> Estimate:
        """Return what a request may take, before anything is spent."""
        settings, request = await self.request_of(new, who)
        processor = processor_from(settings)
        try:
            return estimate_of(request, processor.adapters.models)
        finally:
            await processor.adapters.close()

    async def get(self, run: str, who: Identity) -> RunRow:
        """Return a run of this account, by its id or by first characters of it that are no other run's."""
        with suppress(UnknownRun):
            row = await self.store.get_run(run)
            if row.user == who.user or who.sees_all:
                return row
        # The same words for a run of somebody else, and for one that nobody has.
        raise UnknownRun().with_message("fault.unknown_run", run=run[:64])

    async def list(
        self, who: Identity, *, limit: int, status: RunStatus | None = None, choice: RunChoice | None = None
    ) -> list[RunRow]:
        """Return the newest runs of this account first."""
        user = None if who.sees_all else who.user
        chosen = (choice or RunChoice()).replace(user=user)
        return await self.store.list_runs(limit=limit, status=status, choice=chosen)

    async def set_tags(self, run: str, tags: Strings, who: Identity) -> RunRow:
        """File a run under these words alone."""
        row = await self.get(run, who)
        await self.store.set_tags(row.id, tags)
        return await self.store.get_run(row.id)

    async def answer(self, run: str, answer: Json, who: Identity) -> RunRow:
        """Answer what a run waits for, and go on with it, or change what one that works looks for."""
        row = await self.get(run, who)
        if await steer(self.store, row, answer):
            return row
        if row.status != "waiting" or row.pending is None:
            raise wrong_state(row, "fault.not_waiting")
        if await is_answered(self.store, row):
            raise WrongState().with_message("fault.answered", run=row.short_id)
        await self.limits.admit_again(row, who)
        await answer_run(self.store, row, answer)
        return await self._go_on(row, retry=False)

    async def plan(self, run: str, who: Identity) -> PlanView:
        """Return the plan that waits for approval, or the one that is followed."""
        row = await self.get(run, who)
        return plan_view(row, await self.store.read_events(row.id))

    async def submit_plan(self, run: str, edited: PlanEdit, who: Identity) -> RunRow:
        """Give a run that waits for approval its plan as somebody edited it; one that cannot be used is explained."""
        row = await self.get(run, who)
        return await self.answer(row.id, edited_plan(row, edited), who)

    async def approve_plan(self, run: str, who: Identity) -> RunRow:
        """Let a run follow the plan that it waits with."""
        row = await self.get(run, who)
        require_approval(row)
        return await self.answer(row.id, "approve", who)

    async def cancel(self, run: str, who: Identity) -> RunRow:
        """Cancel a run; everything finished so far is kept."""
        row = await self.get(run, who)
        cancelled = await cancel_run(self.store, row, clock=SystemClock(), lease_s=self.settings.lease_s)
        await self.worker.withdraw(row.id)
        self.feed.check(row.id)
        return cancelled

    async def resume(self, run: str, who: Identity, *, retry: bool = False) -> RunRow:
        """Go on with a run that stopped; `retry` does the failed steps of one that ended again."""
        row = await self.get(run, who)
        if row.status in ("running", "created"):
            await self.worker.submit(row)
            return row
        is_answered_now = row.status == "waiting" and await is_answered(self.store, row)
        allowed = ("failed", "cancelled", "interrupted", "done") if retry else ("failed", "interrupted")
        if row.status not in allowed and not is_answered_now:
            raise wrong_state(row, "fault.cannot_go_on")
        await self.documents.check_there(row.request)
        await self.limits.admit_again(row, who)
        return await self._go_on(row, retry=retry)

    async def update(self, run: str, who: Identity) -> RunRow:
        """Research a finished run's question again and compare."""
        row = await self.get(run, who)
        _, request = await update_request(row.id, self.settings)
        await self.documents.check_there(request)
        new = await self._make(request, settings_of(request, self.settings), who, wiring=row.wiring)
        await self.worker.submit(new)
        return await self.store.get_run(new.id)

    async def delete(self, run: str, who: Identity) -> None:
        """Delete a run and its files; this cannot be undone."""
        row = await self.get(run, who)
        spent = await self.limits.spent(row.id)
        await runs.delete_run(row.id, settings=self.settings)
        await self.limits.close(row.id, spent)
        await self.documents.note_deleted(row.request.docs)
        await self.worker.withdraw(row.id)
        self.feed.check(row.id)
        for known in (self.progress_of, self.result_of, self.contents_of):
            known.forget(row.id)

    async def result(self, run: str, who: Identity) -> Result:
        """Return the report of a run that is done, with sources and findings."""
        return await self.result_of(await self.finished(run, who))

    async def contents(self, run: str, who: Identity, *, with_sources: bool = False) -> Contents:
        """Return the report of a run that is done, in parts, for an export; its folder is on this host."""
        row = await with_files(await self.finished(run, who), self.store, self.settings.logs)
        if with_sources:
            return await contents_of(row, self.store, with_sources=True)
        return replace(await self.contents_of(row), folder=row.folder)

    async def changes(self, run: str, who: Identity) -> Changes:
        """Return what an update has found changed since the run before it."""
        row = await with_files(await self.finished(run, who), self.store, self.settings.logs)
        try:
            return Changes.from_json(json_of((Path(row.folder) / "changes.json").read_bytes()))
        except FileNotFoundError:
            raise NotFound().with_message("fault.no_changes", run=row.short_id) from None

    async def progress(self, run: str, who: Identity) -> RunProgress:
        """Return where a run stands, in one picture."""
        return await self.progress_of(await self.get(run, who))

    async def events(self, run: str, who: Identity, *, heartbeat_s: float = 15.0) -> AsyncGenerator[Item, None]:
        """Yield the events of a run, then what comes, until it is over."""
        row = await self.get(run, who)
        async for item in self.feed.read(row.id, heartbeat_s=heartbeat_s):
            yield item

    async def finished(self, run: str, who: Identity) -> RunRow:
        """Return a run of this account that has a report."""
        row = await self.get(run, who)
        if row.result is None:
            raise wrong_state(row, "fault.no_report")
        return row

    async def _go_on(self, row: RunRow, *, retry: bool) -> RunRow:
        """Let a run go on, and return it once it has begun, or waits for its turn."""
        now = await self.store.reopen_run(row.id, retry=retry)
        await self.worker.submit(now)
        for _ in range(_MAX_POLLS):
            if now.epoch != row.epoch or not (self.worker.has_capacity or self.worker.is_under_way(row.id)):
                break
            await asyncio.sleep(_POLL_S)
            now = await self.store.get_run(row.id)
        return now


async def _keep_doing(works: Sequence[Callable[[], Awaitable[None]]], woken: asyncio.Event) -> None:
    """Do again and again what is to be done without anybody asking; what fails is tried again the next time."""
    while True:
        for work in works:
            try:
                await work()
            except DeepResearchError as exc:
                _log.warning("%s", exc)
        await set_within(woken, _SWEEP_S)
        woken.clear()
