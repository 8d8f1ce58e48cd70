"""Anthropic's Claude, through its own protocol of messages."""

import json
from typing import Any

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage, number_of
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import (
    ANSWER_NAME,
    Fault,
    JsonMessage,
    ModelEndpoint,
    Piece,
    Vendor,
    messages_of,
    object_of,
    plain_schema,
    status_of,
)

_API_VERSION = "2026-10-21"
_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
# Errors that come in the middle of a stream have a name in place of a status.
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# Only this sentence distinguishes an account without credit from a request of the wrong form: type and status are the
# same, and there is no code. Where Anthropic words it anew, it is reported as a request that was not taken.
_NO_CREDIT = "Your credit balance is too low to access the Anthropic API."
# The API takes four marks in a request: one on the system's words, the others on the latest blocks of context.
_MARKED_BLOCKS = 3
_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicVendor(Vendor):
    """Speaks Anthropic's messages."""

    path = "/v1/messages"

    def __init__(self, endpoint: ModelEndpoint) -> None:
        super().__init__(endpoint)
        self.headers["anthropic-version"] = _API_VERSION

    def body(self, request: ModelRequest, way: AnswerWay) -> JsonMessage:
        """Return what the model reads, with marks for its cache where the parts end that come again."""
        marked = len(request.context) - _MARKED_BLOCKS
        blocks = [_text(f"{block}\n\n", is_marked=number >= marked) for number, block in enumerate(request.context)]
        user = {"role": "user", "content": [*blocks, _text(request.prompt, is_marked=False)]}
        messages = [{"role": role, "content": text} for role, text in messages_of(request)]
        body: JsonMessage = {
            "model": self._endpoint.model,
            "max_tokens": request.max_tokens + self._endpoint.reasoning_reserve,
            "messages": [user, *messages],
            "stream": True,
        }
        if request.system:
            body["system"] = [_text(request.system)]
        if request.answer_schema is None:
            return body
        schema = plain_schema(request.answer_schema)
        if way == "schema":
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        elif way == "tool":
            tool = {"name": ANSWER_NAME, "description": "Give the answer.", "input_schema": schema}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_NAME}}
        return body

    def piece(self, message: JsonMessage) -> Piece | None:
        """Return what an event adds; a server that does not stream sends one message with all blocks."""
        usage = self.usage(message)
        match message.get("type"):
            case "content_block_start":
                return _block(message["content_block"])
            case "content_block_delta":
                delta = message["delta"]
                text = delta.get("text") or delta.get("partial_json")
                return Piece(str(text or ""), str(delta.get("thinking") or ""))
            case "message_stop":
                return Piece(stop="stop")
            case "message_start":
                # How much it has written is not known yet: the count there is that of the first event.
                return Piece(usage=usage.replace(written=0) if usage else None)
            case "message_delta":
                return Piece(stop=_stop(message["delta"]), usage=usage)
            case "message":
                blocks = [_block(block) for block in message["content"]]
                texts, thoughts = (block.text for block in blocks), (block.thought for block in blocks)
                return Piece("".join(texts), "".join(thoughts), _stop(message), usage)
        return None

    def usage(self, message: JsonMessage) -> Usage | None:
        """Return what was used so far; what was read stood only at a stream's beginning until late in 2025."""
        begun = message.get("message")
        report = object_of((begun if isinstance(begun, dict) else message).get("usage"))
        cached = number_of(report.get("cache_read_input_tokens"))
        cache_written = number_of(report.get("cache_creation_input_tokens"))
        return Usage.of(
            read=number_of(report.get("input_tokens")) + cached + cache_written,
            cached=cached,
            cache_written=cache_written,
            written=report.get("output_tokens"),
        )

    def fault(self, message: JsonMessage) -> Fault | None:
        error = message.get("error")
        if not error:
            return None
        detail = object_of(error)
        kind = str(detail.get("type"))
        is_broke = kind == "billing_error" or str(detail.get("message")).startswith(_NO_CREDIT)
        return Fault(status_of(_STATUS_OF.get(kind)), remedy="credit" if is_broke else None)


def _stop(message: JsonMessage) -> StopReason | None:
    reason = message.get("stop_reason")
    return _STOPS.get(reason, "stop") if reason else None


def _block(block: JsonMessage) -> Piece:
    """Return what a block holds; the input of the tool that stands for an answer is its text."""
    arguments = block.get("input")
    text = json.dumps(arguments, ensure_ascii=False) if arguments else block.get("text")
    return Piece(str(text or ""), str(block.get("thinking") or ""))


def _text(text: str, *, is_marked: bool = True) -> dict[str, Any]:
    return {"type": "text", "text": text} | (_MARK if is_marked else {})
