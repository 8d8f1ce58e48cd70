"""A clock that tests move by hand."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Stands still until somebody sleeps or moves it; remembers every wait."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic_s = 1000.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        """Return the time of day."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return self._monotonic_s

    async def sleep(self, seconds: float) -> None:
        """Move both clocks at once."""
        self.waits.append(seconds)
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self._now += timedelta(seconds=seconds)
        self._monotonic_s += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator would."""
        self._now += timedelta(seconds=seconds)
