"""An answer as it grows: its text, its thoughts, why it ended and what it used, gathered from a vendor's pieces."""

from collections.abc import Callable

from deep_research.llm.port import Delta, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.repetition import CircleWatch
from deep_research.llm.thinking import ThoughtSplitter
from deep_research.llm.tokens import tokens_at_most
from deep_research.llm.vendor import Piece


class GrowingAnswer:
    """Takes pieces one by one; `usage_adds_up` says how the vendor reports usage on the way."""

    def __init__(self, *, usage_adds_up: bool) -> None:
        self._usage_adds_up = usage_adds_up
        self._parts = ThoughtSplitter()
        self._text_watch, self._thought_watch = CircleWatch(), CircleWatch()
        self._reported = Usage()
        self.stop: StopReason | None = None
        self.has_begun = False

    def take(self, piece: Piece) -> list[Delta]:
        """Add a piece, and return what is new in it for whoever looks on."""
        self.has_begun = True
        # The first reason stands: after a refusal servers still say that they stopped.
        self.stop = self.stop or piece.stop
        self._count(piece.usage)
        deltas = self._parts.think(piece.thought) + self._parts.feed(piece.text)
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

    def usage(self, prompt_tokens: Callable[[], int]) -> Usage:
        """Return what the provider reports, and an estimate of what it does not."""
        return Usage(
            read=self._reported.read or prompt_tokens(),
            cached=self._reported.cached,
            cache_written=self._reported.cache_written,
            written=self._reported.written or tokens_at_most(self._parts.text) + tokens_at_most(self._parts.reasoning),
        )

    def _count(self, new: Usage | None) -> None:
        if new is None:
            return
        if self._usage_adds_up:
            new = Usage(**{name: count + getattr(self._reported, name) for name, count in new})
        self._reported = new
