"""Runs that were made: list them, read one or its report, check it again, cancel or delete it.

Loads nothing that drives a run.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from deep_research.errors import StoreCorrupt, UsageError
from deep_research.events import RUN_STATUSES, RunStatus
from deep_research.export.contents import Contents
from deep_research.pipeline.clock import SystemClock
from deep_research.pipeline.control import cancel_run as cancel
from deep_research.pipeline.folder import folder_of, report_copy_of, with_files
from deep_research.pipeline.result import Result, contents_of, result_of, stored_result
from deep_research.settings import Settings, load_settings
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import RunRow
from deep_research.storage.store.store import Store
from deep_research.text.in_thread import in_thread
from deep_research.verify.recheck import Recheck, check_again
from deep_research.verify.shipped import read_listing
from deep_research.wiring.stores import opened_store


async def list_runs(
    *, limit: int = 20, status: RunStatus | None = None, settings: Settings | None = None
) -> list[RunRow]:
    """Return the newest runs first; with a status, only those that have it."""
    if status is not None and status not in RUN_STATUSES:
        raise UsageError(f"There is no status {status!r}; choose from {', '.join(RUN_STATUSES)}.")
    async with opened_store(settings) as (store, _):
        return await store.list_runs(limit=limit, status=status)


async def read_report(run: str, *, settings: Settings | None = None) -> Result:
    """Return the report of a run that is done, with its sources and findings."""
    async with opened_store(settings) as (store, settings):
        return await result_of(await with_files(await store.get_run(run), store, settings.logs), store)


async def read_contents(run: str, *, with_sources: bool = False, settings: Settings | None = None) -> Contents:
    """Return the report of a run that is done in parts, for an export."""
    async with opened_store(settings) as (store, settings):
        row = await with_files(await store.get_run(run), store, settings.logs)
        return await contents_of(row, store, with_sources=with_sources)


async def recheck_run(run: str, *, settings: Settings | None = None) -> Recheck:
    """Check a finished report again: its files, against each other and against what the store keeps."""
    async with opened_store(settings) as (store, settings):
        row = await with_files(await store.get_run(run), store, settings.logs)
        result, folder = stored_result(row), Path(row.folder)
        recheck = await _recheck(folder / "report.md", store)
        # A run of an earlier version kept no edition.
        files = {"report.md": result["report"], "edition.json": result.get("edition")}
        stored = {name: await store.get_blob(str(id_)) for name, id_ in files.items() if id_}
        changed = [f"{name} is not as the run wrote it" for name, raw in stored.items() if _bytes(folder / name) != raw]
        return recheck.replace(problems=(*changed, *recheck.problems))


async def recheck_file(report: Path) -> Recheck:
    """Check a report file by the files beside it, and by the texts of its sources where the store has them."""
    settings = load_settings()
    if not report.with_name("paragraphs.jsonl").is_file():
        raise UsageError(
            f"There are no files beside {report.name} that say what it rests on: name the report.md in its run's "
            f"folder, or check any report against sources with: deep-research audit {report} --sources FOLDER"
        )
    if settings.database_url is None and not settings.store_path.is_file():
        return await _recheck(report, None)
    async with opened_store(settings) as (store, _):
        return await _recheck(report, store)


async def _recheck(report: Path, store: Store | None) -> Recheck:
    texts = {}
    evidence = read_listing(report.with_name("paragraphs.jsonl")).evidence
    if store is not None:
        for document in {piece.document for piece in evidence.values()}:
            with suppress(StoreCorrupt):
                texts[document] = (await store.get_document(document)).text
    return await in_thread(check_again, report, texts.__getitem__)


def _bytes(path: Path) -> bytes | None:
    with suppress(OSError):
        return path.read_bytes()
    return None


async def cancel_run(run: str, *, settings: Settings | None = None) -> RunRow:
    """Cancel a run, or ask the process that works on it to stop; everything finished so far is kept."""
    async with opened_store(settings) as (store, settings):
        row = await store.get_run(run)
        return await cancel(store, row, clock=SystemClock(), lease_s=settings.lease_s)


async def delete_run(run: str, *, keep_files: bool = False, settings: Settings | None = None) -> None:
    """Delete a run and, unless `keep_files`, its folder and the copy of its report; this cannot be undone."""
    async with opened_store(settings) as (store, settings):
        row = await store.get_run(run)
        await store.delete_run(row.id, current_owner())
    if not keep_files:
        # It lies elsewhere where another host finished the run.
        for folder in {Path(row.folder), folder_of(settings.logs, row.id, row.created_at)}:
            shutil.rmtree(folder, ignore_errors=True)
            report_copy_of(folder).unlink(missing_ok=True)
