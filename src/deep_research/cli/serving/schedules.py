"""`schedule …`: questions that are researched again and again. A running `deep-research serve` carries them out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated

import typer
from pydantic import ValidationError
from typer import Argument, Option

from deep_research.cli.options import Json
from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import UsageError
from deep_research.service.accounts.identity import LOCAL
from deep_research.service.database import open_server_database
from deep_research.service.schedules.schedules import NewSchedule, Schedule, ScheduleChange, Schedules
from deep_research.settings import load_settings

ScheduleId = Annotated[str, Argument(metavar="SCHEDULE", help="Id of the schedule, or its first characters.")]
_BY_WHOM = "A running `deep-research serve` carries it out."
schedule = typer.Typer()


@schedule.command()
async def add(
    question: Annotated[str, Argument(metavar="QUESTION", help="What you want to know.")],
    every: Annotated[str, Option(metavar="TIME", help="How often: 12h, 7d, 2w.")],
    mode: Annotated[str, Option(metavar="MODE", help="update: the last report; ask: anew.")] = "update",
    notify: Annotated[str, Option(metavar="WHEN", help="changes: where claims changed; always.")] = "changes",
    webhook: Annotated[str, Option(metavar="URL", help="Web address that is told.")] = "",
    email: Annotated[str, Option(metavar="ADDRESS", help="Mail address that is told.")] = "",
    depth: Annotated[str | None, Option(metavar="DEPTH", help="quick, standard or deep.")] = None,
    language: Annotated[str | None, Option(metavar="LANGUAGE", help="Language of the report.")] = None,
    documents: Annotated[str | None, Option(metavar="ID", help="Collection of a server to search.")] = None,
    as_json: Json = False,
) -> None:
    """Have a question researched now and then again and again, by a running `deep-research serve`."""
    options = {name: value for name, value in locals().items() if name != "as_json" and value is not None}
    try:
        new = NewSchedule.model_validate(options)
    except ValidationError as exc:
        problem = exc.errors(include_input=False, include_url=False)[0]
        fits = problem["msg"].removeprefix("Value error, ")
        raise UsageError(f"The value of {problem['loc'][0]} does not fit: {fits[0].lower()}{fits[1:]}.") from None
    async with _opened() as schedules:
        made = await schedules.add(new, LOCAL)
    if as_json:
        show_json(schedule=made.to_json())
        return
    show(made.id)
    tell(f"It is due now, and then every {made.every}. {_BY_WHOM}")


@schedule.command("list")
async def list_schedules(as_json: Json = False) -> None:
    """List schedules, the newest first."""
    async with _opened() as opened:
        schedules = await opened.list(LOCAL)
    if as_json:
        show_json(schedules=[each.to_json() for each in schedules])
        return
    if not schedules:
        tell('There is no schedule yet: deep-research schedule add "QUESTION" --every 7d')
    for each in schedules:
        show(f"{each.id[:8]}  every {each.every:<5} {_next(each):<26} {each.question}")
        if each.note:
            show(f"          {each.note}")


@schedule.command("show")
async def show_schedule(id_: ScheduleId, as_json: Json = False) -> None:
    """Show a schedule and its last notifications."""
    async with _opened() as schedules:
        each = await schedules.get(id_, LOCAL)
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


@schedule.command()
async def pause(id_: ScheduleId) -> None:
    """Let a schedule rest."""
    async with _opened() as schedules:
        each = await schedules.change(id_, ScheduleChange(is_paused=True), LOCAL)
    tell(f"Schedule {each.id[:8]} rests.")


@schedule.command()
async def resume(id_: ScheduleId) -> None:
    """Let a schedule go on."""
    async with _opened() as schedules:
        each = await schedules.change(id_, ScheduleChange(is_paused=False), LOCAL)
    tell(f"Schedule {each.id[:8]}: {_next(each)}. {_BY_WHOM}")


@schedule.command()
async def remove(id_: ScheduleId) -> None:
    """Delete a schedule; its runs stay."""
    async with _opened() as schedules:
        await schedules.remove(id_, LOCAL)
    tell("The schedule is removed; its runs stay.")


@schedule.command()
async def run_now(id_: ScheduleId) -> None:
    """Have a schedule due now."""
    async with _opened() as schedules:
        each = await schedules.run_now(id_, LOCAL)
    tell(f"Schedule {each.id[:8]} is due now. {_BY_WHOM}")


@asynccontextmanager
async def _opened() -> AsyncIterator[Schedules]:
    settings = load_settings()
    database = open_server_database(settings)
    try:
        yield Schedules(settings, database)
    finally:
        await database.close()


def _next(schedule: Schedule) -> str:
    return "paused" if schedule.is_paused else f"next {_at(schedule.next_at)}"


def _at(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else ""
