"""Notices that a model goes round in circles, so that nobody pays for ten thousand times the same words."""

from typing import Final

# Rules of tables and rows of dots are shorter, refrains come less often.
_MIN_CHARS: Final = 600
_MIN_ROUNDS: Final = 6
_MAX_PERIOD: Final = 600
# Looking costs about a millisecond, so not at every piece.
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
    """Return the length of what the tail repeats often enough, by the prefix function of the tail read backwards."""
    backwards = tail[::-1]
    borders = [0] * len(backwards)
    border = 0
    for end in range(1, len(backwards)):
        while border and backwards[end] != backwards[border]:
            border = borders[border - 1]
        border += backwards[end] == backwards[border]
        borders[end] = border
        period, length = end + 1 - border, end + 1
        if length >= _MIN_CHARS and length >= period * _MIN_ROUNDS:
            return period
    return None
