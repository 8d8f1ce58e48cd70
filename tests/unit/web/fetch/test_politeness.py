import asyncio

from deep_research.web.fetch.politeness import Politeness
from tests.support.waiting import HANG_S


class Clock:
    """A time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


async def test_starts_at_one_host_are_apart_by_the_gap():
    clock = Clock()
    politeness = Politeness(gap_s=0.5, clock=clock, sleep=clock.sleep)
    starts = []
    for host in ("a", "a", "b", "a"):
        async with politeness.slot(host):
            starts.append((host, clock.now_s))
    assert starts == [("a", 0.0), ("a", 0.5), ("b", 0.5), ("a", 1.0)]


async def test_a_host_may_ask_for_a_longer_gap():
    clock = Clock()
    politeness = Politeness(gap_s=0.5, clock=clock, sleep=clock.sleep)
    for _ in range(2):
        async with politeness.slot("a", delay_s=4.0):
            pass
    assert clock.now_s == 4.0


async def test_a_slow_host_holds_up_no_other():
    politeness = Politeness(per_host=1, gap_s=0.0)
    async with politeness.slot("slow"), asyncio.timeout(HANG_S), politeness.slot("quick"):
        pass


async def test_a_turn_that_fails_is_given_back():
    politeness = Politeness(per_host=1, gap_s=0.0)
    for _ in range(3):
        try:
            async with asyncio.timeout(HANG_S), politeness.slot("a"):
                raise LookupError
        except LookupError:
            pass


async def test_hosts_that_are_done_with_are_forgotten():
    politeness = Politeness(gap_s=0.0)
    for number in range(3000):
        async with politeness.slot(f"host{number}"):
            pass
    assert len(politeness._hosts) <= 1001
