"""Every run of the account: found again, tagged, deleted."""

from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from deep_research.errors import UnknownRun
from deep_research.events import RUN_STATUSES
from deep_research.server.cursor import cursor_after, last_seen
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.views import render
from deep_research.service.accounts.identity import Identity
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunChoice, RunRow

router = APIRouter(include_in_schema=False)
_A_PAGE = 30


class PreviousRun(NamedTuple):
    """The run that another goes back to; without a question it was deleted."""

    kind: str
    run: str
    question: str


@router.get("/runs")
async def show_history(
    request: Request,
    service: Service,
    who: Who,
    q: Annotated[str, Query(max_length=200)] = "",
    status: Annotated[str, Query(max_length=20)] = "",
    tag: Annotated[str, Query(max_length=100)] = "",
    before: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show runs, the newest first."""
    wanted = next((each for each in RUN_STATUSES if each == status), None)
    choice = RunChoice(text=q.strip(), tag=tag, before=last_seen(before))
    rows = await service.list(who, limit=_A_PAGE + 1, status=wanted, choice=choice)
    shown, rest = rows[:_A_PAGE], rows[_A_PAGE:]
    filters = {"q": q.strip(), "status": wanted or "", "tag": tag}
    is_partial = bool(rest or before or any(filters.values()))
    return render(
        request,
        "history.html",
        rows=shown,
        origins=await _previous_runs(shown, service, who),
        filters=filters,
        statuses=RUN_STATUSES,
        is_partial=is_partial,
        is_first=not before,
        first=_address(filters),
        older=_address(filters, before=cursor_after(shown[-1])) if rest else "",
        without_tag=_address(filters | {"tag": ""}),
    )


def _address(filters: dict[str, str], **more: str) -> str:
    chosen = {name: value for name, value in (filters | more).items() if value}
    return f"/runs?{urlencode(chosen)}" if chosen else "/runs"


async def _previous_runs(rows: list[RunRow], service: ResearchService, who: Identity) -> dict[str, PreviousRun]:
    """Return which run each of these goes back to, by id."""
    known = {row.id: row for row in rows}
    found = {}
    for row in rows:
        if not row.origin:
            continue
        kind = "updates" if row.request.update else "adds" if row.request.add else "follows"
        try:
            earlier = known.get(row.origin) or await service.get(row.origin, who)
            found[row.id] = PreviousRun(kind, earlier.id, earlier.request.question)
        except UnknownRun:
            found[row.id] = PreviousRun(kind, "", "")
    return found
