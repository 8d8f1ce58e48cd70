"""How long a test waits for what has to happen, and how: a slow machine is no defect, only what hangs is."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

HANG_S: Final = 600.0


def wait_until(condition: Callable[[], bool], *, complaint: Callable[[], object] = lambda: "") -> None:
    """Wait for something that happens in another process or thread."""
    end = time.monotonic() + HANG_S
    while True:
        begun = time.monotonic()
        if condition():
            return
        assert time.monotonic() < end, f"it never happened: {complaint()}"
        # Who opens a store or asks a server each time does not keep what it waits for from the processor.
        time.sleep(min(0.3, max(0.02, 2 * (time.monotonic() - begun))))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another task."""
    async with asyncio.timeout(HANG_S):
        while not condition():
            await asyncio.sleep(0.002)
