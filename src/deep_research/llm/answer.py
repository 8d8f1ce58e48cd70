"""An answer as it grows: its text, its thoughts, why it ended and what it used, gathered from a vendor's pieces."""

from collections.abc import Mapping

from langchain_core.messages import AIMessageChunk

from deep_research.llm.port import Delta, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.repetition import CircleWatch
from deep_research.llm.thinking import ThoughtSplitter
from deep_research.llm.tokens import tokens_at_most


class GrowingAnswer:
    """Takes pieces one by one; `usage_adds_up` says how the vendor reports usage on the way."""

    def __init__(self, *, usage_adds_up: bool) -> None:
        self._usage_adds_up = usage_adds_up
        self._parts = ThoughtSplitter()
        self._text_watch, self._thought_watch = CircleWatch(), CircleWatch()
        self._reported = Usage()
        self.stop: StopReason | None = None
        self.has_begun = False

    def take(self, chunk: AIMessageChunk, stop: StopReason | None) -> list[Delta]:
        """Add a piece, and return what is new in it for whoever looks on."""
        self.has_begun = True
        # The first reason stands: after a refusal servers still say that they stopped.
        self.stop = self.stop or stop
        self._count(chunk.usage_metadata)
        text, thought = _words(chunk)
        deltas = self._parts.think(thought) + self._parts.feed(text)
        if self._text_watch.is_circling(self._parts.text) or self._thought_watch.is_circling(self._parts.reasoning):
            self.stop = "loop"
        return deltas

    def finish(self) -> list[Delta]:
        """End the answer, and return what was held back."""
        return self._parts.finish()

    @property
    def is_circling(self) -> bool:
        """Say whether the answer goes round in circles."""
        return self.stop == "loop"

    @property
    def text(self) -> str:
        """Return the answer up to where it began to repeat itself."""
        return self._parts.text[: self._text_watch.start]

    @property
    def reasoning(self) -> str:
        """Return the thoughts."""
        return self._parts.reasoning[: self._thought_watch.start]

    def usage(self, prompt_tokens: int) -> Usage:
        """Return what the provider reports, and an estimate of what it does not."""
        written = tokens_at_most(self._parts.text) + tokens_at_most(self._parts.reasoning)
        return Usage(
            read=self._reported.read or prompt_tokens,
            cached=self._reported.cached,
            cache_written=self._reported.cache_written,
            written=self._reported.written or written,
        )

    def _count(self, report: Mapping[str, object] | None) -> None:
        if not report:
            return
        details = report.get("input_token_details")
        parts = details if isinstance(details, dict) else {}
        new = Usage(
            read=_number(report.get("input_tokens")),
            cached=_number(parts.get("cache_read")),
            cache_written=_number(parts.get("cache_creation")),
            written=_number(report.get("output_tokens")),
        )
        if self._usage_adds_up:
            new = Usage(**{name: count + getattr(self._reported, name) for name, count in new})
        self._reported = new


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _words(chunk: AIMessageChunk) -> tuple[str, str]:
    """Return text and thought of a piece; the input of the tool that stands for an answer is its text."""
    text, thought = [], [str(chunk.additional_kwargs.get("reasoning_content") or "")]
    for block in [chunk.content] if isinstance(chunk.content, str) else chunk.content:
        if isinstance(block, str):
            text.append(block)
        elif block.get("type") == "text":
            text.append(str(block.get("text") or ""))
        elif block.get("type") == "thinking":
            thought.append(str(block.get("thinking") or ""))
    text.append(str(chunk.additional_kwargs.get("refusal") or ""))
    text.extend(str(call.get("args") or "") for call in chunk.tool_call_chunks)
    return "".join(text), "".join(thought)
