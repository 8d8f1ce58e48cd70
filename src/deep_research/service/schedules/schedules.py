"""Questions that are researched again and again: which there are, when, and who is told. `scheduler.py` does it."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from deep_research.errors import AddressRefused, NotFound, UsageError
from deep_research.service.accounts.identity import Identity
from deep_research.service.database import Records, ServerDatabase
from deep_research.service.runs.new_run import NewRun
from deep_research.settings import Settings
from deep_research.settings.types import MailAddress
from deep_research.storage.database.port import Column, Row, value_of
from deep_research.value import Value, json_of
from deep_research.web.net.guard import Guard

_DURATION = re.compile(r"([1-9][0-9]{0,4}) ?([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# `update` holds the last report against what its sources say now, `ask` begins anew.
ScheduleMode = Literal["update", "ask"]
# `changes`: where claims changed or a run failed; `always`: also where nothing changed.
Notify = Literal["changes", "always"]
_HOUR_S, _DAY_S = 3_600, 86_400
_MAX_EVERY_S = 366 * _DAY_S
_MAX_ADDRESS_CHARS = 2_000


def duration_of(text: str) -> timedelta:
    """Return the stretch of time that a text names; `ValueError` says what fits."""
    parts = _DURATION.fullmatch(text.strip().lower())
    if parts is None:
        raise ValueError("write a number with m, h, d or w, such as 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[parts[2]]: int(parts[1])})


def seconds_of(every: str) -> int:
    """Return the seconds of `12h`, `7d` or `2w`; `ValueError` says what fits."""
    seconds = int(duration_of(every).total_seconds())
    if seconds % _HOUR_S or seconds > _MAX_EVERY_S:
        raise ValueError("write whole hours, days or weeks, such as 12h, 7d or 2w: an hour to a year")
    return seconds


def every_of(seconds: int) -> str:
    """Return an interval in days, or in hours where these are no whole days."""
    return f"{seconds // _HOUR_S}h" if seconds % _DAY_S else f"{seconds // _DAY_S}d"


Every = Annotated[
    str,
    Field(description="How long after the last time, as `12h`, `7d` or `2w`."),
    AfterValidator(lambda every: every_of(seconds_of(every))),
]


class NewSchedule(NewRun):
    """A question with everything that a run may have, how often it is researched, and who is told.

    Nobody is there to answer: it starts on stated assumptions.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "What does the Halden Bay heat plant cost?", "every": "7d", "email": "me@example.org"},
                {"question": "海绵城市改造的效果如何？", "every": "2w", "webhook": "https://example.org/hook"},
            ]
        }
    )

    every: Every
    mode: ScheduleMode = "update"
    """Bring the last report up to date, or ask anew."""
    notify: Notify = "changes"
    """When to tell: where claims changed, or always."""
    webhook: str = Field(default="", max_length=_MAX_ADDRESS_CHARS)
    """Web address that is told."""
    email: MailAddress | Literal[""] = ""
    """Mail address that is told."""


class ScheduleChange(BaseModel):
    """What may be changed of a schedule; what is not given stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"is_paused": True}, {"every": "30d"}]})

    is_paused: bool | None = None
    every: Every | None = None


class Delivery(Value):
    """A notification: where it goes, when it arrived, or what went wrong so far and when it is tried again."""

    target: str
    kind: str
    run: str
    created_at: datetime
    sent_at: datetime | None
    tries: int
    error: str
    next_at: datetime | None


class Schedule(Value):
    """A schedule: `note` says what became of the last time it was due, where that was not a run."""

    id: str
    question: str
    every: str
    mode: ScheduleMode
    notify: Notify
    webhook: str
    email: str
    created_at: datetime
    next_at: datetime
    is_paused: bool
    last_run: str
    done_run: str
    note: str
    research: dict[str, Any]
    deliveries: tuple[Delivery, ...] = ()


class Schedules:
    """Schedules of all accounts; one of another account is an unknown one."""

    def __init__(self, settings: Settings, database: ServerDatabase) -> None:
        self._settings, self._database = settings, database
        self._guard = Guard(allowed=settings.webhook_hosts)

    async def add(self, new: NewSchedule, who: Identity) -> Schedule:
        """Make a schedule; it is due at once for the first time."""
        if new.webhook:
            try:
                self._guard.check(new.webhook)
            except AddressRefused as exc:
                raise UsageError().with_message("fault.bad_webhook", reason=exc) from exc
        if new.email and not (self._settings.smtp_host and self._settings.smtp_from):
            raise UsageError().with_message("fault.no_mail")
        allowed = {each.lower() for each in self._settings.mail_recipients}
        address = new.email.lower()
        if address and "admin" not in who.scopes and not {address, address[address.rfind("@") :]} & allowed:
            raise UsageError().with_message("fault.mail_refused", address=new.email)
        research = NewRun.model_validate(
            {name: getattr(new, name) for name in NewRun.model_fields}
            | {"assume": True, "confirm_plan": False, "interactive": False}
        )
        now = datetime.now(UTC).isoformat()
        row = {name: getattr(new, name) for name in ("mode", "notify", "webhook", "email")}
        row |= {"id": uuid4().hex, "user": who.user, "every_s": seconds_of(new.every), "created_at": now}
        row |= {"request": research.model_dump_json(exclude_defaults=True), "next_at": now}
        most = self._settings.schedules_max

        def put(records: Records) -> None:
            if len(records.all("list_schedules", user=who.user)) >= most:
                raise UsageError().with_message("fault.max_schedules", count=most)
            records.run("add_schedule", **row)

        await self._database.work(put)
        return await self.get(str(row["id"]), who)

    async def list(self, who: Identity) -> list[Schedule]:
        """Return the schedules of this account, the newest first."""
        rows = await self._database.all("list_schedules", user=who.user)
        return [_schedule(row, ()) for row in rows]

    async def get(self, schedule: str, who: Identity) -> Schedule:
        """Return a schedule with its last notifications, by its id or its first characters."""
        return await self._database.work(lambda records: _with_deliveries(records, _row(records, schedule, who)))

    async def change(self, schedule: str, change: ScheduleChange, who: Identity) -> Schedule:
        """Pause a schedule, go on with it, or change how often it is due."""

        def put(records: Records) -> Schedule:
            row = _row(records, schedule, who)
            every_s = seconds_of(change.every) if change.every else row["every_s"]
            next_at = datetime.fromisoformat(row["next_at"]) + timedelta(seconds=every_s - row["every_s"])
            is_paused = row["is_paused"] if change.is_paused is None else change.is_paused
            return _changed(records, row, who, every_s=every_s, is_paused=is_paused, next_at=next_at.isoformat())

        return await self._database.work(put)

    async def run_now(self, schedule: str, who: Identity) -> Schedule:
        """Have a schedule due now; whoever serves carries it out."""

        def put(records: Records) -> Schedule:
            row = _row(records, schedule, who)
            if row["is_paused"]:
                raise UsageError().with_message("fault.schedule_paused")
            return _changed(records, row, who, next_at=datetime.now(UTC).isoformat())

        return await self._database.work(put)

    async def remove(self, schedule: str, who: Identity) -> None:
        """Delete a schedule; its runs stay."""
        await self._database.work(lambda records: records.run("drop_schedule", id=_row(records, schedule, who)["id"]))


def _row(records: Records, schedule: str, who: Identity) -> Row:
    rows = [dict(row) for row in records.all("list_schedules", user=who.user) if row["id"].startswith(schedule)]
    if len(rows) != 1 or not schedule:
        raise NotFound().with_message("fault.unknown_schedule", schedule=schedule)
    return rows[0]


def _changed(records: Records, row: Row, who: Identity, **changes: Column) -> Schedule:
    own = {name: row[name] for name in ("id", "every_s", "is_paused", "next_at")}
    records.run("change_schedule", **own | changes)
    return _with_deliveries(records, _row(records, row["id"], who))


def _with_deliveries(records: Records, row: Row) -> Schedule:
    rows = records.all("notifications_of", schedule=row["id"])
    return _schedule(row, [value_of(Delivery, each, kind=_kind_of(each["body"])) for each in rows])


def _kind_of(body: str) -> str:
    data = json_of(body)
    return str(data.get("kind", "")) if isinstance(data, dict) else ""


def _schedule(row: Row, deliveries: Sequence[Delivery]) -> Schedule:
    research: Any = json_of(row["request"])
    own = {"question": research["question"], "every": every_of(row["every_s"]), "research": research}
    return value_of(Schedule, row, **own, deliveries=deliveries)
