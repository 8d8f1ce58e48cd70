"""`queue …`: what the operator of servers and workers sees of runs that wait, and may do about them."""

from typing import Annotated

import typer
from typer import Argument, Option

from deep_research.cli.options import Json
from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import WrongState
from deep_research.service.accounts.identity import Identity
from deep_research.service.runs.run_queue import read_figures
from deep_research.settings import load_settings
from deep_research.wiring.stores import opened_store

queue = typer.Typer()


@queue.command("status")
async def show_status(as_json: Json = False) -> None:
    """Show how many runs wait and are worked on, and for how long."""
    async with opened_store() as (store, settings):
        figures = await read_figures(store, lease_s=settings.lease_s)
    if as_json:
        show_json(queue=figures.to_json())
        return
    show(f"waiting    {figures.waiting}, the first for {figures.oldest_waiting_s:.0f} s")
    show(f"running    {figures.running}, the last sign of life {figures.oldest_lease_s:.0f} s ago or less")
    for worker, runs in figures.workers.items():
        show(f"           {runs} by {worker}")
    show(f"takeovers  {figures.takeovers}")
    if figures.is_draining:
        tell("Nothing new is taken up: deep-research queue drain --off")


@queue.command()
async def drain(off: Annotated[bool, Option("--off", help="Let them take up runs again.")] = False) -> None:
    """Have all servers and workers take up nothing new; runs under way go on, new ones wait."""
    async with opened_store() as (store, _):
        await store.set_draining(not off)
    tell("Runs are taken up again." if off else "Nothing new is taken up from now on; runs under way go on.")


@queue.command()
async def retry(
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Ids of runs, or their first characters.")],
) -> None:
    """Have runs of a server that failed or were given up tried again."""
    from deep_research.service.service import ResearchService

    service = ResearchService(load_settings(), at_once=0)
    try:
        for name in runs:
            row = await service.store.get_run(name)
            if not row.user:
                raise WrongState(f"Run {row.id} is none of a server: deep-research runs retry {row.id}")
            await service.resume(row.id, Identity(user=row.user), retry=True)
            show(row.id)
    finally:
        await service.close()
