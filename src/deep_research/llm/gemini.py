"""Google's Gemini, through its own protocol."""

import json
from urllib.parse import quote

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage, number_of
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import (
    Fault,
    JsonMessage,
    ModelEndpoint,
    Piece,
    Remedy,
    Vendor,
    first_message,
    messages_of,
    object_of,
    plain_schema,
    status_of,
)

_REFUSALS = "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT"
_STOPS: dict[str, StopReason] = {"MAX_TOKENS": "length", **dict.fromkeys(_REFUSALS.split(), "refusal")}
# The reasons of google.rpc.ErrorInfo that no later call can escape; a wrong key has the status of a wrong request.
_REMEDIES: dict[str, Remedy] = {"API_KEY_INVALID": "key", "BILLING_DISABLED": "credit"}


class GeminiVendor(Vendor):
    """Speaks Gemini's generateContent."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        super().__init__(endpoint)
        model = quote(endpoint.model.removeprefix("models/"), safe="")
        self.address = f"{endpoint.address}/v1beta/models/{model}:streamGenerateContent?alt=sse"
        self.headers = {"x-goog-api-key": endpoint.key}

    def body(self, request: ModelRequest, way: AnswerWay) -> JsonMessage:
        messages = [("user", first_message(request)), *messages_of(request, model="model")]
        config: JsonMessage = {"maxOutputTokens": request.max_tokens + self._endpoint.reasoning_reserve}
        if self._endpoint.thinks:
            config["thinkingConfig"] = {"includeThoughts": True}
        if request.answer_schema is not None and way != "prompt":
            config["responseMimeType"] = "application/json"
        if request.answer_schema is not None and way == "schema":
            config["responseJsonSchema"] = plain_schema(request.answer_schema)
        body: JsonMessage = {
            "contents": [{"role": role, "parts": [{"text": text}]} for role, text in messages],
            "generationConfig": config,
        }
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        return body

    def piece(self, message: JsonMessage) -> Piece | None:
        candidate: JsonMessage = next((one for one in message.get("candidates") or [] if not one.get("index")), {})
        blocked = (message.get("promptFeedback") or {}).get("blockReason")
        usage, reason = self.usage(message), candidate.get("finishReason")
        if not candidate and not blocked and usage is None:
            return None
        parts = (candidate.get("content") or {}).get("parts") or []
        texts = [(str(part.get("text") or ""), part.get("thought")) for part in parts]
        return Piece(
            "".join(text for text, is_thought in texts if not is_thought),
            "".join(text for text, is_thought in texts if is_thought),
            "refusal" if blocked else _STOPS.get(reason, "stop") if reason else None,
            usage,
        )

    def usage(self, message: JsonMessage) -> Usage | None:
        """Return what was used so far; thoughts are counted apart, and paid for like words."""
        report = object_of(message.get("usageMetadata"))
        return Usage.of(
            read=report.get("promptTokenCount"),
            cached=report.get("cachedContentTokenCount"),
            written=number_of(report.get("candidatesTokenCount")) + number_of(report.get("thoughtsTokenCount")),
        )

    def fault(self, message: JsonMessage) -> Fault | None:
        error = message.get("error")
        if not error:
            return None
        detail = object_of(error)
        details = detail.get("details")
        parts = [part for part in details if isinstance(part, dict)] if isinstance(details, list) else []
        remedies = [_REMEDIES.get(str(part.get("reason"))) for part in parts]
        return Fault(
            status_of(detail.get("code")),
            retry_after_s=_retry_delay_s(parts),
            remedy=next(filter(None, remedies), None),
        )


def _retry_delay_s(parts: list[JsonMessage]) -> float | None:
    """Return the wait that Google names in the answer's body (google.rpc.RetryInfo), as in "34s"."""
    for part in parts:
        try:
            return float(json.loads(str(part.get("retryDelay")).removesuffix("s")))
        except (ValueError, TypeError):
            continue
    return None
