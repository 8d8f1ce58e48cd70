"""What was read last of runs at rest: a page and its parts ask for the same again and again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from deep_research.storage.store.port import RunRow

T = TypeVar("T")
# A report with its figures may hold some megabytes.
_MAX_RUNS = 16


@dataclass
class RecentRuns(Generic[T]):
    """One value for each of the last runs; it is read again once the run has moved.

    Nothing is kept of a run that somebody works on: its calls and events change without its row.
    """

    read: Callable[[RunRow], Awaitable[T]]
    max_runs: int = _MAX_RUNS
    # In the order in which they were last asked for.
    _known: dict[str, tuple[object, T]] = field(default_factory=dict)

    async def __call__(self, row: RunRow) -> T:
        """Return the value of a run as its row stands."""
        state = (row.updated_at, row.epoch, row.attempt, row.status)
        known = self._known.pop(row.id, None)
        if known is None or known[0] != state:
            known = state, await self.read(row)
        if row.owner is None and row.status != "created":
            self._known[row.id] = known
            if len(self._known) > self.max_runs:
                del self._known[next(iter(self._known))]
        return known[1]

    def forget(self, run: str) -> None:
        """Drop what is known of a run that was deleted."""
        self._known.pop(run, None)
