"""Notices that a model goes round in circles, so that nobody pays for ten thousand times the same words."""

from typing import Final

# Rules of tables and rows of dots are shorter, refrains come less often.
_MIN_CHARS: Final = 600
_MIN_ROUNDS: Final = 6
_MAX_PERIOD: Final = 600
_ENDING_CHARS: Final = 16
# Looking costs a moment, so not at every piece.
_STEP_CHARS: Final = 256


class CircleWatch:
    """Watches a text grow; `start` is where its circle begins, None as long as there is none."""

    def __init__(self) -> None:
        self._seen = 0
        self.start: int | None = None

    def is_circling(self, text: str) -> bool:
        """Say whether the text has begun to repeat itself without end."""
        if self.start is None and len(text) - self._seen >= _STEP_CHARS:
            self._seen = len(text)
            self.start = circle_start(text)
        return self.start is not None


def circle_start(text: str) -> int | None:
    """Return where the repetition at the end of a text begins, or None where its end does not repeat."""
    period = _period(text[-_MAX_PERIOD * _MIN_ROUNDS :])
    if period is None:
        return None
    start = len(text) - period
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start


def _period(tail: str) -> int | None:
    """Return the length of what the tail repeats often enough, the shortest there is.

    What is repeated ends as the tail ends, so that only the places where its last letters stand before are looked at.
    """
    ending = tail[-_ENDING_CHARS:]
    at = tail.rfind(ending, 0, len(tail) - 1)
    while at >= 0:
        period = len(tail) - len(ending) - at
        length = max(_MIN_CHARS, period * _MIN_ROUNDS)
        if period > _MAX_PERIOD or length > len(tail):
            return None
        if tail[-length:-period] == tail[period - length :]:
            return period
        at = tail.rfind(ending, 0, at + len(ending) - 1)
    return None
