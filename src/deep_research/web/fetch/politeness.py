"""How hard one host may be asked: a few requests at once, and a gap between their starts."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

IN_FLIGHT_PER_HOST = 2
GAP_S = 0.1
_MAX_UNUSED_HOSTS = 1_000


@dataclass
class _Host:
    slots: asyncio.Semaphore
    next_start_s: float = 0.0
    users: int = 0
    pacing: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(eq=False)
class Politeness:
    """Limits requests host by host; one object serves all tasks of an event loop."""

    per_host: int = IN_FLIGHT_PER_HOST
    gap_s: float = GAP_S
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _hosts: dict[str, _Host] = field(default_factory=dict, init=False)

    @asynccontextmanager
    async def slot(self, host: str, *, delay_s: float = 0.0) -> AsyncIterator[None]:
        """Wait for a free slot of the host and hold it; `delay_s` is a longer gap that the host itself asks for."""
        entry = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self.per_host)))
        entry.users += 1
        try:
            async with entry.slots:
                async with entry.pacing:
                    wait_s = entry.next_start_s - self.clock()
                    if wait_s > 0:
                        await self.sleep(wait_s)
                    entry.next_start_s = self.clock() + max(self.gap_s, delay_s)
                yield
        finally:
            entry.users -= 1
            self._forget_unused()

    def _forget_unused(self) -> None:
        if len(self._hosts) > _MAX_UNUSED_HOSTS:
            now_s = self.clock()
            self._hosts = {
                host: entry for host, entry in self._hosts.items() if entry.users or entry.next_start_s > now_s
            }
