"""What a model thinks aloud between `<think>` and `</think>` → apart from its answer, also where it comes in pieces."""

import re
from typing import Final

from deep_research.llm.port import Delta

_TAG: Final = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_TAGS: Final = ("<think>", "</think>", "<thinking>", "</thinking>")


class ThoughtSplitter:
    """Takes an answer as it comes and parts thoughts from text; a thought that never ends takes all that follows."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._has_seen_tag = False
        self.text = ""
        self.reasoning = ""

    def think(self, thought: str) -> list[Delta]:
        """Take what the provider itself marks as thought."""
        self.reasoning += thought
        return [Delta("reasoning", thought)] if thought else []

    def feed(self, piece: str) -> list[Delta]:
        """Take a piece of the answer; what may be half a tag is held back until the next."""
        held = self._held + piece
        deltas: list[Delta] = []
        while tag := _TAG.search(held):
            deltas += self._take(held[: tag.start()])
            self._turn(is_end=bool(tag[1]))
            held = held[tag.end() :]
        keep = _begun_tag(held)
        self._held = held[len(held) - keep :]
        return deltas + self._take(held[: len(held) - keep])

    def finish(self) -> list[Delta]:
        """Take what was held back."""
        held, self._held = self._held, ""
        return self._take(held)

    def _take(self, piece: str) -> list[Delta]:
        if not piece:
            return []
        if self._inside:
            return self.think(piece)
        self.text += piece
        return [Delta("text", piece)]

    def _turn(self, *, is_end: bool) -> None:
        if is_end and not self._inside and not self._has_seen_tag:
            # Some servers put the opening tag into the prompt, so that only the closing one comes back.
            self.reasoning, self.text = self.reasoning + self.text, ""
        self._inside = not is_end
        self._has_seen_tag = True


def _begun_tag(text: str) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    start = text.rfind("<", max(0, len(text) - len(_TAGS[-1])))
    end = text[start:].lower()
    return len(end) if start >= 0 and any(tag.startswith(end) for tag in _TAGS) else 0
