"""An answer as it grows: its text, its thoughts, why it ended and what it used, gathered from a vendor's pieces.

What a model thinks aloud between `<think>` and `</think>` is parted from its answer, also where it comes in pieces.
"""

import re

from deep_research.llm.port import Delta, StopReason
from deep_research.llm.prices import Usage
from deep_research.llm.repetition import GrowingText
from deep_research.llm.tokens import tokens_at_most
from deep_research.llm.vendor import Piece

# Hardly a token has as many; an answer that is longer by this measure comes from a server that keeps no limit.
_MAX_CHARS_PER_TOKEN = 32
# By some providers thoughts do not count for the limit; no model thinks as much in one call.
MAX_THOUGHT_CHARS = 2_000_000
_TAG = re.compile(r"(?i)<(/?)think(?:ing)?>")
_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")


class GrowingAnswer:
    """Takes pieces one by one; `max_tokens` is the limit that the model was given.

    A thought that never ends takes all that follows.
    """

    def __init__(self, *, max_tokens: int) -> None:
        self._pending = ""
        self._inside = False
        self._has_seen_tag = False
        self._text = GrowingText()
        self._reasoning = GrowingText()
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
        if self._text.is_circling or self._reasoning.is_circling:
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

    @property
    def text(self) -> str:
        return self._text.before_circle

    @property
    def reasoning(self) -> str:
        return self._reasoning.before_circle

    def think(self, thought: str) -> list[Delta]:
        """Take what the provider itself marks as thought."""
        self._reasoning.add(thought)
        return [Delta("reasoning", thought)] if thought else []

    def feed(self, piece: str) -> list[Delta]:
        """Take a piece of the answer; what may be half a tag is held back until the next."""
        pending, start = self._pending + piece, 0
        deltas: list[Delta] = []
        for tag in _TAG.finditer(pending):
            deltas += self._take(pending[start : tag.start()])
            start, is_end = tag.end(), bool(tag[1])
            if is_end and not self._inside and not self._has_seen_tag:
                # Some servers put the opening tag into the prompt, so that only the closing one comes back.
                self._reasoning.add(self._text.whole)
                self._text = GrowingText()
            self._inside, self._has_seen_tag = not is_end, True
        end = max(start, len(pending) - _begun_tag(pending))
        self._pending = pending[end:]
        return deltas + self._take(pending[start:end])

    def finish(self) -> list[Delta]:
        pending, self._pending = self._pending, ""
        return self._take(pending)

    def _take(self, piece: str) -> list[Delta]:
        if not piece:
            return []
        if self._inside:
            return self.think(piece)
        self._text.add(piece)
        return [Delta("text", piece)]


def _begun_tag(text: str) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    start = text.rfind("<", max(0, len(text) - len(_TAGS[-1])))
    end = text[start:].lower() if start >= 0 else ""
    return len(end) if end and any(tag.startswith(end) for tag in _TAGS) else 0
