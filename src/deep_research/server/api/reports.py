"""What a run came to: the report, in every format, its pictures, and what an update has found changed."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from deep_research.errors import NotFound, UsageError
from deep_research.export.formats import FORMATS, check_format, exported, format_of, markdown_with_figures
from deep_research.server.api.files import CacheValidators, attachment, file_name
from deep_research.server.api.openapi import files, problems
from deep_research.server.api.schemas import Report, in_json, report_shape
from deep_research.server.dependencies import Service, Who
from deep_research.storage.store.port import RunRow
from deep_research.text.in_thread import in_thread
from deep_research.verify.changes import Changes

router = APIRouter(prefix="/api/runs", tags=["reports"], responses=problems(404, 409))

_MEDIA_TYPES = {
    "html": "text/html",
    "md": "text/markdown",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "json": "application/ld+json",
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
    "csl": "application/vnd.citationstyles.csl+json",
    "pdf": "application/pdf",
    "bundle": "application/zip",
}
_ENDINGS = {"csl": "csl.json"}
_VERSION = version("deep-research")


@router.get("/{run}/report", response_model=Report, responses={304: {"description": "You have it already."}})
async def read_report(run: str, request: Request, service: Service, who: Who) -> Response:
    """Read the report of a run that is done, with its sources and findings."""
    row = await service.finished(run, who)
    validators = _validators(row, "report")
    if unchanged := validators.unchanged(request):
        return unchanged
    return in_json(report_shape(await service.result_of(row), await service.contents_of(row)), validators.headers)


@router.get(
    "/{run}/report.{format}",
    response_class=Response,
    responses={**files(*_MEDIA_TYPES.values()), 304: {"description": "You have it already."}, **problems(501)},
)
async def export_report(
    run: str,
    format: str,  # noqa: A002 - the name in the address
    request: Request,
    service: Service,
    who: Who,
    figures: Annotated[bool, Query(description="Send Markdown with the files of its figures, as a zip.")] = False,
) -> Response:
    """Get the report as a file: html, md, pdf, docx, json, bib, ris, csl, or bundle (a zip with all its sources)."""
    name = format_of(Path(f"report.{format}")) or format
    if name not in FORMATS:
        raise NotFound().with_message("fault.unknown_format", format=format[:64], formats=", ".join(FORMATS))
    row = await service.finished(run, who)
    validators = _validators(row, f"{name}-figures" if figures else name)
    if unchanged := validators.unchanged(request):
        return unchanged
    try:
        check_format(name)
    except UsageError as exc:
        raise HTTPException(501, str(exc)) from exc
    contents = await service.contents(row.id, who, with_sources=FORMATS[name].needs_sources)
    title = contents.edition.report.title
    if name == "md" and figures and contents.edition.captions:
        content = await in_thread(markdown_with_figures, contents, file_name(title, "md"))
        ending, media_type = "zip", "application/zip"
    else:
        # Links to figures stay as they are in the run's own files, which a bundle holds.
        content = await in_thread(exported, contents, name, target=Path(contents.folder) / "report.md")
        ending, media_type = FORMATS[name].ending or _ENDINGS.get(name, name), _MEDIA_TYPES[name]
    return attachment(content, name=file_name(title, ending), media_type=media_type, headers=validators.headers)


@router.get(
    "/{run}/pictures/{picture}",
    response_class=Response,
    responses={**files("image/png", "image/svg+xml"), 304: {"description": "You have it already."}},
)
async def read_picture(run: str, picture: str, request: Request, service: Service, who: Who) -> Response:
    """Get a figure of the report, by the id that the report names."""
    row = await service.finished(run, who)
    contents = await service.contents_of(row)
    content = contents.pictures.get(picture)
    if content is None:
        raise NotFound().with_message("fault.unknown_picture", picture=picture[:64])
    validators = CacheValidators(picture, row.updated_at)
    if unchanged := validators.unchanged(request):
        return unchanged
    is_vector = any(caption.figure.svg == picture for caption in contents.edition.captions)
    headers = {
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        "X-Content-Type-Options": "nosniff",
        **validators.headers,
    }
    return Response(content, media_type="image/svg+xml" if is_vector else "image/png", headers=headers)


@router.get("/{run}/changes")
async def read_changes(run: str, service: Service, who: Who) -> Changes:
    """Read what has changed since the run that this one brings up to date: claims, sources and figures."""
    return await service.changes(run, who)


def _validators(row: RunRow, form: str) -> CacheValidators:
    """Return the marks of a report in a form: another version of ours may lay it out otherwise."""
    return CacheValidators(f"{(row.result or {})['report']}-{form}-{_VERSION}", row.updated_at)
