"""The application: the service, and everything that is offered over it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI

from deep_research.server.access import AccessMiddleware
from deep_research.server.api import (
    documents,
    estimate,
    events,
    health,
    reports,
    runs,
    schedules,
    sources,
    steering,
)
from deep_research.server.api import settings as settings_api
from deep_research.server.api.openapi import describe
from deep_research.server.body_limit import BodyLimitMiddleware
from deep_research.server.mcp import http as mcp
from deep_research.server.metrics import Metrics, MetricsMiddleware
from deep_research.server.openai import chat, responses
from deep_research.server.openai.replies import Conversations
from deep_research.server.page import routes as page
from deep_research.server.page import static_files
from deep_research.server.page.report import draw_report
from deep_research.server.problems import add_problem_details
from deep_research.service.runs.recent import RecentRuns
from deep_research.service.service import ResearchService
from deep_research.settings import Settings


def create_app(settings: Settings, *, at_once: int | None = None) -> FastAPI:
    """Return the application of these settings; its service runs while it is served.

    `at_once` is how many runs it works on itself; 0 leaves all to workers.
    """
    at_once = settings.server_runs_at_once if at_once is None else at_once

    @asynccontextmanager
    async def serving(app: FastAPI) -> AsyncIterator[None]:
        async with ResearchService(settings, at_once=at_once) as service:
            app.state.service = service
            app.state.conversations = Conversations(service)
            app.state.drawn_reports = RecentRuns(partial(draw_report, service))
            metrics.follow(service.worker)
            async with mcp.serving_mcp(app, service):
                yield

    # The framework's own pages of the interface load scripts from elsewhere.
    app = FastAPI(
        title="Deep Research", version=version("deep-research"), lifespan=serving, docs_url=None, redoc_url=None
    )
    app.state.settings = settings
    app.state.metrics = metrics = Metrics()
    add_problem_details(app)
    # Routes are tried in this order: a page asks for several files before it is painted.
    for part in (
        static_files,
        runs,
        events,
        documents,
        steering,
        reports,
        sources,
        estimate,
        settings_api,
        schedules,
        page,
        chat,
        responses,
        mcp,
        health,
    ):
        app.include_router(part.router)
    app.add_middleware(BodyLimitMiddleware)
    app.add_middleware(AccessMiddleware, settings=settings)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    describe(app)
    return app
