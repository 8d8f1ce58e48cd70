"""A run while it is under way: where it stands, what it waits for, and what may be done with it."""

import re
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from starlette.datastructures import FormData

from deep_research.errors import DeepResearchError
from deep_research.pipeline.plan_text import MAX_SECTIONS
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.report import report_view
from deep_research.server.page.views import language_of, page_words, render, words_for
from deep_research.server.problems import status_of
from deep_research.service.accounts.identity import Identity
from deep_research.service.public_text import sendable
from deep_research.service.runs.plans import PlanEdit
from deep_research.service.runs.progress_lines import ProgressLines
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject, Strings

router = APIRouter(include_in_schema=False)
_LOGGED = 200
# An address holds no longer question.
_ASKED_AGAIN = 2_000
_UNFIT = HTTPStatus.UNPROCESSABLE_ENTITY
Steer = Literal["cancel", "resume", "retry"]


@router.get("/runs/{run}")
async def show_run(run: str, request: Request, service: Service, who: Who) -> Response:
    """Show a run: as it comes along, then its report."""
    row = await service.get(run, who)
    return await (report_view(request, service, who, row) if row.status == "done" else _run_page(request, service, row))


@router.get("/runs/{run}/parts")
async def run_parts(run: str, request: Request, service: Service, who: Who) -> Response:
    """Return the parts of the page that change while a run is under way, as they are now."""
    return await _run_page(request, service, await service.get(run, who), "live_parts.html")


@router.post("/runs/{run}/answer")
async def answer_question(
    run: str, request: Request, service: Service, who: Who, answer: Annotated[str, Form(max_length=10_000)] = ""
) -> Response:
    """Answer what a run asks back, by an option's number or in words."""
    text = answer.strip()
    return await _steered(run, request, service, who, service.answer(run, text, who) if text else None)


@router.post("/runs/{run}/plan")
async def answer_plan(run: str, request: Request, service: Service, who: Who) -> Response:
    """Take the plan as it was edited, approve it where it was not, or have another one made for other sides."""
    form = await request.form()
    row = await service.get(run, who)
    sent = plan_sent(form)
    try:
        if form.get("do") == "focus":
            step = service.answer(run, {"focus": list(focuses_sent(form))}, who)
        elif (do := form.get("do")) == "start" and sent == plan_shown(row.pending or {}):
            step = service.approve_plan(run, who)
        else:
            edited = {**sent, "depth": None if do == "start" else do}
            step = service.submit_plan(run, PlanEdit.model_validate(edited), who)
        return await _steered(run, request, service, who, step, plan=sent)
    except ValidationError:
        problem = page_words(language_of(request))("plan.wrong")
        return await _run_page(request, service, row, problem=problem, plan=sent, status=_UNFIT)


@router.post("/runs/{run}/map")
async def change_map(run: str, request: Request, service: Service, who: Who) -> Response:
    """Strike entries of what is looked for, add some, or have the report written."""
    form = await request.form()
    added = re.split("[;；\n]", str(form.get("add", "")))
    change: JsonObject = {
        "strike": [str(name) for name in form.getlist("strike")],
        "add": [*map(str, form.getlist("again")), *filter(None, map(str.strip, added))],
        "section": str(form.get("section", "")),
        "enough": "enough" in form,
    }
    return await _steered(run, request, service, who, service.answer(run, {"map": change}, who))


@router.post("/runs/{run}/{steer}")
async def steer_run(run: str, steer: Steer, request: Request, service: Service, who: Who) -> Response:
    """Cancel a run, go on with it, or try it again."""
    step = service.cancel(run, who) if steer == "cancel" else service.resume(run, who, retry=steer == "retry")
    return await _steered(run, request, service, who, step)


async def _steered(
    run: str,
    request: Request,
    service: ResearchService,
    who: Identity,
    step: Awaitable[RunRow] | None,
    *,
    plan: JsonObject | None = None,
) -> Response:
    """Take a step, if there is one, and go back to the run; or show there why it cannot be taken."""
    try:
        if step:
            await step
    except DeepResearchError as exc:
        row, problem = await service.get(run, who), exc.in_words(words_for(request))
        return await _run_page(request, service, row, problem=problem, plan=plan, status=status_of(exc))
    return RedirectResponse(f"/runs/{run}", status_code=HTTPStatus.SEE_OTHER)


async def _run_page(
    request: Request,
    service: ResearchService,
    row: RunRow,
    template: str = "run.html",
    *,
    problem: str = "",
    plan: JsonObject | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Return a run that is not done; `problem` is why what was asked of it cannot be, `plan` what was sent."""
    progress = await service.progress_of(row)
    events = await service.store.read_events(row.id, after=max(0, progress.seq - _LOGGED))
    lines = ProgressLines(words_for(request), is_verbose=True)
    return render(
        request,
        template,
        status=status,
        run=row,
        shown=row.shown_status,
        progress=progress,
        log=[(event, line.text) for event in events for line in lines.of(event)],
        problem=problem,
        asked_again=sendable(row.request.question[:_ASKED_AGAIN]),
        plan=plan or plan_shown(row.pending or {}),
        most_sections=MAX_SECTIONS,
    )


_BETWEEN_FOCUSES = re.compile(r"[;；,，、\n]+")


def plan_shown(pending: JsonObject) -> JsonObject:
    """Return the plan that waits for approval as the form shows it: title and sections, queries in plain words."""
    plan: Any = pending.get("plan") or {}
    return {
        "research_title": _line(plan.get("research_title", "")),
        "sections": [
            {
                "title": _line(section["title"]),
                "description": _text(section.get("description", "")),
                "search_queries": [str(query["query"]).strip() for query in section.get("search_queries", ())],
            }
            for section in plan.get("sections", ())
        ],
    }


def plan_sent(form: FormData) -> JsonObject:
    """Return the plan that the form spells."""
    fields = (form.getlist(f"section_{name}") for name in ("title", "description", "queries"))
    return {
        "research_title": _line(form.get("research_title", "")),
        "sections": [
            {
                "title": _line(title),
                "description": _text(description),
                "search_queries": [line.strip() for line in str(queries).splitlines() if line.strip()],
            }
            for title, description, queries in zip(*fields, strict=False)
        ],
    }


def focuses_sent(form: FormData) -> Strings:
    """Return the sides of the question that somebody wants to be looked at instead."""
    parts = map(str.strip, _BETWEEN_FOCUSES.split(str(form.get("focus", ""))))
    return tuple(dict.fromkeys(part for part in parts if part))


def _line(value: object) -> str:
    return " ".join(str(value).split())


def _text(value: object) -> str:
    # Browsers send line ends as CR LF.
    return str(value).replace("\r\n", "\n").strip()
