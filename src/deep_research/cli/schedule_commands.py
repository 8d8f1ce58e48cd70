"""The commands of `schedule` and their options; what they do is imported when they run."""

from typing import Annotated

import typer
from typer import Argument, Option

schedule = typer.Typer(
    help="Questions that are researched again and again: add, list, show, pause, resume, remove, run-now.",
    no_args_is_help=True,
)
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
ScheduleId = Annotated[str, Argument(metavar="SCHEDULE", help="Id of the schedule, or its first characters.")]


@schedule.command("add")
def add_schedule(
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
    from deep_research.cli.schedules import add

    given = {"question": question, "every": every, "mode": mode, "notify": notify, "webhook": webhook, "email": email}
    add(given | {"depth": depth, "language": language, "documents": documents}, as_json=as_json)


@schedule.command("list")
def list_schedules(as_json: Json = False) -> None:
    """List schedules, the newest first."""
    from deep_research.cli.schedules import print_list

    print_list(as_json=as_json)


@schedule.command("show")
def show_schedule(id_: ScheduleId, as_json: Json = False) -> None:
    """Show a schedule and its last notifications."""
    from deep_research.cli.schedules import print_one

    print_one(id_, as_json=as_json)


@schedule.command("pause")
def pause_schedule(id_: ScheduleId) -> None:
    """Let a schedule rest."""
    from deep_research.cli.schedules import pause

    pause(id_, is_paused=True)


@schedule.command("resume")
def resume_schedule(id_: ScheduleId) -> None:
    """Let a schedule go on."""
    from deep_research.cli.schedules import pause

    pause(id_, is_paused=False)


@schedule.command("remove")
def remove_schedule(id_: ScheduleId) -> None:
    """Delete a schedule; its runs stay."""
    from deep_research.cli.schedules import remove

    remove(id_)


@schedule.command("run-now")
def run_schedule_now(id_: ScheduleId) -> None:
    """Have a schedule due now."""
    from deep_research.cli.schedules import run_now

    run_now(id_)
