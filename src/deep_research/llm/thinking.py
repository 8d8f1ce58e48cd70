"""What a model thinks aloud between `<think>` and `</think>` → apart from its answer, also where it comes in pieces."""

import re

from deep_research.llm.port import Delta
from deep_research.llm.repetition import GrowingText

_TAG = re.compile(r"(?i)<(/?)think(?:ing)?>")
_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")


class ThoughtSplitter:
    """Takes an answer as it comes and parts thoughts from text; a thought that never ends takes all that follows."""

    def __init__(self) -> None:
        self._pending = ""
        self._inside = False
        self._has_seen_tag = False
        self._text = GrowingText()
        self._reasoning = GrowingText()

    @property
    def text(self) -> str:
        return self._text.before_circle

    @property
    def reasoning(self) -> str:
        return self._reasoning.before_circle

    @property
    def is_circling(self) -> bool:
        return self._text.is_circling or self._reasoning.is_circling

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
