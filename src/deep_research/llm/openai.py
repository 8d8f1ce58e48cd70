"""OpenAI and all who speak its protocol of chat completions: DeepSeek, Qwen, OpenRouter, vLLM, LM Studio, llama.cpp."""

from typing import Any

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import (
    ANSWER_NAME,
    Fault,
    JsonMessage,
    Piece,
    Remedy,
    Vendor,
    chat_messages,
    object_of,
    plain_schema,
    status_of,
)

_STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal"}
# Errors that no later call can escape; OpenAI has given quota several codes, all of the type `insufficient_quota`.
_REMEDIES: dict[str, Remedy] = {
    "invalid_api_key": "key",
    "model_not_found": "name",
    "insufficient_quota": "credit",
    "billing_hard_limit_reached": "credit",
    "billing_not_active": "credit",
    "Arrearage": "credit",
}
# By Qwen's servers `insufficient_quota` means tokens a minute.
_PASSES_AT = {("qwen", "insufficient_quota")}
# Errors that come in the middle of a stream often have a name in place of a status.
_STATUS_OF = {
    "invalid_request_error": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
}


class OpenaiVendor(Vendor):
    """Speaks chat completions."""

    path = "/chat/completions"

    def body(self, request: ModelRequest, way: AnswerWay) -> JsonMessage:
        endpoint = self._endpoint
        # OpenAI has renamed the limit, and the others have not.
        limit = "max_completion_tokens" if endpoint.provider.name == "openai" else "max_tokens"
        body: JsonMessage = {
            "model": endpoint.model,
            "messages": chat_messages(request),
            limit: request.max_tokens + endpoint.reasoning_reserve,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.answer_schema is not None and way in ("schema", "json"):
            schema = {"name": ANSWER_NAME, "strict": True, "schema": plain_schema(request.answer_schema)}
            form: JsonMessage = {"type": "json_schema", "json_schema": schema}
            body["response_format"] = form if way == "schema" else {"type": "json_object"}
        return body

    def piece(self, message: JsonMessage) -> Piece | None:
        """Return what an object adds to the answer; servers give thoughts under either of two names, or as parts."""
        choice = _choice(message)
        usage = self.usage(message)
        if not choice and usage is None:
            return None
        content = choice.get("delta") or choice.get("message") or {}
        refusal, reason = content.get("refusal"), choice.get("finish_reason")
        texts, thoughts = _parts(content.get("content"))
        calls = [call["function"].get("arguments") for call in content.get("tool_calls") or []]
        texts += [text for text in (refusal, *calls) if isinstance(text, str)]
        thought = content.get("reasoning_content") or content.get("reasoning")
        return Piece(
            text="".join(texts),
            thought=thought if isinstance(thought, str) else "".join(thoughts),
            stop="refusal" if refusal else _STOPS.get(reason, "stop") if reason else None,
            usage=usage,
        )

    def usage(self, message: JsonMessage) -> Usage | None:
        """Return what was used so far; most servers report it at the end."""
        report = object_of(message.get("usage"))
        details = report.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else report.get("prompt_cache_hit_tokens")
        return Usage.of(read=report.get("prompt_tokens"), cached=cached, written=report.get("completion_tokens"))

    def fault(self, message: JsonMessage) -> Fault | None:
        """Return the error that an object holds, beside its choices or in one of them."""
        choice = _choice(message)
        error = message.get("error") or choice.get("error")
        if message.get("object") == "error":
            error = message
        if not error:
            return Fault(500) if choice.get("finish_reason") == "error" else None
        detail = object_of(error)
        names = [str(detail.get(field)) for field in ("code", "type")]
        by_name = [_STATUS_OF.get(name) for name in names]
        status = status_of(detail.get("status_code"), detail.get("code"), *by_name)
        remedies = [_REMEDIES.get(name) for name in names if (self._endpoint.provider.name, name) not in _PASSES_AT]
        return Fault(status, remedy=next(filter(None, remedies), None))


def _choice(message: JsonMessage) -> JsonMessage:
    """Return the answer that was asked for, where a server sends several side by side."""
    return next((one for one in message.get("choices") or [] if not one.get("index")), {})


def _parts(content: Any) -> tuple[list[str], list[str]]:
    """Return texts and thoughts of a content, which is a text or, by some servers, a list of parts."""
    if isinstance(content, str):
        return [content], []
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    thinking = [_parts(part.get("thinking")) for part in parts if part.get("type") == "thinking"]
    thoughts = [thought for texts, more in thinking for thought in texts + more]
    texts = [part.get("text") for part in parts if part.get("type") != "thinking"]
    return [text for text in texts if isinstance(text, str)], thoughts
