"""Ollama, through its own protocol, which alone can set the window of the model."""

import json
from collections.abc import Mapping
from typing import Final

from deep_research.llm.port import ModelRequest, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.registry import AnswerWay
from deep_research.llm.structured import plain_schema
from deep_research.llm.vendor import Fault, Framing, Message, ModelEndpoint, Piece, first_message, number_of, turns_of

_SPEAKERS: Final = {"model": "assistant", "user": "user"}


class OllamaVendor:
    """Speaks Ollama's /api/chat; thoughts are kept and not asked for: a model that cannot think would refuse."""

    framing: Framing = "lines"

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint

    @property
    def address(self) -> str:
        """Return where a question goes."""
        return f"{self._endpoint.address}/api/chat"

    @property
    def headers(self) -> dict[str, str]:
        """Return the key of whoever guards the server, if there is one."""
        return {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}

    def body(self, request: ModelRequest, way: AnswerWay) -> Message:
        """Return what the model reads, the window, the most it may answer, and the form its answer must have."""
        room = self._endpoint.reasoning_room
        system = [{"role": "system", "content": request.system}] if request.system else []
        turns = [{"role": _SPEAKERS[speaker], "content": text} for speaker, text in turns_of(request)]
        body: Message = {
            "model": self._endpoint.model,
            "messages": [*system, {"role": "user", "content": first_message(request)}, *turns],
            "options": {"num_ctx": self._endpoint.window + room, "num_predict": request.max_tokens + room},
            "stream": True,
        }
        if request.answer_schema is not None and way in ("schema", "json"):
            body["format"] = plain_schema(request.answer_schema) if way == "schema" else "json"
        return body

    def piece(self, message: Message) -> Piece | None:
        """Return what a line adds to the answer; one that says that the model was loaded is none."""
        said, reason = message.get("message") or {}, message.get("done_reason")
        text, thought = said.get("content"), said.get("thinking")
        if reason == "load" and not text:
            return None
        # Nobody offers tools; a model that calls one all the same has put its answer there.
        inputs = [
            json.dumps(call["function"]["arguments"], ensure_ascii=False) for call in said.get("tool_calls") or []
        ]
        is_done: StopReason | None = "stop" if message.get("done") else None
        return Piece(
            "".join((text if isinstance(text, str) else "", *inputs)),
            thought if isinstance(thought, str) else "",
            "length" if reason == "length" else is_done,
            self.usage(message),
        )

    def usage(self, message: Message) -> Usage | None:
        """Return what was used; a prompt that the server still had is not counted."""
        return Usage.of(read=number_of(message.get("prompt_eval_count")), written=number_of(message.get("eval_count")))

    def fault(self, message: Message, status: int | None, headers: Mapping[str, str]) -> Fault | None:
        """Return the error that a line tells; it has words and no code."""
        return Fault(500 if status is None else status, headers) if message.get("error") else None
