"""Commands that read or change the history of runs, without the machinery that drives them."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import typer

from deep_research import runs
from deep_research.cli.printing import show, show_json, show_report, tell, write_report
from deep_research.errors import UsageError
from deep_research.events import RunEvent
from deep_research.pipeline.result import Result
from deep_research.settings import Settings
from deep_research.store.port import JournalRow, RunRow, Store
from deep_research.value import JsonObject
from deep_research.wiring.models import unpriced_in

_QUESTION_WIDTH = 60
T = TypeVar("T")


def print_runs(*, limit: int, status: str | None, as_json: bool) -> None:
    """Print the newest runs."""
    # What is no status is refused below.
    rows = asyncio.run(runs.list_runs(limit=limit + 1, status=status))  # type: ignore[arg-type]
    rows, is_cut = rows[:limit], len(rows) > limit
    if as_json:
        show_json(runs=[_summary(row) for row in rows])
        return
    if not rows:
        tell("There are no runs yet.")
    for row in rows:
        question = " ".join(row.request.question.split())
        shown = question if len(question) <= _QUESTION_WIDTH else question[: _QUESTION_WIDTH - 1] + "…"
        link = f"  ← {row.request.follow[:8]}" if row.request.follow else ""
        show(f"{row.id[:8]}  {row.created_at:%Y-%m-%d %H:%M}  {row.status:<11}  {shown}{link}")
    if is_cut:
        tell(f"These are the newest {limit}; there are more: --limit {2 * limit}")


def print_run(run: str, *, as_json: bool) -> None:
    """Print where a run stands."""
    from deep_research.cli.run_page import page_of
    from deep_research.pipeline.folder import with_files
    from deep_research.pipeline.journal import spent_so_far
    from deep_research.pipeline.workflow import workflow_state

    async def look(store: Store, settings: Settings) -> tuple[RunRow, list[RunEvent], list[JournalRow], Settings]:
        row = await with_files(await store.get_run(run), store, settings.logs)
        return row, await store.read_events(row.id), await store.list_calls(row.id), settings

    row, events, calls, settings = with_store(look)
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


def print_statistics(run: str, *, as_json: bool) -> None:
    """Print where a run's time and calls went, as far as it has come."""
    from deep_research.cli.run_stats import stats_page
    from deep_research.pipeline.statistics import statistics_for

    async def look(store: Store, settings: Settings) -> tuple[RunRow, JsonObject, Sequence[str]]:
        row = await store.get_run(run)
        unpriced = unpriced_in(row, await store.list_calls(row.id), settings)
        return row, await statistics_for(row, store=store), unpriced

    row, figures, unpriced = with_store(look)
    if as_json:
        show_json(run=_summary(row), statistics=figures, unpriced_models=list(unpriced))
    else:
        show(stats_page(row, figures, unpriced))


def print_report(run: str, *, as_json: bool, file: Path | None) -> None:
    """Print the report of a run that is done, or write it to a file."""
    result = asyncio.run(runs.read_report(run))
    if as_json:
        show_json(**shown_result(result))
    elif file is None:
        show_report(result.final_report, run_folder=result.folder)
    if file is not None:
        write_report(file, result.final_report, run_folder=result.folder)


def shown_result(result: Result) -> dict[str, object]:
    """Return a result as it is printed for programs."""
    return {
        "title": result.title,
        "finalReport": result.final_report,
        "learnings": list(result.learnings),
        "sources": list(result.sources),
        "images": [image.to_json() for image in result.images],
        "isVerified": result.is_verified,
        "isSearched": result.is_searched,
    }


def print_plan(run: str) -> None:
    """Print the plan that waits for approval, or the one that is followed, as text to edit."""
    from deep_research.pipeline.control import words_of
    from deep_research.pipeline.plan_text import plan_as_text, plan_of

    async def look(store: Store, _: Settings) -> tuple[RunRow, list[RunEvent]]:
        row = await store.get_run(run)
        return row, await store.read_events(row.id)

    row, events = with_store(look)
    plan = plan_of(row, events)
    if plan is None:
        raise UsageError(f"Run {row.id} has no plan yet; it is {row.status}.")
    show(plan_as_text(plan, head=words_of(row)("plan.file_head", run=row.id[:8])), end="")


def cancel_run(run: str) -> None:
    """Cancel a run, or ask its owner to stop."""
    row = asyncio.run(runs.cancel_run(run))
    if row.status == "cancelled":
        tell(f"Run {row.id} was cancelled; everything finished so far is kept.")
    elif row.cancel_requested:
        tell(f"Run {row.id} was asked to stop; its process does so within seconds.")
    else:
        tell(f"Run {row.id} is {row.status}; there is nothing to cancel.")


def delete_run(run: str, *, is_confirmed: bool, keep_files: bool) -> None:
    """Delete a run and, unless `keep_files`, its folder."""
    row = with_store(lambda store, _: store.get_run(run))
    if not is_confirmed:
        if not sys.stdin.isatty():
            raise UsageError(f"Deleting run {row.id} cannot be undone: say --yes.")
        typer.confirm(f"Delete run {row.id} and {row.folder}?", abort=True, err=True)

    asyncio.run(runs.delete_run(row.id, keep_files=keep_files))
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


def with_store(work: Callable[[Store, Settings], Awaitable[T]]) -> T:
    """Do work on the store of the current settings, and close it."""
    return asyncio.run(runs.with_store(work))
