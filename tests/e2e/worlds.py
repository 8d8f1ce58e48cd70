"""Scripted worlds for processes that are killed, frozen, starved or left alone; chosen by `--wiring worlds:NAME`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import cast

from deep_research.errors import CallFailed, NetworkError
from deep_research.pipeline.parts import Parts
from deep_research.settings import Settings
from deep_research.testing.faults import Fault, FaultyStore
from deep_research.testing.model import ActPrice, CallLog
from deep_research.testing.reasoner import ScriptedReasoner
from deep_research.testing.world import World


def _log() -> CallLog:
    return CallLog(Path(os.environ["TEST_CALL_LOG"]))


def quick(settings: Settings) -> Parts:
    """Every call answers at once; the store dies at write TEST_KILL_AT, if that is set."""
    parts = World(log=_log(), pages=8).parts(settings)
    at, fault = int(os.environ.get("TEST_KILL_AT", "0")), os.environ.get("TEST_FAULT", "kill_before")
    return replace(parts, open_store=lambda: _Counted(parts.open_store(), at=at, fault=cast("Fault", fault)))


class _Counted(FaultyStore):
    """Leaves behind how many writes the busiest connection made."""

    async def close(self) -> None:
        counted = Path(os.environ["TEST_CALL_LOG"]).with_name("writes")
        before = int(counted.read_text()) if counted.exists() else 0
        counted.write_text(str(max(before, self.writes)))
        await super().close()


def slow(settings: Settings) -> Parts:
    """Every act takes a while, so that the process can be caught in the middle of one."""
    patient = World(log=_log(), pages=8, act=ActPrice(tokens=100, usd=0.001, delay_s=0.25))
    return replace(patient, long_act=ActPrice(tokens=400, usd=0.004, delay_s=1.0)).parts(settings)


def asking(settings: Settings) -> Parts:
    """The question is unclear: one answer is needed."""
    return World(log=_log(), pages=8, reasoner=ScriptedReasoner(questions=1)).parts(settings)


def planless(settings: Settings) -> Parts:
    """The model cannot be reached for the plan, until the file TEST_MENDED exists."""
    world = World(log=_log(), pages=8)
    parts = world.parts(settings)
    if Path(os.environ["TEST_MENDED"]).exists():
        return parts
    model = world.model()
    down: list[CallFailed] = [NetworkError("the model's service does not answer")] * 3
    return replace(parts, model=replace(model, failures={"plan": down}), clock=_Hasty())


class _Hasty:
    """The real clock, but it waits for nothing."""

    def __init__(self) -> None:
        from deep_research.pipeline.clock import SystemClock

        self._real = SystemClock()
        self.now = self._real.now
        self.monotonic = self._real.monotonic

    async def sleep(self, seconds: float) -> None:
        await self._real.sleep(0)
