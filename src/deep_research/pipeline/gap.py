"""What a run lost on its way: recorded as a value, told as an event, printed in the report's limits."""

from typing import Literal, cast

from deep_research.errors import BudgetExceeded, CallFailed
from deep_research.request import BudgetKind
from deep_research.value import Value

GapKind = Literal["act", "search", "page", "section", "query", "round", "window"]


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

    @classmethod
    def of(cls, failure: CallFailed, *, kind: GapKind, scope: str, subject: str) -> "Gap":
        """Return the gap that a failed or refused call leaves."""
        if isinstance(failure, BudgetExceeded):
            budget = cast("BudgetKind", failure.args[0])
            return cls(kind=kind, scope=scope, subject=subject, reason=f"the {budget} budget is spent", budget=budget)
        return cls(kind=kind, scope=scope, subject=subject, reason=str(failure))


def named(exc: Exception) -> str:
    """Name an unexpected error without its message, which may hold page content."""
    return f"unexpected {type(exc).__name__}"
