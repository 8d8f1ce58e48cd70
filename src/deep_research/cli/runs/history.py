"""`runs …`: the history of runs, read and changed without the machinery that drives them, which some go on with."""

import asyncio
import sys
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from deep_research.cli.options import Events, Json, Quiet, RunId, Verbose
from deep_research.cli.printing import show, show_json, show_report, tell, write_report
from deep_research.errors import UsageError
from deep_research.service.runs.runs import cancel_run, delete_run, list_runs, read_report
from deep_research.storage.store.port import RunRow
from deep_research.text.shortening import shortened
from deep_research.wiring.models import unpriced_in
from deep_research.wiring.stores import opened_store, read_run

_QUESTION_WIDTH = 60
runs = typer.Typer()


@runs.command("list")
async def print_runs(
    limit: Annotated[int, Option(min=1, help="Most runs to show.")] = 20,
    status: Annotated[str | None, Option(help="Only runs with this status.")] = None,
    as_json: Json = False,
) -> None:
    """List the newest runs."""
    # What is no status is refused below.
    rows = await list_runs(limit=limit + 1, status=status)  # type: ignore[arg-type]
    rows, is_cut = rows[:limit], len(rows) > limit
    if as_json:
        show_json(runs=[_summary(row) for row in rows])
        return
    if not rows:
        tell("There are no runs yet.")
    for row in rows:
        shown = shortened(row.request.question, _QUESTION_WIDTH)
        link = f"  ← {row.request.follow[:8]}" if row.request.follow else ""
        show(f"{row.short_id}  {row.created_at:%Y-%m-%d %H:%M}  {row.status:<11}  {shown}{link}")
    if is_cut:
        tell(f"These are the newest {limit}; there are more: --limit {2 * limit}")


@runs.command("show")
async def print_run(
    run: RunId,
    stats: Annotated[bool, Option("--stats", help="Show where its time and its calls went.")] = False,
    as_json: Json = False,
) -> None:
    """Show one run: where it stands, what it cost, what it lost."""
    if stats:
        await _print_statistics(run, as_json=as_json)
        return
    from deep_research.cli.runs.run_page import page_of
    from deep_research.pipeline.folder import with_files
    from deep_research.pipeline.journal import spent_so_far
    from deep_research.pipeline.workflow import workflow_state

    async with opened_store() as (store, settings):
        row = await with_files(await store.get_run(run), store, settings.logs)
        events, calls = await store.read_events(row.id), await store.list_calls(row.id)
    spent = spent_so_far(calls)
    unpriced = unpriced_in(row, calls, settings)
    if not as_json:
        show(page_of(row, events, spent, unpriced))
        return
    shown = {
        **_summary(row),
        "pending": row.pending,
        "error": row.error,
        "active_s": round(row.active_s, 1),
        "spent": spent.to_json(),
        "unpriced_models": list(unpriced),
        "calls": dict(sorted(Counter(f"{call.kind} {call.state}" for call in calls).items())),
        "events": len(events),
        "workflow": dict(workflow_state(events)),
    }
    show_json(run=shown)


async def _print_statistics(run: str, *, as_json: bool) -> None:
    from deep_research.cli.runs.run_page import stats_page
    from deep_research.pipeline.statistics import statistics_for

    async with opened_store() as (store, settings):
        row = await store.get_run(run)
        unpriced = unpriced_in(row, await store.list_calls(row.id), settings)
        figures = await statistics_for(row, store=store)
    if as_json:
        show_json(run=_summary(row), statistics=figures, unpriced_models=list(unpriced))
    else:
        show(stats_page(row, figures, unpriced))


@runs.command("report")
async def print_report(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the report to a file instead.")] = None,
    as_json: Json = False,
) -> None:
    """Print the report of a run that is done."""
    result = await read_report(run)
    if as_json:
        show_json(**result.for_programs())
    elif output is None:
        show_report(result.final_report, run_folder=result.folder)
    if output is not None:
        write_report(output, result.final_report, run_folder=result.folder)


@runs.command()
async def resume(
    run: RunId, as_json: Json = False, events: Events = None, quiet: Quiet = False, verbose: Verbose = False
) -> int:
    """Go on with a run from where it stood; nothing that was paid for is done again."""
    from deep_research.cli.runs.research import output_of, resume_run

    return await resume_run(run, output=output_of(as_json, events, quiet, verbose))


@runs.command()
async def retry(
    run: RunId, as_json: Json = False, events: Events = None, quiet: Quiet = False, verbose: Verbose = False
) -> int:
    """Do the failed steps of a run again; what succeeded is kept."""
    from deep_research.cli.runs.research import output_of, resume_run

    return await resume_run(run, retry=True, output=output_of(as_json, events, quiet, verbose))


@runs.command()
async def answer(
    run: RunId,
    text: Annotated[list[str], Argument(help="The answer.")],
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Answer a waiting run and go on with it; "focus: costs; noise" changes what it looks at, also while it works.

    While it works, "strike: PEP 517" and "add: PEP 660; PEP 751" change what it looks for, and "enough" has it written.
    """
    from deep_research.cli.runs.research import answer_run, output_of

    return await answer_run(run, " ".join(text), output=output_of(as_json, events, quiet, verbose))


@runs.command()
def plan(
    run: RunId,
    file: Annotated[
        str | None, Option(metavar="FILE", help="Submit this edited plan and go on; - reads standard input.")
    ] = None,
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Coroutine[Any, Any, int | None]:
    """Print the plan of a run as YAML, or submit an edited one for which it waits."""
    if file is None:
        return _print_plan(run)
    from deep_research.cli.runs.research import output_of, read_text, submit_plan

    # Read here, as Ctrl-C would not end a reading in a loop.
    text = read_text(file)
    return submit_plan(run, file, text, output=output_of(as_json, events, quiet, verbose))


async def _print_plan(run: str) -> None:
    """Print the plan that waits for approval, or the one that is followed, as text to edit."""
    from deep_research.pipeline.control import words_of
    from deep_research.pipeline.plan_text import plan_as_text, plan_of

    async with opened_store() as (store, _):
        row = await store.get_run(run)
        plan = plan_of(row, await store.read_events(row.id))
    if plan is None:
        raise UsageError(f"Run {row.id} has no plan yet; it is {row.status}.")
    show(plan_as_text(plan, head=words_of(row)("plan.file_head", run=row.short_id)), end="")


@runs.command()
async def cancel(run: RunId) -> None:
    """Cancel a run; everything finished so far is kept."""
    row = await cancel_run(run)
    if row.status == "cancelled":
        tell(f"Run {row.id} was cancelled; everything finished so far is kept.")
    elif row.cancel_requested:
        tell(f"Run {row.id} was asked to stop; its process does so within seconds.")
    else:
        tell(f"Run {row.id} is {row.status}; there is nothing to cancel.")


@runs.command()
def delete(
    run: RunId,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    keep_files: Annotated[bool, Option("--keep-files", help="Leave the run folder alone.")] = False,
) -> None:
    """Delete a run, its journal, events and folder."""
    row = asyncio.run(read_run(run))
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"Deleting run {row.id} cannot be undone: say --yes.")
        typer.confirm(f"Delete run {row.id} and {row.folder}?", abort=True, err=True)

    asyncio.run(delete_run(row.id, keep_files=keep_files))
    tell(f"Run {row.id} was deleted.")


def _summary(row: RunRow) -> dict[str, object]:
    return {
        "id": row.id,
        "status": row.status,
        "question": row.request.question,
        "follows": row.request.follow,
        "created_at": row.created_at.isoformat(),
        "folder": row.folder,
        "wiring": row.wiring,
        "attempt": row.attempt,
        "epoch": row.epoch,
    }
