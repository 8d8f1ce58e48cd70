"""Spans of runs, stages and calls for an OpenTelemetry collector; calls to models by the conventions for generative AI.

Nothing is sent unless a setting says so, and no text of the user, of a model or of a page unless a second one does.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deep_research.errors import ConfigurationError
from deep_research.llm.address import is_local
from deep_research.llm.port import ModelReply, ModelRequest
from deep_research.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

    from deep_research.pipeline.watching import Observer, Work

Attributes = dict[str, str | int | float | list[str]]
_SERVICE = "deep-research"
# Names of providers in the conventions, where they are not ours.
_PROVIDERS = {"gemini": "gcp.gemini"}
_PLAIN = re.compile(r"[\w-]+")
_SEND_WITHIN_S = 5.0


def observers_from(settings: Settings) -> "tuple[Observer, ...]":
    """Return who watches runs for the collector, if one is set; what is offline tells nobody outside this machine."""
    if not settings.otel or (settings.offline and not is_local(settings.otel_address)):
        return ()
    if not find_spec("opentelemetry") or not find_spec("opentelemetry.sdk"):
        raise ConfigurationError("Traces need an extra: pip install 'deep-research[otel]'")
    return (Traces(_provider(settings.otel_address).get_tracer(_SERVICE, version(_SERVICE)), settings.otel_texts),)


@cache
def _provider(address: str) -> "TracerProvider":
    """Return what sends spans to a collector, in the background; one for the whole process, flushed as it ends."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": _SERVICE, "service.version": version(_SERVICE)}))
    exporter = OTLPSpanExporter(f"{address.rstrip('/')}/v1/traces", timeout=_SEND_WITHIN_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@dataclass
class Traces:
    """Makes a span of each piece of work; with `texts` it holds what was asked and answered, too."""

    tracer: "Tracer"
    texts: bool = False

    @contextmanager
    def watch(self, work: "Work") -> Iterator[None]:
        """Be a span as long as the work lasts; of a failure only its kind is told, for its words may quote."""
        from opentelemetry.trace import SpanKind, StatusCode

        name, attributes = _asked(work, with_texts=self.texts)
        kind = SpanKind.INTERNAL if work.kind in ("run", "stage", "sandbox", "draw") else SpanKind.CLIENT
        with self.tracer.start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as exc:  # A cancelled call is marked too; all are raised again.
                span.set_attribute("error.type", type(exc).__name__)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                span.set_attributes(_reply_attributes(work, with_texts=self.texts))


def _asked(work: "Work", *, with_texts: bool) -> tuple[str, Attributes]:
    """Return the name of a span, and what is known as the work begins."""
    own: Attributes = {"gen_ai.conversation.id": work.run}
    match work.kind:
        case "run":
            return f"invoke_agent {_SERVICE}", own | {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": _SERVICE,
            }
        case "stage":
            return f"stage {work.name}", own | {
                "deep_research.stage": work.name,
                "deep_research.scope": _plain_scope(work.scope),
            }
        case "llm":
            provider, _, model = work.name.partition(":")
            asked: Attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
                "gen_ai.request.model": model,
                "deep_research.scope": _plain_scope(work.scope),
            }
            return f"chat {model}", own | asked | _prompt(work, with_texts=with_texts)
        case "search":
            asked = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": work.name}
            query: Attributes = {"gen_ai.retrieval.query.text": _query(work)} if with_texts else {}
            return f"retrieval {work.name}", own | asked | query
        case "fetch":
            address = str(work.asked)
            page: Attributes = {"url.full": address} if with_texts else {}
            return "fetch", own | {"server.address": urlsplit(address).hostname or ""} | page
    return f"execute_tool {work.kind}", own | {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": work.kind}


def _prompt(work: "Work", *, with_texts: bool) -> Attributes:
    if not isinstance(work.asked, dict):
        return {}
    request = ModelRequest.from_json(work.asked["request"])
    asked: Attributes = {"gen_ai.request.max_tokens": request.max_tokens, "deep_research.act": request.act}
    if not with_texts:
        return asked
    said = [("user", "\n\n".join((*request.context, request.prompt)))]
    said += [("assistant" if message.speaker == "model" else "user", message.text) for message in request.turns]
    messages = [{"role": role, "parts": [_part(text)]} for role, text in said]
    return asked | {
        "gen_ai.system_instructions": json.dumps([_part(request.system)]),
        "gen_ai.input.messages": json.dumps(messages),
    }


def _reply_attributes(work: "Work", *, with_texts: bool) -> Attributes:
    """Return what is known once the work has been done."""
    if work.kind == "search" and isinstance(work.answer, list):
        return {"deep_research.hits": len(work.answer)}
    if work.kind == "fetch" and isinstance(work.answer, dict):
        return {"http.response.status_code": int(str(work.answer.get("status", 200)))}
    if work.kind != "llm" or not isinstance(work.answer, dict):
        return {}
    reply = ModelReply.from_json(work.answer["reply"])
    attributes: Attributes = {
        "gen_ai.response.model": reply.model.partition(":")[2] or reply.model,
        "gen_ai.response.finish_reasons": [reply.stop],
        "gen_ai.usage.input_tokens": reply.tokens_in,
        "gen_ai.usage.output_tokens": reply.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": reply.tokens_cached,
        "deep_research.usd": reply.usd,
    }
    if not with_texts:
        return attributes
    said = [{"role": "assistant", "parts": [_part(reply.text)], "finish_reason": reply.stop}]
    return attributes | {"gen_ai.output.messages": json.dumps(said)}


def _part(text: str) -> Mapping[str, str]:
    return {"type": "text", "content": text}


def _query(work: "Work") -> str:
    asked = work.asked.get("query") if isinstance(work.asked, dict) else None
    return str(asked.get("query", "")) if isinstance(asked, dict) else ""


def _plain_scope(scope: str) -> str:
    """Return a place in a run as far as it is named by words and numbers: some end in the address of a page."""
    return "/".join(takewhile(_PLAIN.fullmatch, scope.split("/")))
