"""`schedule …`: questions that are researched again and again. A running `deep-research serve` carries them out."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import ValidationError

from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import UsageError
from deep_research.service.database import open_server_database
from deep_research.service.identity import LOCAL
from deep_research.service.schedules import NewSchedule, Schedule, ScheduleChange, Schedules
from deep_research.settings import load_settings

T = TypeVar("T")
_BY_WHOM = "A running `deep-research serve` carries it out."


def add(given: Mapping[str, object], *, as_json: bool) -> None:
    """Make a schedule."""
    try:
        new = NewSchedule.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as exc:
        problem = exc.errors(include_input=False, include_url=False)[0]
        fits = problem["msg"].removeprefix("Value error, ")
        raise UsageError(f"The value of {problem['loc'][0]} does not fit: {fits[0].lower()}{fits[1:]}.") from None
    made = _with(lambda schedules: schedules.add(new, LOCAL))
    if as_json:
        show_json(schedule=made.to_json())
        return
    show(made.id)
    tell(f"It is due now, and then every {made.every}. {_BY_WHOM}")


def print_list(*, as_json: bool) -> None:
    """Print all schedules."""
    schedules = _with(lambda schedules: schedules.list(LOCAL))
    if as_json:
        show_json(schedules=[each.to_json() for each in schedules])
        return
    if not schedules:
        tell('There is no schedule yet: deep-research schedule add "QUESTION" --every 7d')
    for each in schedules:
        show(f"{each.id[:8]}  every {each.every:<5} {_next(each):<26} {each.question}")
        if each.note:
            show(f"          {each.note}")


def print_one(schedule: str, *, as_json: bool) -> None:
    """Print a schedule and whom it has told."""
    each = _with(lambda schedules: schedules.get(schedule, LOCAL))
    if as_json:
        show_json(schedule=each.to_json())
        return
    facts = (
        ("id", each.id),
        ("question", each.question),
        ("every", f"{each.every}, {each.mode}"),
        ("next", _next(each)),
        ("last run", each.last_run),
        ("last done", each.done_run),
        ("note", each.note),
        ("tells", " ".join(filter(None, (each.webhook, each.email))) or "nobody"),
        ("when", each.notify),
    )
    for name, value in facts:
        if value:
            show(f"{name:<10} {value}")
    for delivery in each.deliveries:
        state = f"sent {_at(delivery.sent_at)}" if delivery.sent_at else delivery.error or "to be sent"
        again = f", again {_at(delivery.next_at)}" if delivery.error and delivery.next_at else ""
        show(f"{'told':<10} {delivery.kind} to {delivery.target}: {state}{again}")


def pause(schedule: str, *, is_paused: bool) -> None:
    """Let a schedule rest, or go on."""
    each = _with(lambda schedules: schedules.change(schedule, ScheduleChange(is_paused=is_paused), LOCAL))
    tell(f"Schedule {each.id[:8]} rests." if is_paused else f"Schedule {each.id[:8]}: {_next(each)}. {_BY_WHOM}")


def remove(schedule: str) -> None:
    """Delete a schedule."""
    _with(lambda schedules: schedules.remove(schedule, LOCAL))
    tell("The schedule is removed; its runs stay.")


def run_now(schedule: str) -> None:
    """Have a schedule due now."""
    each = _with(lambda schedules: schedules.run_now(schedule, LOCAL))
    tell(f"Schedule {each.id[:8]} is due now. {_BY_WHOM}")


def _with(work: Callable[[Schedules], Awaitable[T]]) -> T:
    async def do() -> T:
        settings = load_settings()
        database = open_server_database(settings)
        try:
            return await work(Schedules(settings, database))
        finally:
            await database.close()

    return asyncio.run(do())


def _next(schedule: Schedule) -> str:
    return "paused" if schedule.is_paused else f"next {_at(schedule.next_at)}"


def _at(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else ""
