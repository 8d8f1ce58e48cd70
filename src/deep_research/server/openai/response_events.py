"""The events of a response in the order of OpenAI's protocol, and the response as it stands after each of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from deep_research.server.openai.replies import Reply, TokenUsage, cited
from deep_research.service.runs.progress_lines import Line

Event = dict[str, Any]


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
