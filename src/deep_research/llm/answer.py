"""An answer as it grows: its text, its thoughts, why it ended and what it used, gathered from a vendor's pieces."""

from deep_research.llm.port import Delta, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.thinking import ThoughtSplitter
from deep_research.llm.tokens import tokens_at_most
from deep_research.llm.vendor import Piece

# Hardly a token has as many; an answer that is longer by this measure comes from a server that keeps no limit.
_MAX_CHARS_PER_TOKEN = 32
# By some providers thoughts do not count for the limit; no model thinks as much in one call.
MAX_THOUGHT_CHARS = 2_000_000


class GrowingAnswer(ThoughtSplitter):
    """Takes pieces one by one; `max_tokens` is the limit that the model was given."""

    def __init__(self, *, max_tokens: int) -> None:
        super().__init__()
        self._max_chars = max_tokens * _MAX_CHARS_PER_TOKEN
        self._reported = Usage()
        self.stop: StopReason | None = None
        self.has_begun = False
        # Nothing that may follow is wanted.
        self.is_enough = False

    def take(self, piece: Piece) -> list[Delta]:
        """Add a piece, and return what is new in it for whoever looks on."""
        self.has_begun = True
        # The first reason stands: after a refusal servers still say that they stopped.
        self.stop = self.stop or piece.stop
        if piece.usage is not None:
            self._reported = self._reported.joined(piece.usage)
        deltas = self.think(piece.thought) + self.feed(piece.text)
        if self.is_circling:
            self.stop, self.is_enough = "loop", True
        elif self._text.chars > self._max_chars:
            self.stop, self.is_enough = "length", True
        return deltas

    @property
    def is_too_large(self) -> bool:
        """Return whether it has more thoughts than any answer."""
        return self._reasoning.chars > MAX_THOUGHT_CHARS

    def usage(self, prompt_tokens: int) -> Usage:
        """Return what the provider reports, and an estimate of what it does not."""
        reported = self._reported
        written = reported.written or sum(map(tokens_at_most, (self._text.whole, self._reasoning.whole)))
        return reported.replace(read=reported.read or prompt_tokens, written=written)
