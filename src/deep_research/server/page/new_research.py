"""The first page: a question, and what is decided about its research."""

import re
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from pydantic import ValidationError

from deep_research.errors import DeepResearchError
from deep_research.request import ClarifyMode, DepthName, ReportLength, SearchKind
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.views import HEADERS, language_of, page_words, render, words_for
from deep_research.server.problems import status_of
from deep_research.service.accounts.identity import Identity
from deep_research.service.documents.documents import OWN_FOLDER
from deep_research.service.runs.estimate import Estimate
from deep_research.service.runs.new_run import MAX_QUESTION_CHARS, NewRun
from deep_research.service.service import ResearchService
from deep_research.settings import Settings
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words
from deep_research.wiring.search import searches_web

# Fields whose value goes on as it is; empty means that the server decides.
_PLAIN = ("documents", "strategy", "depth", "length", "language", "clarify", "since", "until")
_LIMITS = ("usd", "queries", "pages", "minutes")
FIELDS = ("question", *_PLAIN, "shared_documents", "confirm_plan", "sites", *_LIMITS)
_BETWEEN_SITES = re.compile(r"[\s,;，；、]+")


class QuestionForm(dict[str, str]):
    """Every field as typed; missing ones are empty."""

    @classmethod
    def of(cls, typed: Mapping[str, object]) -> "QuestionForm":
        """Return the form that was sent."""
        return cls({name: str(typed.get(name, "")).strip() for name in FIELDS})

    @classmethod
    def first(cls, settings: Settings, question: str) -> "QuestionForm":
        """Return the form before anything is typed: as the server would decide."""
        chosen = {name: getattr(settings, name) for name in ("depth", "length", "clarify", "language")}
        chosen |= {"strategy": settings.strategy if searches_web(settings) else "local", "shared_documents": "yes"}
        return cls.of({name: value or "" for name, value in chosen.items()} | {"question": question})


def read_form(form: QuestionForm) -> tuple[NewRun | None, set[str]]:
    """Return the run that a form asks for, or the names of the fields that do not fit."""
    values: dict[str, object] = {name: form[name] for name in _PLAIN if form[name]}
    budget = {kind: form[kind] for kind in ("usd", "queries", "pages") if form[kind]}
    wrong = set()
    if form["minutes"]:
        try:
            budget["seconds"] = str(float(form["minutes"]) * 60)
        except ValueError:
            wrong.add("minutes")
    sites = [site for site in _BETWEEN_SITES.split(form["sites"]) if site]
    own: dict[str, object] = {"question": form["question"], "sites": sites, "budget": budget}
    own |= {name: bool(form[name]) for name in ("confirm_plan", "shared_documents")}
    new = None
    try:
        # Somebody sits at the page, to approve a costly or complex plan.
        new = NewRun.model_validate({**values, **own, "interactive": True})
    except ValidationError as exc:
        for error in exc.errors():
            match error["loc"]:
                case ():  # The dates are the wrong way round.
                    wrong.add("until")
                case ("budget",):
                    wrong.update(budget)
                case ("budget", kind, *_):
                    wrong.add(str(kind))
                case (name, *_):
                    wrong.add(str(name))
    wrong = {"minutes" if name == "seconds" else name for name in wrong}
    form["question"] = form["question"][:MAX_QUESTION_CHARS]
    return (None if wrong else new), wrong


router = APIRouter(include_in_schema=False)
_RECENT = 5


@router.get("/")
async def new_research(
    request: Request, service: Service, who: Who, question: str = "", documents: str = ""
) -> Response:
    """Show the question field; an address may bring a question and a collection along, shown and not sent."""
    form = QuestionForm.first(service.settings, question[:MAX_QUESTION_CHARS])
    if documents and documents != OWN_FOLDER:
        # Whoever comes from a collection asks that one alone, unless they say otherwise.
        form |= {"documents": documents, "shared_documents": ""}
    return await _form_page(request, service, who, form)


@router.post("/")
async def start_research(request: Request, service: Service, who: Who) -> Response:
    """Start the run that the form asks for, or show what does not fit."""
    form = QuestionForm.of(await request.form())
    new, wrong = read_form(form)
    if new is None:
        return await _form_page(request, service, who, form, wrong=wrong, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        row = await service.create(new, who)
    except DeepResearchError as exc:
        problem = exc.in_words(words_for(request))
        return await _form_page(request, service, who, form, problem=problem, status=status_of(exc))
    return RedirectResponse(f"/runs/{row.id}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/estimate")
async def estimate_research(request: Request, service: Service, who: Who) -> Response:
    """Say in words what the form asks for may take; nothing where it does not fit."""
    form = QuestionForm.of(await request.form())
    form["question"] = form["question"] or "?"
    new, _ = read_form(form)
    try:
        t = page_words(language_of(request))
        text = (
            f"{await _searched(new, service, who, t)} {_in_words(await service.estimate(new, who), t)}" if new else ""
        )
    except DeepResearchError as exc:
        text = exc.in_words(words_for(request))
    return PlainTextResponse(text, headers=HEADERS)


async def _searched(new: NewRun, service: ResearchService, who: Identity, t: Words) -> str:
    """Return in words where a research looks."""
    strategy = new.strategy or service.settings.strategy
    where = [t(f"new.strategy_{strategy}")] if strategy != "local" and searches_web(service.settings) else []
    for collection in await service.documents.list(who):
        if collection.is_read_only and new.shared_documents:
            where.append(t("new.own_folder", count=collection.files))
        elif collection.id == new.documents:
            where.append(t("new.collection", name=collection.name, count=collection.files))
    return t("new.searched", what=" · ".join(where)) if where else ""


def _in_words(estimate: Estimate, t: Words) -> str:
    effort: dict[str, object] = {"queries": estimate.queries, "pages": estimate.pages, "rounds": estimate.rounds}
    if not estimate.tokens:
        return t("new.estimate_free", **effort)
    effort["tokens"] = f"{estimate.tokens:,}"
    if estimate.most_usd is None:
        return t("new.estimate_unknown", **effort)
    return t("new.estimate", **effort, usd=f"{estimate.usd:.2f}", most=f"{estimate.most_usd:.2f}")


async def _form_page(
    request: Request,
    service: ResearchService,
    who: Identity,
    form: QuestionForm,
    *,
    wrong: Collection[str] = (),
    problem: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    return render(
        request,
        "new.html",
        status=status,
        form=form,
        wrong=wrong,
        problem=problem,
        collections=await service.documents.list(who),
        strategies=get_args(SearchKind),
        searches_web=searches_web(service.settings),
        offline=service.settings.offline,
        depths=get_args(DepthName),
        lengths=get_args(ReportLength),
        clarify_modes=get_args(ClarifyMode),
        most_characters=MAX_QUESTION_CHARS,
        limits=service.settings.budget(),
        examples=await _examples(request, service, who),
        usage=await service.limits.used_by(who),
        recent=await service.list(who, limit=_RECENT),
    )


async def _examples(request: Request, service: ResearchService, who: Identity) -> list[str]:
    """Return questions that the operator's documents may answer, in the language of the page where some are in it."""
    if service.settings.docs is None:
        return []
    documents = (await service.documents.read(OWN_FOLDER, who)).documents
    longest = sorted(documents, key=lambda document: -document.words)
    titles = list(dict.fromkeys(document.title for document in longest if document.title))
    language = language_of(request)
    own = [title for title in titles if report_language(title) == language] or titles
    t = page_words(language)
    asked = ("new.example_say", "new.example_agree", "new.example_say")
    return [t(words, title=title) for words, title in zip(asked, own, strict=False)]
