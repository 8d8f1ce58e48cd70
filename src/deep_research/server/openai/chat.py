"""`/v1/models` and `/v1/chat/completions`."""

import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from deep_research.server.dependencies import Service, Who, links_of
from deep_research.server.openai.replies import Asked, Reply, ReplyKey, ReplyReader, TokenUsage, cited
from deep_research.server.openai.requests import (
    MODELS,
    PING,
    ChatBody,
    OpenAIRoute,
    Refused,
    event_stream,
    unknown_model,
)

router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAIRoute)
# Models are as old as the interface.
_CREATED = 1_767_225_600
_CHUNK = "chat.completion.chunk"


@router.get("/models")
async def list_models(who: Who) -> dict[str, Any]:  # noqa: ARG001 - only those who may ask see them
    """List what can be asked as a model: research at the server's own depth, quick or deep."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{model}")
async def read_model(model: str, who: Who) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Read one model."""
    if model not in MODELS:
        raise unknown_model(model)
    return _model(model)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "deep-research"}


@router.post("/chat/completions", response_model=None)
async def complete_chat(body: ChatBody, request: Request, service: Service, who: Who) -> Response:
    """Research the question of a chat; a question that comes back is answered by the chat's next message."""
    asked = Asked(body.conversation(), body.model, body.deep_research or {})
    key: ReplyKey = await request.app.state.conversations.reply_key_of(asked, who)
    row = await service.get(key.run, who)
    reader = ReplyReader(service, key, who, links_of(request))
    head = {
        "id": f"chatcmpl-{key.name}",
        "created": int(row.created_at.timestamp()),
        "model": body.model,
        "system_fingerprint": None,
    }
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        return event_stream(_chunks(reader, head, with_usage=with_usage), _frame)
    reasoning = [line.text async for line in reader.lines() if line is not None]
    reply = await reader.reply()
    _require_text(reply)
    message = {
        "role": "assistant",
        "content": reply.text,
        "refusal": None,
        "annotations": _annotations(reply),
        "reasoning_content": "\n".join(reasoning),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": _usage(reply.usage)})


async def _chunks(reader: ReplyReader, head: dict[str, Any], *, with_usage: bool) -> AsyncIterator[str]:
    """Yield the frames of a stream: progress as reasoning, the text line by line, its citations, and the end."""

    def chunk(delta: dict[str, Any], *, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        # Whoever wants the usage finds it empty in all chunks but the last.
        return _frame({**head, "object": _CHUNK, "choices": [choice]} | ({"usage": None} if with_usage else {}))

    yield chunk({"role": "assistant", "content": ""})
    async for line in reader.lines():
        yield PING if line is None else chunk({"reasoning_content": f"{line.text}\n"})
    reply = await reader.reply()
    _require_text(reply)
    for piece in reply.text.splitlines(keepends=True):
        yield chunk({"content": piece})
    if annotations := _annotations(reply):
        yield chunk({"annotations": annotations})
    yield chunk({}, finish="stop")
    if with_usage:
        yield _frame({**head, "object": _CHUNK, "choices": [], "usage": _usage(reply.usage)})
    yield "data: [DONE]\n\n"


def _frame(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _require_text(reply: Reply) -> None:
    if reply.status == "cancelled":
        raise Refused(reply.error, code="run_cancelled")
    if reply.status == "failed":
        raise Refused(reply.error, status=HTTPStatus.INTERNAL_SERVER_ERROR, code="run_failed")


def _annotations(reply: Reply) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": cited(citation)} for citation in reply.citations]


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
