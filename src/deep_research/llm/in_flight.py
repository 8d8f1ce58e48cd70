"""How many calls go to one address at the same time, over all runs, threads and event loops of this process.

Where slots are shared with other processes, a call needs one of those too.
"""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from deep_research.value import digest


class SharedSlots(Protocol):
    """Slots that several processes share: `shared_limits.postgres.SharedLimits`."""

    def slot(self, service: str, most: int) -> AbstractAsyncContextManager[None]:
        """Wait until fewer than `most` calls are under way to the service, and be one of them."""
        ...


@dataclass(eq=False)
class _Waiter:
    turn: "asyncio.Future[None]"
    has_slot: bool = False


@dataclass
class _Gate:
    taken: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)


_gates: defaultdict[str, _Gate] = defaultdict(_Gate)
# Held for a few statements and never over an await, so that it stops no event loop.
_lock = threading.Lock()


@asynccontextmanager
async def slot(address: str, limit: int, shared: SharedSlots | None = None) -> AsyncIterator[None]:
    """Wait until fewer than `limit` calls are under way to the address, first come first served, and be one of them."""
    await _enter(address, limit)
    try:
        if shared is None:
            yield
        else:
            # An address may hold a key.
            async with shared.slot(digest("model", address), limit):
                yield
    finally:
        _leave(address)


async def _enter(address: str, limit: int) -> None:
    with _lock:
        gate = _gates[address]
        if gate.taken < limit and not gate.waiting:
            gate.taken += 1
            return
        waiter = _Waiter(asyncio.get_running_loop().create_future())
        gate.waiting.append(waiter)
    try:
        await waiter.turn
    except asyncio.CancelledError:
        with _lock:
            if not waiter.has_slot:
                gate.waiting.remove(waiter)
        if waiter.has_slot:
            _leave(address)
        raise


def _leave(address: str) -> None:
    """Hand the slot to the next in the line, whichever loop it waits in."""
    with _lock:
        gate = _gates[address]
        while gate.waiting:
            waiter = gate.waiting.popleft()
            try:
                waiter.turn.get_loop().call_soon_threadsafe(_wake, waiter.turn)
            except RuntimeError:
                # Its loop was closed in the meantime.
                continue
            waiter.has_slot = True
            return
        gate.taken -= 1


def _wake(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
