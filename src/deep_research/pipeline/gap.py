"""What a run lost on its way: recorded as a value, emitted as an event, printed in the report's limits."""

from typing import Literal

from deep_research.request import BudgetKind
from deep_research.value import Value

# `act`: rules stood in for a model that failed at it; `model`: for one that was gone; `chain`: another model did.
GapKind = Literal["act", "model", "chain", "search", "page", "section", "query", "round", "window", "chart"]


class Gap(Value):
    """One thing that is missing: which, where in the run, and why; `budget` names the limit that forbade it.

    `count` says how many passages did not fit a model's window.
    """

    kind: GapKind
    scope: str
    subject: str
    reason: str
    budget: BudgetKind | None = None
    count: int = 0

    @property
    def in_words(self) -> str:
        """Return what is missing and why, the name once."""
        return self.reason if self.subject in self.reason else f"{self.subject}: {self.reason}"
