"""Traces: a span for each run, stage and call, by the conventions; no text of anybody unless that is wanted."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from deep_research.errors import NetworkError
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.pipeline.adapters import Adapters
from deep_research.settings import Settings
from deep_research.wiring.traces import Traces, observers_from
from tests.e2e.harness import Lab, User
from tests.support.analyst import ScriptedAnalyst
from tests.support.loopback import LoopbackServer, Request, head_of
from tests.support.world import with_long_pages, with_models

QUESTION = "海绵城市的项目花了多少钱，效果如何？"


def _traced(user: User, analyst: ScriptedAnalyst, *, texts: bool = False) -> list[ReadableSpan]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    watch = Traces(provider.get_tracer("test"), texts)

    def change(adapters: Adapters) -> Adapters:
        plain = replace(adapters, observers=(watch,), cache=None, draw=None, sandbox=None)
        return with_models(with_long_pages(plain), analyst)

    lab = Lab(user, change=change)
    assert lab.ask(QUESTION).status == "done"
    provider.shutdown()
    return list(exporter.get_finished_spans())


def _said(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def test_a_run_is_one_trace_of_stages_and_calls(tmp_path: Path) -> None:
    user = User(tmp_path)
    spans = _traced(user, ScriptedAnalyst(name="openai:gpt-test", usd_a_token=0.001))
    by_id = {span.context.span_id: span for span in spans if span.context}
    (run,) = [span for span in spans if span.parent is None]
    assert run.name == "invoke_agent deep-research"
    assert all(span.parent is None or span.parent.span_id in by_id for span in spans)
    assert {span.context.trace_id for span in spans if span.context} == {run.context.trace_id if run.context else 0}
    stages = {str(_said(span)["deep_research.stage"]) for span in spans if span.name.startswith("stage ")}
    assert stages >= {"intake", "plan", "harvest", "fetch", "extract", "draft", "verify", "write", "audit"}

    chats = [span for span in spans if span.name == "chat gpt-test"]
    paid = [row for row in user.journal() if row.kind == "llm"]
    assert len(chats) == len(paid)
    assert sum(int(_said(span)["gen_ai.usage.input_tokens"]) for span in chats) > 0
    tokens = sum(int(_said(span)[f"gen_ai.usage.{way}_tokens"]) for span in chats for way in ("input", "output"))
    assert tokens == sum(row.spend.tokens for row in paid)
    for span in chats:
        assert span.kind is SpanKind.CLIENT
        assert _said(span)["gen_ai.operation.name"] == "chat"
        assert _said(span)["gen_ai.provider.name"] == "openai"
        assert _said(span)["gen_ai.request.model"] == "gpt-test"
        assert _said(span)["gen_ai.conversation.id"] == user.only_run().id
    kinds = Counter(row.kind for row in user.calls())
    assert sum(span.name.startswith("retrieval ") for span in spans) == kinds["search"]
    assert sum(span.name == "fetch" for span in spans) == kinds["fetch"]


def test_no_text_leaves_unless_it_is_wanted(tmp_path: Path) -> None:
    analyst = ScriptedAnalyst()
    told = _all_text(_traced(User(tmp_path / "without"), analyst))
    prompts = [request.prompt for request in analyst.requests]
    for private in (QUESTION, "海绵城市", "choir of the town", *prompts):
        assert private not in told
    assert "/1" not in {line for line in told.splitlines() if line.startswith("http")}
    spans = _traced(User(tmp_path / "with"), ScriptedAnalyst(), texts=True)
    chats = [span for span in spans if span.name.startswith("chat ")]
    assert all(_said(span)["gen_ai.output.messages"] for span in chats)
    assert any("\\u6d77\\u7ef5" in str(_said(span)["gen_ai.input.messages"]) for span in chats)
    assert any("url.full" in _said(span) for span in spans)


def _all_text(spans: list[ReadableSpan]) -> str:
    return "\n".join(
        f"{span.name}\n{span.status.description}\n" + "\n".join(map(str, _said(span).values())) for span in spans
    )


def test_a_call_that_fails_is_a_span_with_the_kind_of_its_error_and_not_its_words(tmp_path: Path) -> None:
    class Torn(ScriptedAnalyst):
        async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
            if request.act == "draft":
                raise NetworkError("no answer to the question of Ms Secret")
            return await super().complete(request, on_delta=on_delta)

    spans = _traced(User(tmp_path), Torn())
    failed = [span for span in spans if span.name.startswith("chat ") and span.status.status_code is StatusCode.ERROR]
    assert failed
    assert all(_said(span)["error.type"] == "NetworkError" for span in failed)
    assert "Secret" not in _all_text(spans)
    assert not [event for span in spans for event in span.events]


class Collector(LoopbackServer):
    """Takes spans as a collector does, over OTLP and HTTP."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[tuple[str, bytes]] = []

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        packed = request.headers.get("content-encoding") == "gzip"
        self.taken.append((request.target, gzip.decompress(request.body) if packed else request.body))
        writer.write(head_of(200, {"content-type": "application/x-protobuf", "content-length": "0"}))

    def names(self) -> list[str]:
        sent = [ExportTraceServiceRequest.FromString(body) for _, body in self.taken]
        return [
            span.name for each in sent for of in each.resource_spans for scope in of.scope_spans for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


def test_spans_reach_a_collector_and_only_if_a_setting_says_so(tmp_path: Path, collector: Collector) -> None:
    address = f"http://127.0.0.1:{collector.port}"
    silent = User(tmp_path / "silent", env={"DEEP_RESEARCH_OTEL_ADDRESS": address})
    assert silent.ask("quick").returncode == 0
    assert collector.taken == []
    user = User(tmp_path / "told", env={"DEEP_RESEARCH_OTEL_ADDRESS": address, "DEEP_RESEARCH_OTEL": "true"})
    ended = user.ask("quick", "--offline")
    assert ended.returncode == 0, ended.stderr
    assert {target for target, _ in collector.taken} == {"/v1/traces"}
    assert "invoke_agent deep-research" in collector.names()
    assert "stage plan" in collector.names()


def test_a_collector_that_is_not_there_costs_no_run(tmp_path: Path) -> None:
    env = {"DEEP_RESEARCH_OTEL_ADDRESS": "http://127.0.0.1:9", "DEEP_RESEARCH_OTEL": "true"}
    ended = User(tmp_path, env=env).ask("quick")
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_is_offline_tells_nobody_outside_this_machine() -> None:
    settings = Settings(otel=True, otel_address="https://collector.example.org")
    assert len(observers_from(settings)) == 1
    assert observers_from(settings.with_changes(offline=True)) == ()
    assert len(observers_from(Settings(otel=True, offline=True))) == 1
    assert observers_from(Settings()) == ()
