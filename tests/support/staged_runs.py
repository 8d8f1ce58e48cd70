"""Runs that nobody made: as they stand in the store after events that a test chooses."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from deep_research.events import RunStatus
from deep_research.request import Budget, ResearchRequest
from deep_research.settings import Settings
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import NewEvent, RunRow
from deep_research.storage.store.store import Store
from deep_research.value import JsonObject

Told = tuple[str, dict[str, Any]]


def stage_run(
    settings: Settings,
    question: str,
    told: Sequence[Told] = (),
    *,
    status: RunStatus = "failed",
    pending: dict[str, Any] | None = None,
    error: str = "",
    budget: Budget | None = None,
) -> str:
    """Put a run into the store that ended, or waits, after these events; return its id.

    This may be called where a loop is running already, as it does beside a browser.
    """
    request = ResearchRequest(question=question, budget=budget or Budget())
    staging = _stage(settings, request, told, status, pending, error)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, staging).result()


async def _stage(
    settings: Settings,
    request: ResearchRequest,
    told: Sequence[Told],
    status: RunStatus,
    pending: dict[str, Any] | None,
    error: str,
) -> str:
    store, at = Store(SqliteFile(settings.store_path)), datetime.now(UTC)
    run = RunRow(
        id=uuid4().hex,
        created_at=at,
        updated_at=at,
        status="created",
        request=request,
        wiring=settings.wiring,
        folder=str(settings.home / "staged"),
        code_version="1",
        user="local",
    )
    try:
        await store.create_run(run)
        lease = await store.lease(run.id, current_owner(), lease_s=30)
        events = [
            NewEvent(at=at, kind=kind, key=f"{kind}:{number}:0", data=data) for number, (kind, data) in enumerate(told)
        ]
        await store.append_events(lease, events)
        ended = NewEvent(at=at, kind="run-status", key=f"run-status:{run.id}", data={"status": status})
        problem: JsonObject | None = {"category": "NETWORK", "detail": error} if error else None
        await store.finish(lease, status, event=ended, pending=pending, error=problem)
    finally:
        await store.close()
    return run.id


def research_events(sections: Sequence[str], sources: Sequence[str], queries: Sequence[str]) -> list[Told]:
    """Return what a run tells that researched these sections: queries, sources with titles, coverage, problems."""
    first = sections[0]
    plan = [{"title": title, "description": title, "search_queries": []} for title in sections]
    told: list[Told] = [
        ("progress", {"step": "intake", "status": "started"}),
        ("progress", {"step": "intake", "status": "done"}),
        ("progress", {"step": "plan", "status": "done"}),
        ("report-plan", {"title": first, "goal": first, "sections": plan}),
        ("progress", {"step": "harvest", "status": "started"}),
        ("serp-query", {"section": first, "round": 1, "queries": [{"query": query} for query in queries]}),
    ]
    for number, query in enumerate(queries):
        if number % 5 == 4:
            told.append(("search-task", _task(first, query) | {"status": "failed", "error": query}))
        elif number % 5:
            told.append(("search-task", _task(first, query)))
    for number, title in enumerate(sources):
        # No address that was read holds half a character.
        address = f"https://example.org/{number}/{title[:80].encode('utf-8', 'replace').decode()}"
        source = {"document": f"{number:064x}", "address": address, "title": title}
        told.append(("source", source | {"evidence": number % 7, "section": sections[number % len(sections)]}))
    for number, title in enumerate(sections):
        told.append(("section-coverage", _coverage(title, (number % 11) / 10)))
    told += [("error", {"message": title, "step": "fetch"}) for title in sections[:20]]
    left_out = {"kind": "queries", "limit": 8.0, "spent": 8.0, "left_out": sections[-1]}
    return [*told, ("budget", left_out)]


def _task(section: str, query: str) -> dict[str, Any]:
    return {"section": section, "query": query, "status": "done", "hits": 10, "learning": query}


def _coverage(title: str, share: float) -> dict[str, Any]:
    return {
        "section": title,
        "round": 1,
        "coverage": share,
        "score": round(10 * share),
        "dimensions": {},
        "is_sufficient": share > 0.7,
        "gaps": [title],
        "next_queries": [],
        "reason": title,
        "stop": "sufficient" if share > 0.7 else "iterations",
    }
