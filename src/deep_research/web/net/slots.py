"""How many calls to a service are under way at the same time, over all runs, threads and event loops of a process."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    grant: "Future[None]" = field(default_factory=Future)
    has_slot: bool = False


@dataclass(eq=False)
class Gate:
    """The calls to one service, first come first served; `granted` is how many may be under way.

    The lock is held for a few statements and never over an await, so that it stops no event loop.
    """

    granted: int = 0
    used: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def join(self) -> _Waiter:
        """Ask for a slot, which may be free at once; the caller holds the lock."""
        waiter = _Waiter(asyncio.get_running_loop())
        self.waiting.append(waiter)
        self.hand_out()
        return waiter

    @asynccontextmanager
    async def slot_of(self, waiter: _Waiter) -> AsyncIterator[None]:
        """Wait for the slot that was asked for, hold it, and hand it on."""
        try:
            if not waiter.has_slot:
                await asyncio.wrap_future(waiter.grant)
            yield
        finally:
            with self.lock:
                if waiter in self.waiting:
                    self.waiting.remove(waiter)
                self.used -= waiter.has_slot
                self.hand_out()

    def hand_out(self) -> None:
        """Give free slots to those who wait, whichever loop they wait in; the caller holds the lock."""
        while self.waiting and self.used < self.granted:
            waiter = self.waiting.popleft()
            # It may have been called off, or its loop closed.
            if not waiter.loop.is_closed() and waiter.grant.set_running_or_notify_cancel():
                waiter.has_slot = True
                waiter.grant.set_result(None)
                self.used += 1


_gates: dict[str, Gate] = {}


@asynccontextmanager
async def slot(service: str, most: int) -> AsyncIterator[None]:
    """Wait until fewer than `most` calls of this process are under way to the service, and be one of them."""
    gate = _gates.setdefault(service, Gate())
    with gate.lock:
        gate.granted = most
        waiter = gate.join()
    async with gate.slot_of(waiter):
        yield
