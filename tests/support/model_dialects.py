"""The wire formats of models: what each kind of provider is asked, and the bytes in which it answers.

They follow the vendors' own pages: OpenAI's "Chat Completions", Anthropic's "Streaming messages", Google's
"generateContent", Ollama's "Generate a chat completion". Serves nothing; `model_server` does.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from deep_research.llm.port import StopReason
from deep_research.value import Json, JsonObject

DialectName = Literal["openai", "anthropic", "gemini", "ollama"]
_MOMENT: Final = "2026-11-01T00:00:00Z"


@dataclass(frozen=True)
class Answer:
    """What a model says, and what goes wrong on the way.

    `cut_after` and `hang_after` count pieces: the connection is dropped, or falls silent, once so many were sent.
    `lasts_s` spreads the pieces over so many seconds, of which the last is sent at their end.
    """

    text: str = ""
    reasoning: str = ""
    stop: StopReason = "stop"
    tokens_in: int = 100
    tokens_out: int = 20
    tokens_cached: int = 0
    reports_usage: bool = True
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error_details: tuple[JsonObject, ...] = ()
    delay_s: float = 0.0
    pace_s: float = 0.0
    lasts_s: float = 0.0
    piece_chars: int = 12
    cut_after: int | None = None
    hang_after: int | None = None
    raw: bytes | None = None


@dataclass(frozen=True)
class Asked:
    """A request as it came: which dialect, where, with which headers and what body."""

    dialect: DialectName
    path: str
    headers: Mapping[str, str]
    body: JsonObject

    @property
    def is_streamed(self) -> bool:
        """Say whether the answer is wanted in pieces."""
        if self.dialect == "gemini":
            return ":streamGenerateContent" in self.path
        return self.body.get("stream", self.dialect == "ollama") is True

    @property
    def model(self) -> str:
        """Return the model that is asked for."""
        if self.dialect == "gemini":
            return self.path.rpartition("/models/")[2].partition(":")[0]
        return str(self.body.get("model"))

    @property
    def text(self) -> str:
        """Return all words that the model reads, in order."""
        parts = [self.body.get(name) for name in ("system", "systemInstruction", "messages", "contents")]
        return "\n".join(words for part in parts for words in _words(part))

    @property
    def form(self) -> Json:
        """Return the form that the answer must have, as the provider spells it; None where any will do."""
        config = self.body.get("generationConfig")
        settings = config if isinstance(config, dict) else {}
        named = [self.body.get(name) for name in ("response_format", "output_config", "tools", "format")]
        schemas = [settings.get(name) for name in ("responseJsonSchema", "responseSchema", "responseMimeType")]
        return next((form for form in [*named, *schemas] if form), None)


def _words(part: Json) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from _words(item)
    elif isinstance(part, dict):
        for name in ("content", "parts", "text"):
            yield from _words(part.get(name))


def dialect_of(path: str) -> DialectName | None:
    """Return the dialect that a path belongs to."""
    place = path.partition("?")[0]
    if place.endswith("/chat/completions"):
        return "openai"
    if place.endswith("/v1/messages"):
        return "anthropic"
    if place.endswith((":generateContent", ":streamGenerateContent")):
        return "gemini"
    return "ollama" if place.endswith("/api/chat") else None


def stream_of(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """Yield the answer in pieces, as they go over the wire."""
    return _DIALECTS[asked.dialect](asked, answer)


def whole_of(asked: Asked, answer: Answer) -> JsonObject:
    """Return the answer in one piece, for who asks without streaming."""
    ends: dict[DialectName, dict[str, str]] = {
        "openai": {"length": "length", "refusal": "content_filter", "stop": "stop"},
        "anthropic": {"length": "max_tokens", "refusal": "refusal", "stop": "end_turn"},
        "gemini": {"length": "MAX_TOKENS", "refusal": "SAFETY", "stop": "STOP"},
        "ollama": {"length": "length", "refusal": "stop", "stop": "stop"},
    }
    end, model, read, written = ends[asked.dialect][answer.stop], asked.model, answer.tokens_in, answer.tokens_out
    if asked.dialect == "openai":
        said: JsonObject = {"role": "assistant", "content": answer.text, "reasoning_content": answer.reasoning}
        if tool := _forced_tool(asked):
            call: JsonObject = {"id": "call_1", "type": "function", "function": tool | {"arguments": answer.text}}
            said, end = said | {"content": None, "tool_calls": [call]}, "tool_calls"
        choice: JsonObject = {"index": 0, "message": said, "logprobs": None, "finish_reason": end}
        usage: JsonObject = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        frame: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
        return frame | {"choices": [choice], "usage": usage}
    if asked.dialect == "anthropic":
        blocks: list[Json] = [{"type": "text", "text": answer.text}]
        counts: JsonObject = {"input_tokens": read, "output_tokens": written}
        message: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
        return message | {"content": blocks, "stop_reason": end, "stop_sequence": None, "usage": counts}
    if asked.dialect == "gemini":
        content: JsonObject = {"parts": [{"text": answer.text}], "role": "model"}
        tokens: JsonObject = {"promptTokenCount": read, "candidatesTokenCount": written}
        candidate: JsonObject = {"content": content, "finishReason": end, "index": 0}
        return {"candidates": [candidate], "usageMetadata": tokens, "modelVersion": model}
    words: JsonObject = {"role": "assistant", "content": answer.text, "thinking": answer.reasoning}
    times: JsonObject = {"prompt_eval_count": read, "eval_count": written}
    return {"model": model, "created_at": _MOMENT, "message": words, "done": True, "done_reason": end, **times}


def media_type(asked: Asked) -> str:
    """Return the media type of an answer in pieces."""
    return "application/x-ndjson" if asked.dialect == "ollama" else "text/event-stream"


def error_body(asked: Asked, answer: Answer) -> JsonObject:
    """Return what the provider writes beside a status."""
    message = f"The server answers with status {answer.status}."
    details: list[Json] = [*answer.error_details]
    errors: dict[DialectName, JsonObject] = {
        "openai": {"error": {"message": message, "type": "error", "param": None, "code": None}},
        "anthropic": {"type": "error", "error": {"type": "api_error", "message": message}, "request_id": "req_1"},
        "gemini": {"error": {"code": answer.status, "message": message, "status": "UNKNOWN", "details": details}},
        "ollama": {"error": message},
    }
    return errors[asked.dialect]


def _split(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _event(data: Json, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _forced_tool(asked: Asked) -> JsonObject:
    """Return the name of the function that a model must call by OpenAI's protocol; empty where it need not."""
    choice = asked.body.get("tool_choice")
    function = choice.get("function") if isinstance(choice, dict) else None
    return {"name": function.get("name")} if isinstance(function, dict) else {}


def _openai(asked: Asked, answer: Answer) -> Iterator[bytes]:
    # OpenRouter gives thoughts another name than DeepSeek, Qwen and vLLM.
    thought = "reasoning" if asked.path.startswith("/openrouter") else "reasoning_content"
    frame: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": asked.model}

    def chunk(delta: JsonObject, finish: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event(frame | {"choices": [choice]})

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in _split(answer.reasoning, answer.piece_chars):
        yield chunk({thought: piece})
    kind = "refusal" if answer.stop == "refusal" and answer.text else "content"
    tool = _forced_tool(asked)
    if tool:
        function: JsonObject = {**tool, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    for piece in _split(answer.text, answer.piece_chars):
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} if tool else {kind: piece})
    finish = {"length": "length", "refusal": "stop" if answer.text else "content_filter"}
    yield chunk({}, finish.get(answer.stop, "tool_calls" if tool else "stop"))
    options = asked.body.get("stream_options")
    if answer.reports_usage and isinstance(options, dict) and options.get("include_usage"):
        usage: JsonObject = {
            "prompt_tokens": answer.tokens_in,
            "completion_tokens": answer.tokens_out,
            "total_tokens": answer.tokens_in + answer.tokens_out,
            "prompt_tokens_details": {"cached_tokens": answer.tokens_cached},
        }
        yield _event(frame | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _anthropic(asked: Asked, answer: Answer) -> Iterator[bytes]:
    def event(kind: str, **data: Json) -> bytes:
        return _event({"type": kind, **data}, kind)

    def block(index: int, start: JsonObject, kind: str, key: str, text: str) -> Iterator[bytes]:
        yield event("content_block_start", index=index, content_block=start)
        for piece in _split(text, answer.piece_chars):
            yield event("content_block_delta", index=index, delta={"type": kind, key: piece})
        yield event("content_block_stop", index=index)

    usage: JsonObject = {}
    if answer.reports_usage:
        fresh = answer.tokens_in - answer.tokens_cached
        cache: JsonObject = {"cache_read_input_tokens": answer.tokens_cached, "cache_creation_input_tokens": 0}
        usage = {"input_tokens": fresh, **cache, "output_tokens": answer.tokens_out}
    message: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.model, "content": []}
    start_usage: JsonObject = {"input_tokens": 0, "output_tokens": 1, **usage}
    yield event("message_start", message=message | {"stop_reason": None, "stop_sequence": None, "usage": start_usage})
    yield event("ping")
    index = 0
    if answer.reasoning:
        thinking: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
        yield from block(index, thinking, "thinking_delta", "thinking", answer.reasoning)
        index += 1
    choice = asked.body.get("tool_choice")
    if isinstance(choice, dict):
        tool: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": choice.get("name"), "input": {}}
        yield from block(index, tool, "input_json_delta", "partial_json", answer.text)
    elif answer.text:
        yield from block(index, {"type": "text", "text": ""}, "text_delta", "text", answer.text)
    ends = {"length": "max_tokens", "refusal": "refusal"}
    end: JsonObject = {
        "stop_reason": ends.get(answer.stop, "tool_use" if choice else "end_turn"),
        "stop_sequence": None,
    }
    yield event("message_delta", delta=end, usage=usage or {"output_tokens": 0})
    yield event("message_stop")


def _gemini(asked: Asked, answer: Answer) -> Iterator[bytes]:
    usage: JsonObject = {}
    if answer.reports_usage:
        usage = {
            "promptTokenCount": answer.tokens_in,
            "candidatesTokenCount": answer.tokens_out,
            "totalTokenCount": answer.tokens_in + answer.tokens_out,
            "cachedContentTokenCount": answer.tokens_cached,
        }
    frame: JsonObject = {"modelVersion": asked.model, "responseId": "r1"}

    def chunk(parts: list[Json], finish: str | None = None) -> bytes:
        candidate: JsonObject = {"content": {"parts": parts, "role": "model"}, "index": 0}
        ended: JsonObject = {"finishReason": finish} if finish else {}
        return _event(frame | {"candidates": [candidate | ended]} | ({"usageMetadata": usage} if finish else {}))

    if answer.stop == "refusal" and not answer.text:
        yield _event(frame | {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage})
        return
    for piece in _split(answer.reasoning, answer.piece_chars):
        yield chunk([{"text": piece, "thought": True}])
    for piece in _split(answer.text, answer.piece_chars):
        yield chunk([{"text": piece}])
    yield chunk([{"text": ""}], {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(answer.stop, "STOP"))


def _ollama(asked: Asked, answer: Answer) -> Iterator[bytes]:
    def line(message: JsonObject, **data: Json) -> bytes:
        at = {"model": asked.model, "created_at": _MOMENT}
        said: JsonObject = {"role": "assistant", "content": "", **message}
        return (json.dumps({**at, "message": said, "done": False, **data}, ensure_ascii=False) + "\n").encode()

    for piece in _split(answer.reasoning, answer.piece_chars):
        yield line({"thinking": piece})
    for piece in _split(answer.text, answer.piece_chars):
        yield line({"content": piece})
    counts: JsonObject = {"prompt_eval_count": answer.tokens_in, "eval_count": answer.tokens_out}
    durations: JsonObject = {"total_duration": 1, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 1}
    end: JsonObject = {"done": True, "done_reason": "length" if answer.stop == "length" else "stop", **durations}
    yield line({}, **end | (counts if answer.reports_usage else {}))


_DIALECTS: Final[dict[DialectName, Callable[[Asked, Answer], Iterator[bytes]]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
