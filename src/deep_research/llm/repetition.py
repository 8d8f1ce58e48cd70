"""Notices that a model repeats itself without end, so that its answer can be stopped."""

# Rules of tables and rows of dots are shorter, refrains come less often.
_MIN_CHARS = 600
_MIN_ROUNDS = 6
_MAX_PERIOD = 600
_WINDOW_CHARS = _MAX_PERIOD * _MIN_ROUNDS
_ENDING_CHARS = 16
# Looking costs a moment, so not at every piece.
_STEP_CHARS = 256


class GrowingText:
    """A text that comes in pieces, watched for circles; what that takes grows with the length and not with its square.

    Only the end of the text is looked at, and the pieces are joined when somebody asks for all of them.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._seen_pieces = 0
        self._seen_chars = 0
        self._ending = ""
        self._circle_start: int | None = None
        self.chars = 0

    def add(self, piece: str) -> None:
        """Add a piece, and look for a circle where enough has come since the last look."""
        self._pieces.append(piece)
        self.chars += len(piece)
        if self._circle_start is None and self.chars - self._seen_chars >= _STEP_CHARS:
            self._check()

    @property
    def is_circling(self) -> bool:
        return self._circle_start is not None

    @property
    def whole(self) -> str:
        return "".join(self._pieces)

    @property
    def before_circle(self) -> str:
        """Return the text up to where it began to repeat itself."""
        return self.whole[: self._circle_start]

    def _check(self) -> None:
        new = "".join(self._pieces[self._seen_pieces :])
        self._ending = (self._ending + new)[-_WINDOW_CHARS:]
        self._seen_pieces, self._seen_chars = len(self._pieces), self.chars
        if _period(self._ending) is not None:
            self._circle_start = circle_start(self.whole)


def circle_start(text: str) -> int | None:
    """Return where the repetition at the end of a text begins, or None where its end does not repeat."""
    period = _period(text[-_WINDOW_CHARS:])
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
