"""Figures of the server for Prometheus: requests, runs, readers, and what runs use; never who asked, or for what."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.events import ENDED, RUN_STATUSES, RunEvent
from deep_research.llm.port import ModelReply
from deep_research.pipeline.watching import Work
from deep_research.service.run_queue import read_figures
from deep_research.service.service import ResearchService
from deep_research.store.port import RunRow

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_RUN_SECONDS = (1, 5, 15, 30, 60, 120, 300, 600, 1_200, 3_600, 7_200)


class Metrics:
    """All figures of one application, in a registry of its own."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()

        def counter(name: str, said: str, *labels: str) -> Counter:
            return Counter(f"deep_research_{name}", said, labels, registry=own)

        def gauge(name: str, said: str, *labels: str) -> Gauge:
            return Gauge(f"deep_research_{name}", said, labels, registry=own)

        self.requests = counter("requests", "Requests by route and status.", "method", "route", "status")
        self.request_seconds = Histogram(
            "deep_research_request_seconds", "Seconds until an answer begins.", ["route"], registry=own
        )
        self._runs = gauge("runs", "Runs in the store by status.", "status")
        self._under_way = gauge("runs_under_way", "Runs that this process works on.")
        self._queued = gauge("runs_queued", "Runs that wait for their turn.")
        self._oldest_queued = gauge("oldest_queued_seconds", "Seconds that the first of them has waited.")
        self._oldest_lease = gauge(
            "oldest_lease_seconds", "Seconds since the last sign of life of the owner that is silent for longest."
        )
        self._takeovers = gauge("takeovers", "Times that a run was taken over from a process that was lost.")
        self._run_seconds = Histogram(
            "deep_research_run_seconds",
            "Active seconds of a run that ended.",
            ["status"],
            registry=own,
            buckets=_RUN_SECONDS,
        )
        self._readers = gauge("event_readers", "Open event streams.")
        self._events = counter("events", "Events of runs that this process worked on, by kind.", "kind")
        self._tokens = counter("model_tokens", "Tokens of models, read and written.", "model", "direction")
        self._usd = counter("model_usd", "US dollars that models cost.", "model")
        self._model_calls = counter("model_calls", "Calls to models.", "model", "outcome")
        self._searches = counter("searches", "Searches by source.", "source", "outcome")
        self._pages = counter("pages", "Pages and files that were to be read.", "outcome")

    def follow(self, service: ResearchService) -> None:
        """Count what the runs of a service do from now on."""
        service.worker.on_event.append(self._on_event)
        service.worker.on_end.append(self._on_end)
        service.worker.observers.append(self)

    async def text(self, service: ResearchService) -> bytes:
        """Return all figures as they are now."""
        counts = await service.store.count_by_status()
        for status in RUN_STATUSES:
            self._runs.labels(status).set(counts.get(status, 0))
        self._under_way.set(service.worker.running)
        figures = await read_figures(service.store, lease_s=service.settings.lease_s)
        self._queued.set(figures.waiting)
        self._oldest_queued.set(figures.oldest_waiting_s)
        self._oldest_lease.set(figures.oldest_lease_s)
        self._takeovers.set(figures.takeovers)
        self._readers.set(service.feed.readers)
        return generate_latest(self._registry)

    @contextmanager
    def watch(self, work: Work) -> Iterator[None]:
        """Count a call once it has ended."""
        outcome = "failed"
        try:
            yield
            outcome = "done"
        finally:
            match work.kind:
                case "llm":
                    self._model_calls.labels(work.name, outcome).inc()
                    self._count_reply(work)
                case "search":
                    self._searches.labels(work.name, outcome).inc()
                case "fetch":
                    self._pages.labels(outcome).inc()

    def _count_reply(self, work: Work) -> None:
        if isinstance(work.answer, dict):
            reply = ModelReply.from_json(work.answer["reply"])
            self._tokens.labels(work.name, "read").inc(reply.tokens_in)
            self._tokens.labels(work.name, "written").inc(reply.tokens_out)
            self._usd.labels(work.name).inc(reply.usd)

    def _on_event(self, event: RunEvent) -> None:
        self._events.labels(event.kind).inc()

    def _on_end(self, row: RunRow) -> None:
        if row.status in ENDED:
            self._run_seconds.labels(row.status).observe(row.active_s)


class MetricsMiddleware:
    """Counts each request by its route, which holds no id and no name of anybody."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A request that nothing answers may be for any path: it is counted under one name.
                route = str(getattr(scope.get("route"), "path", "other"))
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.requests.labels(method, route, message["status"]).inc()
                self._metrics.request_seconds.labels(route).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, send_counted)
