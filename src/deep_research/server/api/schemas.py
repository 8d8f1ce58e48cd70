"""What the API answers with."""

import json
from collections.abc import Mapping
from datetime import datetime

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from deep_research.events import RunStatus
from deep_research.export.contents import Contents
from deep_research.pipeline.result import Result
from deep_research.report.citation import Source
from deep_research.request import Language
from deep_research.service.public_text import public_message
from deep_research.service.runs.sources import SourceEntry
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject


class Run(BaseModel):
    """Where a run stands; `pending` is what it waits for, `error` why it failed.

    `is_queued` says that it waits for its turn in this server, `is_stopping` that it was cancelled and is about to
    stop. `follow` and `update` are ids of runs that it follows up or brings up to date.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "3f2a9c1e5b7d4f0a8c6e2d1b0a9f8e7d",
                    "question": "What did the Halden Bay heat pump retrofit cost, and was it worth it?",
                    "status": "running",
                    "is_queued": False,
                    "is_stopping": False,
                    "created_at": "2026-03-01T09:30:00Z",
                    "updated_at": "2026-03-01T09:30:02Z",
                    "title": "",
                    "tags": ["heat pumps"],
                    "pending": None,
                    "error": None,
                    "follow": "",
                    "update": "",
                }
            ]
        }
    )

    id: str
    question: str
    status: RunStatus
    is_queued: bool = False
    is_stopping: bool = False
    created_at: datetime
    updated_at: datetime
    title: str = ""
    tags: tuple[str, ...] = ()
    pending: JsonObject | None = None
    error: JsonObject | None = None
    follow: str = ""
    update: str = ""


class Runs(BaseModel):
    """A page of runs, the newest first; `next` is the cursor of the page that follows, if there is one."""

    runs: list[Run]
    next: str | None = None


class Sources(BaseModel):
    """What a run has read."""

    sources: list[SourceEntry]


class ReportFigure(BaseModel):
    """A figure of the report; `png` and `svg` are ids of pictures."""

    number: int
    title: str
    png: str
    svg: str = ""


class SourcePicture(BaseModel):
    """A picture in a cited source, which was not loaded: its address, and the source's address and number."""

    address: str
    caption: str = ""
    source: str = ""
    number: int = 0


class ReportSource(Source):
    """A source as the report numbers it; `is_cited` says whether it is cited, or was only read."""

    number: int
    is_cited: bool


class Report(BaseModel):
    """The report of a run that is done: its text as Markdown, its sources in the order of their numbers, its figures.

    `is_verified` says whether every sentence passed its check, `is_answered` whether the sources answer the question,
    `is_doubtful` whether the answer may not be the one that was asked for;
    it was not searched where every search failed.
    """

    run: str
    title: str
    language: Language
    created_at: datetime
    markdown: str
    is_verified: bool
    is_answered: bool
    is_doubtful: bool
    is_searched: bool
    sources: list[ReportSource]
    figures: list[ReportFigure]
    pictures: list[SourcePicture] = Field(description="Pictures in the cited sources.")
    learnings: list[str] = Field(description="What the passages that were found say, in a sentence each.")


def in_json(value: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value that is of its shape already; FastAPI would check it once more."""
    try:
        text = value.model_dump_json()
    except ValueError:
        # Half a surrogate pair, which a model may send, is no UTF-8; JSON can spell it.
        text = json.dumps(value.model_dump(mode="json"))
    return Response(text, media_type="application/json", headers=headers)


def report_shape(result: Result, contents: Contents) -> Report:
    """Return a report as the API shows it: nothing of this machine in it."""
    edition = contents.edition
    cited = {source.document for source in edition.citations.used}
    return Report(
        run=edition.run,
        title=edition.report.title,
        language=edition.language,
        created_at=edition.created_at,
        markdown=contents.markdown,
        is_verified=result.is_verified,
        is_answered=edition.report.is_answered,
        is_doubtful=edition.report.is_doubtful,
        is_searched=result.is_searched,
        sources=[
            ReportSource(**dict(source), number=number, is_cited=source.document in cited)
            for number, source in enumerate(edition.citations.sources, start=1)
        ],
        figures=[
            ReportFigure(number=one.number, title=one.figure.title, png=one.figure.png, svg=one.figure.svg)
            for one in edition.captions
        ],
        # The figures themselves have no source.
        pictures=[SourcePicture(**image.model_dump()) for image in result.images if image.source],
        learnings=list(result.learnings),
    )


def run_shape(row: RunRow) -> Run:
    """Return a run as the API shows it: nothing of this machine in it."""
    return Run(
        id=row.id,
        question=row.request.question,
        status=row.status,
        is_queued=row.shown_status == "queued",
        is_stopping=row.shown_status == "stopping",
        created_at=row.created_at,
        updated_at=row.updated_at,
        title=row.title,
        tags=row.tags,
        pending=row.pending,
        error=_shown(row.error),
        follow=row.request.follow,
        update=row.request.update.run if row.request.update else "",
    )


def _shown(error: JsonObject | None) -> JsonObject | None:
    """Return why a run failed, without paths of this machine."""
    return error and {name: public_message(value) if isinstance(value, str) else value for name, value in error.items()}
