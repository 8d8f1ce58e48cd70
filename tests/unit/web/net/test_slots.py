"""Slots are handed on in the order of asking, and no cancellation loses one."""

import asyncio
import random

from deep_research.web.net.slots import slot


async def test_slots_go_in_the_order_of_asking():
    order: list[int] = []

    async def work(number: int) -> None:
        async with slot("http://order", 1):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(8)))
    assert order == list(range(8))


async def test_no_cancellation_loses_a_slot_or_makes_one():
    chance, busy, peak = random.Random(3), 0, 0

    async def work() -> None:
        nonlocal busy, peak
        async with slot("http://cancel", 3):
            busy += 1
            peak = max(peak, busy)
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            finally:
                busy -= 1

    for _ in range(60):
        tasks = [asyncio.ensure_future(work()) for _ in range(12)]
        for _ in range(chance.randint(0, 6)):
            await asyncio.sleep(0)
        for task in chance.sample(tasks, 6):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        peak = max(peak, busy)
        assert busy == 0
    assert peak == 3
    # All three are free again.
    async with slot("http://cancel", 3), slot("http://cancel", 3), slot("http://cancel", 3):
        pass


def test_slot_passes_over_a_loop_that_is_gone():
    holder, gone = asyncio.new_event_loop(), asyncio.new_event_loop()
    held = slot("http://gone", 1)
    holder.run_until_complete(held.__aenter__())

    async def wait() -> None:
        async with slot("http://gone", 1):
            pass

    waiting = gone.create_task(wait())
    gone.run_until_complete(asyncio.sleep(0))
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]  # the loop dies with its task, as after a crash
    gone.close()
    holder.run_until_complete(held.__aexit__(None, None, None))
    holder.run_until_complete(wait())
    holder.close()
