"""Ollama, through its own protocol, which alone can set the window of the model."""

import json

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import Fault, JsonMessage, Piece, Vendor, chat_messages, plain_schema


class OllamaVendor(Vendor):
    """Speaks Ollama's /api/chat; thoughts are kept and not asked for: a model that cannot think would refuse."""

    path = "/api/chat"
    framing = "lines"

    def body(self, request: ModelRequest, way: AnswerWay) -> JsonMessage:
        reserve = self._endpoint.reasoning_reserve
        body: JsonMessage = {
            "model": self._endpoint.model,
            "messages": chat_messages(request),
            "options": {"num_ctx": self._endpoint.window + reserve, "num_predict": request.max_tokens + reserve},
            "stream": True,
        }
        if request.answer_schema is not None and way in ("schema", "json"):
            body["format"] = plain_schema(request.answer_schema) if way == "schema" else "json"
        return body

    def piece(self, message: JsonMessage) -> Piece | None:
        """Return what a line adds to the answer; one that says that the model was loaded is none."""
        content, reason = message.get("message") or {}, message.get("done_reason")
        text, thought = content.get("content"), content.get("thinking")
        if reason == "load" and not text:
            return None
        # No tools are offered; a model that calls one all the same has put its answer there.
        inputs = [
            json.dumps(call["function"]["arguments"], ensure_ascii=False) for call in content.get("tool_calls") or []
        ]
        is_done: StopReason | None = "stop" if message.get("done") else None
        return Piece(
            "".join((text if isinstance(text, str) else "", *inputs)),
            thought if isinstance(thought, str) else "",
            "length" if reason == "length" else is_done,
            self.usage(message),
        )

    def usage(self, message: JsonMessage) -> Usage | None:
        """Return what was used; a prompt that the server still had is not counted."""
        return Usage.of(read=message.get("prompt_eval_count"), written=message.get("eval_count"))

    def fault(self, message: JsonMessage) -> Fault | None:
        """Return the error that a line reports; it has words and no code."""
        return Fault(500) if message.get("error") else None
