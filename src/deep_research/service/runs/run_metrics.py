"""Figures of what the runs of this process use, for Prometheus; never who asked, or for what."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from deep_research.events import ENDED, RunEvent
from deep_research.llm.port import ModelReply
from deep_research.pipeline.watching import Work
from deep_research.service.runs.worker import Worker
from deep_research.storage.store.port import RunRow

_RUN_SECONDS = (1, 5, 15, 30, 60, 120, 300, 600, 1_200, 3_600, 7_200)


class RunMetrics:
    """Counts what a worker of this process does, in a registry of its own."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()

        def counter(name: str, said: str, *labels: str) -> Counter:
            return Counter(f"deep_research_{name}", said, labels, registry=own)

        self._under_way = Gauge("deep_research_runs_under_way", "Runs that this process works on.", registry=own)
        self._run_seconds = Histogram(
            "deep_research_run_seconds",
            "Active seconds of a run that ended.",
            ["status"],
            registry=own,
            buckets=_RUN_SECONDS,
        )
        self._events = counter("events", "Events of runs that this process worked on, by kind.", "kind")
        self._tokens = counter("model_tokens", "Tokens of models, read and written.", "model", "direction")
        self._usd = counter("model_usd", "US dollars that models cost.", "model")
        self._model_calls = counter("model_calls", "Calls to models.", "model", "outcome")
        self._searches = counter("searches", "Searches by source.", "source", "outcome")
        self._pages = counter("pages", "Pages and files that were to be read.", "outcome")

    def follow(self, worker: Worker) -> None:
        """Count what the runs of a worker do from now on."""
        worker.on_event.append(self._on_event)
        worker.on_end.append(self._on_end)
        worker.observers.append(self)
        self._under_way.set_function(lambda: worker.running)

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
