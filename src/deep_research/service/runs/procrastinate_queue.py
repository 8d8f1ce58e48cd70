"""The queue in PostgreSQL, by Procrastinate: a job is the id of a run, each user has a queue of its own.

A job is taken out as soon as somebody takes it: from then on the lease in the store says who works on the run. What
is lost between the two, or with the job's tables, is put in again by `sweep`. Needs the extra `postgres`.
"""

import asyncio
import json
import logging
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
import psycopg_pool
from procrastinate import PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager

from deep_research.errors import StoreLocked
from deep_research.events import LiveText, OnLive
from deep_research.service.runs.run_queue import Notice, OnNotice, UserRotation
from deep_research.storage.database.postgres import MIGRATION_LOCK, SCHEMA, SCHEMA_NUMBERS, conninfo_of, display_name
from deep_research.storage.store.lease import current_owner, holds_lease
from deep_research.storage.store.store import Store
from deep_research.value import Strings

_log = logging.getLogger(__name__)
_TASK = "run"
_CHANNELS: dict[str, Notice] = {
    "procrastinate_any_queue_v1": "queue",
    "deep_research_events": "events",
    "deep_research_stop": "stop",
}
_LIVE_CHANNEL = "deep_research_live"
# Pieces of answers are gathered for so long; so much of one fits into a notification, which has 8,000 bytes.
_GATHER_S = 0.2
_MAX_CHARS = 600
# A job that was taken this long ago and is still there: whoever took it was killed at that moment.
_LOST_S = 60
_RECONNECT_S = 1.0
_MIGRATION = re.compile(r"(\d\d)\.(\d\d)\.(\d\d)_(\d\d)_")
_NEWEST_NUMBER = "SELECT number FROM schema_numbers WHERE part = 'procrastinate'"
# Users who have a run waiting that may begin, who waits longest first.
_WAITING_USERS = """
SELECT queue_name FROM procrastinate_jobs
WHERE status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())
GROUP BY queue_name ORDER BY min(id)
"""
_DROP_LOST = """
DELETE FROM procrastinate_jobs
WHERE status = 'doing' AND id IN (
    SELECT job_id FROM procrastinate_events
    WHERE type = 'started' AND at < now() - make_interval(secs => %(lost_s)s)
)
"""
_QUEUED_RUNS = "SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo'"


class ProcrastinateQueue:
    """Runs that wait, as jobs in the database of the store."""

    poll_s = 5.0

    def __init__(self, url: str, store: Store, *, lease_s: float) -> None:
        self._store, self._lease_s = store, lease_s
        self._location = display_name(url)
        self._connector = PsycopgConnector(
            conninfo=conninfo_of(url),
            # The listener has a connection of its own beside these.
            min_size=0,
            max_size=2,
            timeout=10.0,
            kwargs={"options": f"-c search_path={SCHEMA}"},
            name="deep-research-queue",
        )
        self._jobs = JobManager(self._connector)
        self._rotation = UserRotation()
        self._opening = asyncio.Lock()
        self._is_open = False
        self._id = uuid.uuid4().hex
        self._gathered: list[LiveText] = []
        self._telling: asyncio.Task[None] | None = None

    async def put(self, run: str, user: str, *, is_begun: bool = False, delay_s: float = 0.0) -> None:
        job = Job(
            queue=user,
            lock=None,
            queueing_lock=run,
            task_name=_TASK,
            priority=int(is_begun),
            task_kwargs={"run": run},
            scheduled_at=datetime.now(UTC) + timedelta(seconds=delay_s) if delay_s else None,
        )
        async with self._opened():
            with suppress(AlreadyEnqueued):
                await self._jobs.defer_job_async(job)

    async def drop(self, run: str) -> None:
        async with self._opened():
            for job in await self._jobs.list_jobs_async(queueing_lock=run, status=Status.TODO.value):
                assert job.id is not None
                await self._jobs.cancel_job_by_id_async(job.id, delete_job=True)

    async def take(self, at_work: Counter[str], under_way: Collection[str]) -> str | None:  # noqa: ARG002 - jobs are there for all processes
        async with self._opened():
            users = [row["queue_name"] for row in await self._connector.execute_query_all_async(_WAITING_USERS)]
            if not users:
                return None
            everywhere = Counter(await self._store.count_running()) | at_work
            while users:
                user = self._rotation.choose(users, everywhere)
                # Nobody needs to know who took a job that is gone at once.
                job = await self._jobs.fetch_job([user], worker_id=cast("int", None))
                if job is not None:
                    self._rotation.note(user)
                    await self._jobs.finish_job(job, Status.SUCCEEDED, delete_job=True)
                    return str(job.task_kwargs["run"])
                # Another process was quicker.
                users.remove(user)
        return None

    async def sweep(self) -> None:
        async with self._opened():
            await self._connector.execute_query_async(_DROP_LOST, lost_s=_LOST_S)
            rows = await self._connector.execute_query_all_async(_QUEUED_RUNS)
        queued, asking = {row["queueing_lock"] for row in rows}, current_owner()
        for run in await self._store.list_unfinished():
            if run.id not in queued and not holds_lease(run.owner, asking, lease_s=self._lease_s):
                await self.put(run.id, run.user, is_begun=run.status != "created")

    async def listen(self, on_notice: OnNotice, on_live: OnLive) -> None:
        async def on_notification(*, channel: str, payload: str) -> None:
            if channel != _LIVE_CHANNEL:
                on_notice(_CHANNELS[channel], payload)
                return
            sender, *piece = json.loads(payload)
            if sender != self._id:
                on_live(LiveText(*piece))

        while True:
            try:
                async with self._opened():
                    await self._connector.listen_notify(on_notification, (*_CHANNELS, _LIVE_CHANNEL))
            except StoreLocked as exc:
                _log.warning("events of other processes are only looked for, not told: %s", exc)
            await asyncio.sleep(_RECONNECT_S)

    def tell_live(self, live: LiveText) -> None:
        self._gathered.append(live)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_gathered())

    async def _tell_gathered(self) -> None:
        """Pass on what was gathered, pieces of one answer together; what cannot be sent now is lost."""
        while True:
            await asyncio.sleep(_GATHER_S)
            gathered, self._gathered = self._gathered, []
            if not gathered:
                return
            with suppress(StoreLocked):
                async with self._opened():
                    for payload in _payloads(self._id, gathered):
                        await self._connector.execute_query_async(
                            "SELECT pg_notify(%(channel)s, %(payload)s)", channel=_LIVE_CHANNEL, payload=payload
                        )

    async def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
        if self._is_open:
            self._is_open = False
            await self._connector.close_async()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        """Connect on first use, and raise what is wrong with the database as one of our errors."""
        try:
            async with self._opening:
                if not self._is_open:
                    await self._connector.open_async()
                    await _bring_up_to_date(self._connector.pool)
                    self._is_open = True
            yield
        except (ConnectorException, psycopg.Error) as exc:
            raise StoreLocked(f"The queue in {self._location} cannot be reached: {exc.__cause__ or exc}") from exc


def _payloads(sender: str, gathered: Sequence[LiveText]) -> Iterator[str]:
    """Yield pieces of answers as notifications, those of one answer joined as far as they fit."""
    by_reply: dict[Strings, list[str]] = {}
    for run, scope, act, kind, text in gathered:
        by_reply.setdefault((run, scope, act, kind), []).append(text)
    for reply, texts in by_reply.items():
        text = "".join(texts)
        for start in range(0, len(text), _MAX_CHARS):
            yield json.dumps([sender, *reply, text[start : start + _MAX_CHARS]])


async def _bring_up_to_date(pool: "psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[Any]]") -> None:
    """Give Procrastinate its tables in our schema, or those of its migrations that are missing."""
    scripts = _migrations()
    newest = max(scripts)
    async with pool.connection() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        await connection.execute(SCHEMA_NUMBERS)
        row = await (await connection.execute(_NEWEST_NUMBER)).fetchone()
        present = 0 if row is None else int(row[0])
        if present == 0:
            await connection.execute(SchemaManager.get_schema())
        for number, script in scripts.items() if present else ():
            if number > present:
                await connection.execute(script.read_bytes())
        if present < newest:
            await connection.execute(
                "INSERT INTO schema_numbers (part, number) VALUES ('procrastinate', %s) "
                "ON CONFLICT (part) DO UPDATE SET number = excluded.number",
                [newest],
            )


def _migrations() -> dict[int, Path]:
    """Return Procrastinate's migrations by a number made from their version and step, in order."""
    files = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    named = [(_MIGRATION.match(file.name), file) for file in files]
    return {int("".join(found.groups())): file for found, file in named if found}
