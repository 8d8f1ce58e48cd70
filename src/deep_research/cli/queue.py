"""`queue …`: what the operator of servers and workers sees of runs that wait, and may do about them."""

import asyncio

from deep_research.cli.printing import show, show_json, tell
from deep_research.errors import WrongState
from deep_research.runs import with_store
from deep_research.service.identity import Identity
from deep_research.service.run_queue import QueueFigures, read_figures
from deep_research.settings import Settings, load_settings
from deep_research.store.port import Store


def print_status(*, as_json: bool) -> None:
    """Print how the queue stands."""

    async def read(store: Store, settings: Settings) -> QueueFigures:
        return await read_figures(store, lease_s=settings.lease_s)

    figures = asyncio.run(with_store(read))
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


def set_draining(is_on: bool) -> None:
    """Tell all workers whether to take up runs."""
    asyncio.run(with_store(lambda store, _: store.set_draining(is_on)))
    tell("Nothing new is taken up from now on; runs under way go on." if is_on else "Runs are taken up again.")


def retry_runs(runs: list[str]) -> None:
    """Have runs tried again by whoever has room."""
    asyncio.run(_retry(runs))


async def _retry(runs: list[str]) -> None:
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
