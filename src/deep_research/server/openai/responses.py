"""`/v1/responses`: made, read again, followed again from any event, and cancelled."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from deep_research.errors import UnknownRun
from deep_research.events import ENDED
from deep_research.request import Depth
from deep_research.server.dependencies import Service, Who, links_of
from deep_research.server.openai.replies import (
    Asked,
    Reply,
    ReplyKey,
    ReplyReader,
    TokenUsage,
    cited,
    questions_of,
    reply_key,
)
from deep_research.server.openai.requests import MODELS, PING, OpenAIRoute, Refused, ResponsesBody, event_stream
from deep_research.service.accounts.identity import Identity
from deep_research.service.runs.progress_lines import Line
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow

Event = dict[str, Any]
router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAIRoute)
_PREFIX = "resp_"


@dataclass
class ResponseWriter:
    """Writes one response: progress as a summary of reasoning, a part a stage; then the text with its citations.

    The same reply gives the same events with the same numbers, so that a reader can come back to any of them.
    """

    id: str
    created_at: datetime
    model: str
    echoed: Mapping[str, Any]
    _number: int = 0
    _output: list[dict[str, Any]] = field(default_factory=list)
    # The parts of the summary; the last one is being written.
    _parts: list[str] = field(default_factory=list)

    def response(self, status: str, **more: Any) -> dict[str, Any]:
        """Return the response as it stands."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": int(self.created_at.timestamp()),
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": None,
            "metadata": {},
            "model": self.model,
            "output": list(self._output),
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": "detailed"},
            "store": True,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": None,
            "user": None,
            **self.echoed,
            **more,
        }

    def begin(self) -> Iterator[Event]:
        """Yield what opens a response."""
        yield self._event("response.created", response=self.response("in_progress"))
        yield self._event("response.in_progress", response=self.response("in_progress"))

    def progress(self, line: Line) -> Iterator[Event]:
        """Yield what adds a line to the summary; a stage opens a part of its own."""
        if not self._parts:
            item = {"id": self._item("rs"), "type": "reasoning", "summary": []}
            yield self._event("response.output_item.added", output_index=0, item=item)
        if line.is_stage or not self._parts:
            yield from self._end_part()
            self._parts.append("")
            yield self._summary("part.added", part={"type": "summary_text", "text": ""})
        delta = f"**{line.text}**\n\n" if line.is_stage else f"{line.text.strip()}\n"
        self._parts[-1] += delta
        yield self._summary("text.delta", delta=delta)

    def end(self, reply: Reply) -> Iterator[Event]:
        """Yield what closes a response."""
        if self._parts:
            yield from self._end_part()
            item = {"id": self._item("rs"), "type": "reasoning", "summary": [_summary(text) for text in self._parts]}
            yield self._event("response.output_item.done", output_index=0, item=item)
            self._output.append(item)
        usage = _usage(reply.usage)
        if reply.status == "completed":
            yield from self._message(reply)
            yield self._event("response.completed", response=self.response("completed", usage=usage))
            return
        error = {"code": "server_error", "message": reply.error}
        yield self._event("response.failed", response=self.response(reply.status, usage=usage, error=error))

    def _end_part(self) -> Iterator[Event]:
        if self._parts:
            yield self._summary("text.done", text=self._parts[-1])
            yield self._summary("part.done", part=_summary(self._parts[-1]))

    def _message(self, reply: Reply) -> Iterator[Event]:
        item = {"id": self._item("msg"), "type": "message", "role": "assistant"}
        position: dict[str, Any] = {"output_index": len(self._output)}
        yield self._event(
            "response.output_item.added", **position, item={**item, "status": "in_progress", "content": []}
        )
        position |= {"item_id": item["id"], "content_index": 0}
        yield self._event("response.content_part.added", **position, part=_part("", []))
        for piece in reply.text.splitlines(keepends=True):
            yield self._event("response.output_text.delta", **position, delta=piece, logprobs=[])
        annotations = [{"type": "url_citation", **cited(citation)} for citation in reply.citations]
        for at, annotation in enumerate(annotations):
            more = {"annotation_index": at, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **position, **more)
        yield self._event("response.output_text.done", **position, text=reply.text, logprobs=[])
        part = _part(reply.text, annotations)
        yield self._event("response.content_part.done", **position, part=part)
        done = {**item, "status": "completed", "content": [part]}
        yield self._event("response.output_item.done", output_index=position["output_index"], item=done)
        self._output.append(done)

    def _summary(self, kind: str, **more: Any) -> Event:
        at = {"item_id": self._item("rs"), "output_index": 0, "summary_index": len(self._parts) - 1}
        return self._event(f"response.reasoning_summary_{kind}", **at, **more)

    def _event(self, type_: str, **more: Any) -> Event:
        self._number += 1
        return {"type": type_, "sequence_number": self._number - 1, **more}

    def _item(self, kind: str) -> str:
        return f"{kind}_{self.id.partition('_')[2]}"


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _part(text: str, annotations: list[Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }


@router.post("/responses", response_model=None)
async def create_response(body: ResponsesBody, request: Request, service: Service, who: Who) -> Response:
    """Research a question; with `background`, answer at once with the id under which it is read later."""
    messages = body.messages()
    previous = None
    if body.previous_response_id is not None:
        previous = reply_key(body.previous_response_id.removeprefix(_PREFIX))
        if previous is None:
            raise _unknown(body.previous_response_id, code="previous_response_not_found")
    asked = Asked(messages, body.model, body.deep_research or {}, previous)
    key: ReplyKey = await request.app.state.conversations.reply_key_of(asked, who)
    echoed = {
        "background": bool(body.background),
        "instructions": body.instructions,
        "metadata": body.metadata or {},
        "previous_response_id": body.previous_response_id,
    }
    row = await service.get(key.run, who)
    writer = ResponseWriter(f"{_PREFIX}{key.name}", row.created_at, body.model, echoed)
    if body.background and not body.stream:
        return _under_way(writer, row)
    events = _events(ReplyReader(service, key, who, links_of(request)), writer)
    if body.stream:
        return _streamed(events)
    return JSONResponse(await _last_response(events))


@router.get("/responses/{response}", response_model=None)
async def read_response(
    response: str,
    request: Request,
    service: Service,
    who: Who,
    stream: bool = False,
    starting_after: Annotated[int, Query(ge=0)] = -1,
) -> Response:
    """Read a response again, or follow it from the event after a number; one that is under way says so."""
    earlier = await _earlier_response(response, request, service, who)
    if stream:
        return _streamed(earlier.events, after=starting_after)
    if not earlier.is_over:
        return _under_way(earlier.writer, earlier.row)
    return JSONResponse(await _last_response(earlier.events))


@router.post("/responses/{response}/cancel", response_model=None)
async def cancel_response(response: str, request: Request, service: Service, who: Who) -> Response:
    """Cancel the research; one that is over is left as it is."""
    earlier = await _earlier_response(response, request, service, who)
    row = earlier.row if earlier.is_over else await service.cancel(earlier.row.id, who)
    if row.status != "cancelled" and row.cancel_requested:
        # The process that works on it stops within moments.
        return JSONResponse(earlier.writer.response("cancelled"))
    return JSONResponse(await _last_response(earlier.events))


@router.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False)
async def refuse_others(path: str) -> None:
    """Say that the rest of OpenAI's interface is not served."""
    raise Refused(
        f"There is nothing at /v1/{path}: models, chat/completions and responses are served.",
        status=HTTPStatus.NOT_FOUND,
    )


async def _events(reader: ReplyReader, writer: ResponseWriter) -> AsyncIterator[Event | None]:
    """Yield the events of a response; None where nothing happened for a while."""
    for event in writer.begin():
        yield event
    async for line in reader.lines():
        if line is None:
            yield None
            continue
        for event in writer.progress(line):
            yield event
    for event in writer.end(await reader.reply()):
        yield event


def _streamed(events: AsyncIterator[Event | None], *, after: int = -1) -> Response:
    async def frames() -> AsyncIterator[str]:
        async for event in events:
            if event is None:
                yield PING
            elif event["sequence_number"] > after:
                yield _frame(event)

    return event_stream(frames(), _error_frame)


def _frame(event: Event) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def _error_frame(refused: dict[str, Any]) -> str:
    error = refused["error"]
    return _frame({"type": "error", "sequence_number": 0, **{key: error[key] for key in ("code", "message", "param")}})


async def _last_response(events: AsyncIterator[Event | None]) -> Event:
    last: Event = {}
    async for event in events:
        last = event or last
    response: Event = last["response"]
    return response


class _EarlierResponse(NamedTuple):
    """A response that was begun before: its run, whether its turn is over, and its events, which are made again."""

    row: RunRow
    is_over: bool
    writer: ResponseWriter
    events: AsyncIterator[Event | None]


async def _earlier_response(
    response: str, request: Request, service: ResearchService, who: Identity
) -> _EarlierResponse:
    key = reply_key(response.removeprefix(_PREFIX))
    if key is None:
        raise _unknown(response)
    try:
        row = await service.get(key.run, who)
    except UnknownRun:
        raise _unknown(response) from None
    questions = len(await questions_of(service, row))
    if key.number > questions:
        raise _unknown(response)
    own = service.settings.research_depth()
    named = (name for name, depth in MODELS.items() if depth and row.request.depth == Depth.named(depth) != own)
    writer = ResponseWriter(f"{_PREFIX}{key.name}", row.created_at, next(named, next(iter(MODELS))), {})
    events = _events(ReplyReader(service, key, who, links_of(request)), writer)
    return _EarlierResponse(row, row.status in ENDED or key.number < questions, writer, events)


def _unknown(response: str, code: str = "not_found") -> Refused:
    return Refused(f"There is no response {response!r}.", status=HTTPStatus.NOT_FOUND, code=code)


def _under_way(writer: ResponseWriter, row: RunRow) -> Response:
    return JSONResponse(writer.response("queued" if row.status == "created" else "in_progress"))
