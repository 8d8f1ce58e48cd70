"""Limits that are checked before a call, with a share kept back for the ending."""

import asyncio
from collections.abc import Callable
from typing import Literal

from deep_research.request import BUDGET_KINDS, Budget, BudgetKind, Spend

Phase = Literal["research", "ending"]

# What research leaves for draft, verify and write. Queries and pages are only spent by research.
ENDING_SHARE: dict[BudgetKind, float] = {"usd": 0.4, "tokens": 0.4, "seconds": 0.25, "queries": 0.0, "pages": 0.0}

# Sums of prices carry rounding errors far below any price.
_ROUNDING = 1e-9


class BudgetLedger:
    """What a run has spent and reserved. Held by the one process that owns the run."""

    def __init__(self, limits: Budget, spent: Spend, *, active_s: Callable[[], float]) -> None:
        self._limits = limits
        self._spent = spent
        self._reserved: list[Spend] = []
        self._active_s = active_s
        self._changed = asyncio.Event()

    @property
    def spent(self) -> Spend:
        """Return what finished calls cost, with the run's active seconds."""
        return self._spent.replace(seconds=self._active_s())

    def cap(self, kind: BudgetKind, phase: Phase) -> float | None:
        """Return how much of a kind may be spent up to the end of a phase."""
        limit = self._limits.limit(kind)
        if limit is None or phase == "ending":
            return limit
        return limit * (1 - ENDING_SHARE[kind])

    async def admit(self, estimate: Spend, phase: Phase) -> BudgetKind | None:
        """Reserve the most that a call can cost; return the limit that it could break, or None.

        Where only the reservations of calls in flight stand in its way, it waits for them: most cost far less.
        """
        while refused := self.refusal(estimate, phase):
            if not self._reserved or self.refusal(estimate, phase, reserved=Spend()):
                return refused
            self._changed.clear()
            await self._changed.wait()
        self.reserve(estimate)
        return None

    def refusal(self, estimate: Spend, phase: Phase, *, reserved: Spend | None = None) -> BudgetKind | None:
        """Return the first limit that a call of this size could break.

        Where `reserved` is given, it stands in for what calls in flight have reserved.
        """
        reserved = sum(self._reserved, Spend()) if reserved is None else reserved
        for kind in BUDGET_KINDS:
            cap = self.cap(kind, phase)
            if cap is None:
                continue
            wanted = estimate.of(kind)
            if kind == "seconds":
                is_broken = self._active_s() >= cap
            else:
                is_broken = wanted > 0 and self._spent.of(kind) + reserved.of(kind) + wanted > cap + _ROUNDING
            if is_broken:
                return kind
        return None

    def reserve(self, estimate: Spend) -> None:
        """Hold the most that a call can cost until its cost is known."""
        self._reserved.append(estimate)

    def charge(self, estimate: Spend, spend: Spend) -> None:
        """Replace a reservation by what the call really cost."""
        self._reserved.remove(estimate)
        self._spent = self._spent + spend
        self._changed.set()
