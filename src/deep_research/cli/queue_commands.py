"""The commands of `queue` and their options; what they do is imported when they run."""

from typing import Annotated

import typer
from typer import Argument, Option

queue = typer.Typer(help="Runs that wait for a worker: status, drain, retry.", no_args_is_help=True)
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]


@queue.command("status")
def show_status(as_json: Json = False) -> None:
    """Show how many runs wait and are worked on, and for how long."""
    from deep_research.cli.queue import print_status

    print_status(as_json=as_json)


@queue.command("drain")
def drain(
    off: Annotated[bool, Option("--off", help="Let them take up runs again.")] = False,
) -> None:
    """Have all servers and workers take up nothing new; runs under way go on, new ones wait."""
    from deep_research.cli.queue import set_draining

    set_draining(not off)


@queue.command("retry")
def retry(
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Ids of runs, or their first characters.")],
) -> None:
    """Have runs of a server that failed or were given up tried again."""
    from deep_research.cli.queue import retry_runs

    retry_runs(runs)
