"""Which acts the model failed so often in a row that rules do them for the rest of the run."""

from collections import Counter

# DESIGN: three in a row switch the act over.
MOST_STRIKES = 3


class Strikes:
    """Counts the failures of one run in this process; what was decided by them is in the journal."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()

    def is_out(self, act: str) -> bool:
        """Say whether the act was given up."""
        return self._in_a_row[act] >= MOST_STRIKES

    def add(self, act: str) -> bool:
        """Count a failure; say whether it is the one that makes the difference."""
        self._in_a_row[act] += 1
        return self._in_a_row[act] == MOST_STRIKES

    def clear(self, act: str) -> None:
        """Forget earlier failures: the act succeeded."""
        if not self.is_out(act):
            self._in_a_row[act] = 0
