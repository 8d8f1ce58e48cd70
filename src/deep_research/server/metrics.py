"""Figures of the server for Prometheus: requests, runs, readers, and what runs use; never who asked, or for what."""

import time
from dataclasses import dataclass

from prometheus_client import Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.events import RUN_STATUSES
from deep_research.service.runs.run_metrics import RunMetrics
from deep_research.service.runs.run_queue import read_figures
from deep_research.service.service import ResearchService

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics(RunMetrics):
    """All figures of one application, in a registry of its own."""

    def __init__(self) -> None:
        super().__init__()
        own = self.registry

        def gauge(name: str, said: str, *labels: str) -> Gauge:
            return Gauge(f"deep_research_{name}", said, labels, registry=own)

        self.requests = Counter(
            "deep_research_requests", "Requests by route and status.", ["method", "route", "status"], registry=own
        )
        self.request_seconds = Histogram(
            "deep_research_request_seconds", "Seconds until an answer begins.", ["route"], registry=own
        )
        self._runs = gauge("runs", "Runs in the store by status.", "status")
        self._of_worker = gauge(
            "worker_runs", "Runs that each process works on, of all servers and workers that share the store.", "worker"
        )
        # By the name that a figure has where the queue is read.
        self._of_queue = {
            "waiting": gauge("runs_queued", "Runs that wait for their turn."),
            "oldest_waiting_s": gauge("oldest_queued_seconds", "Seconds that the first of them has waited."),
            "oldest_lease_s": gauge(
                "oldest_lease_seconds", "Seconds since the last sign of life of the owner that is silent for longest."
            ),
            "takeovers": gauge("takeovers", "Times that a run was taken over from a process that was lost."),
        }
        self._readers = gauge("event_readers", "Open event streams.")

    async def text(self, service: ResearchService) -> bytes:
        """Return all figures as they are now."""
        counts = await service.store.count_by_status()
        for status in RUN_STATUSES:
            self._runs.labels(status).set(counts.get(status, 0))
        figures = await read_figures(service.store, lease_s=service.settings.lease_s)
        for name, gauge in self._of_queue.items():
            gauge.set(figures[name])
        # Processes that are gone are left out.
        self._of_worker.clear()
        for worker, runs in figures.workers.items():
            self._of_worker.labels(worker).set(runs)
        self._readers.set(service.feed.readers)
        return generate_latest(self.registry)


@dataclass
class MetricsMiddleware:
    """Counts each request by its route, which holds no id and no name of anybody."""

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A request that nothing answers may be for any path: it is counted under one name.
                route = str(getattr(scope.get("route"), "path", "other"))
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self.metrics.requests.labels(method, route, message["status"]).inc()
                self.metrics.request_seconds.labels(route).observe(time.perf_counter() - began)
            await send(message)

        await self.app(scope, receive, send_counted)
