"""The first page: a question, and what is decided about its research."""

from collections.abc import Collection
from http import HTTPStatus
from typing import get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from deep_research.errors import DeepResearchError
from deep_research.messages.language import report_language
from deep_research.messages.words import Words
from deep_research.request import ClarifyMode, DepthName, ReportLength, SearchKind
from deep_research.server.dependencies import Service, Who
from deep_research.server.page.language import language_of, page_words, words_for
from deep_research.server.page.question_form import QuestionForm, read_form
from deep_research.server.page.views import HEADERS, render
from deep_research.server.problems import status_of
from deep_research.service.documents import OWN_FOLDER
from deep_research.service.estimate import Estimate
from deep_research.service.identity import Identity
from deep_research.service.new_run import MAX_QUESTION_CHARS, NewRun, searches_web
from deep_research.service.service import ResearchService

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
        shown_status=service.shown_status,
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
