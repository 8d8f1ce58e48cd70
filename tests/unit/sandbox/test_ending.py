"""A process that is ended leaves nothing to the event loop, whoever is called off meanwhile."""

import asyncio
from contextlib import suppress

import pytest

from deep_research.sandbox.process import end_process, start_process


@pytest.mark.parametrize("is_called_off", [False, True])
async def test_pipes_are_let_go_of_though_a_grandchild_holds_them(is_called_off: bool, monkeypatch) -> None:
    monkeypatch.setattr("deep_research.sandbox.process._END_S", 60.0 if is_called_off else 0.2)
    process = await start_process(["sh", "-c", "sleep 20 & echo ready; wait"])
    assert process.stdout
    assert await process.stdout.readline() == b"ready\n"
    ending = asyncio.create_task(end_process(process))
    await asyncio.sleep(0)
    while process.returncode is None:
        await asyncio.sleep(0.01)
    if is_called_off:
        ending.cancel()
    with suppress(asyncio.CancelledError):
        await ending
    assert ending.cancelled() == is_called_off
    assert process._transport.is_closing()  # type: ignore[attr-defined]
