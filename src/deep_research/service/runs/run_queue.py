"""Where runs wait for a worker: the port, and its form on the store alone, for the processes of one machine.

The truth about a run is its row in the store; a queue only says which one is next. A run that a queue has lost is found
by `sweep`, and one that it hands out twice is driven once, because its lease must be taken.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Literal, Protocol

from deep_research.events import LiveText, OnLive
from deep_research.settings import Settings
from deep_research.storage.store.lease import current_owner, holds_lease
from deep_research.storage.store.port import UnfinishedRun
from deep_research.storage.store.store import Store
from deep_research.value import Value

# What a queue may tell without being asked: a run may be waiting, a run has new events, a run is to stop.
Notice = Literal["queue", "events", "stop"]
OnNotice = Callable[[Notice, str], None]


class RunQueue(Protocol):
    """Runs that wait for a worker; any process may put them there and any may take them."""

    poll_s: float

    async def put(self, run: str, user: str, *, is_begun: bool = False, delay_s: float = 0.0) -> None:
        """Let a run wait in the queue, once however often it is put there; one that was begun goes first.

        Where a delay is given, this process does not take it up before, and in PostgreSQL nobody does.
        """

    async def drop(self, run: str) -> None:
        """Forget a run."""

    async def take(self, at_work: Counter[str], under_way: Collection[str]) -> str | None:
        """Return the run that comes next, None where there is none; a queue with rows of its own takes it out.

        It is of the user with the fewest at work (`at_work` are those of this process), and then of who was chosen
        longest ago. Runs that are under way in this process may be left where they are.
        """

    async def sweep(self) -> None:
        """Put in every run that should go on and that nobody works on; any process may do so at any time."""

    async def listen(self, on_notice: OnNotice, on_live: OnLive) -> None:
        """Pass on what other processes tell, until cancelled; return where they cannot, and only looking helps."""

    def tell_live(self, live: LiveText) -> None:
        """Pass a piece of a model's answer on to other processes, where others may read them; it may be lost."""

    async def close(self) -> None:
        """Release what is held."""


@dataclass(eq=False)
class UserRotation:
    """Which user comes next: one after the other, those with fewer runs at work first."""

    _last_chosen: dict[str, int] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def choose(self, users: Iterable[str], at_work: Counter[str]) -> str:
        """Return the user who comes next; of equals, the first."""
        return min(users, key=lambda user: (at_work[user], self._last_chosen.get(user, 0)))

    def note(self, user: str) -> None:
        """Note that a user was chosen."""
        self._last_chosen[user] = next(self._numbers)


@dataclass
class StoreQueue:
    """The runs of the store that should go on are the queue; all processes of one machine share it."""

    store: Store
    lease_s: float
    poll_s: float = 1.0
    _rotation: UserRotation = field(default_factory=UserRotation)
    _not_before: dict[str, float] = field(default_factory=dict)
    _on_notice: OnNotice = lambda _notice, _run: None

    async def put(self, run: str, user: str, *, is_begun: bool = False, delay_s: float = 0.0) -> None:  # noqa: ARG002 - the store knows the user, and that it was begun
        if delay_s:
            self._not_before[run] = time.monotonic() + delay_s
        else:
            self._not_before.pop(run, None)
        self._on_notice("queue", run)

    async def drop(self, run: str) -> None:
        self._not_before.pop(run, None)

    async def take(self, at_work: Counter[str], under_way: Collection[str]) -> str | None:
        now, asking = time.monotonic(), current_owner()
        oldest: dict[str, UnfinishedRun] = {}
        for run in await self.store.list_unfinished():
            may_go_on = run.id not in under_way and self._not_before.get(run.id, now) <= now
            first = oldest.get(run.user)
            is_sooner = first is None or (first.status == "created" and run.status != "created")
            if may_go_on and is_sooner and not holds_lease(run.owner, asking, lease_s=self.lease_s):
                oldest[run.user] = run
        if not oldest:
            return None
        user = self._rotation.choose(oldest, Counter(await self.store.count_running()) | at_work)
        self._rotation.note(user)
        self._not_before.pop(oldest[user].id, None)
        return oldest[user].id

    async def sweep(self) -> None:
        """Do nothing: what should go on is in the store."""

    async def listen(self, on_notice: OnNotice, on_live: OnLive) -> None:  # noqa: ARG002 - nobody tells of it
        self._on_notice = on_notice

    def tell_live(self, live: LiveText) -> None:
        """Do nothing: there are no other processes."""

    async def close(self) -> None:
        """Do nothing: the store belongs to who opened it."""


class QueueFigures(Value):
    """How the queue stands; `workers` are the runs of each process that works on some, as host:process."""

    waiting: int
    running: int
    oldest_waiting_s: float
    oldest_lease_s: float
    takeovers: int
    is_draining: bool
    workers: dict[str, int]


async def read_figures(store: Store, *, lease_s: float) -> QueueFigures:
    """Return how the queue stands, by the store."""
    asking = current_owner()
    leased: list[UnfinishedRun] = []
    waiting: list[UnfinishedRun] = []
    for run in await store.list_unfinished():
        (leased if holds_lease(run.owner, asking, lease_s=lease_s) else waiting).append(run)
    now = datetime.now(UTC)
    owners = [run.owner for run in leased if run.owner is not None]
    return QueueFigures(
        waiting=len(waiting),
        running=len(leased),
        oldest_waiting_s=max((max(0.0, (now - run.updated_at).total_seconds()) for run in waiting), default=0.0),
        oldest_lease_s=max((max(0.0, now.timestamp() - owner.beat_wall_s) for owner in owners), default=0.0),
        takeovers=await store.count_takeovers(),
        is_draining=await store.is_draining(),
        workers=dict(Counter(f"{owner.host}:{owner.pid}" for owner in owners)),
    )


def open_queue(settings: Settings, store: Store) -> RunQueue:
    """Return the queue of these settings: in PostgreSQL where one is named, else the store itself."""
    if settings.database_url is None:
        return StoreQueue(store, lease_s=settings.lease_s)
    # It needs an extra.
    from deep_research.service.runs.procrastinate_queue import ProcrastinateQueue

    return ProcrastinateQueue(settings.database_url.get_secret_value(), store, lease_s=settings.lease_s)
