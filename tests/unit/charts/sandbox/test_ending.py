"""A process that is ended leaves nothing to the event loop, whoever is called off meanwhile; one may end by itself."""

import asyncio
from contextlib import suppress

import pytest

from deep_research.charts.sandbox.process import (
    SandboxLimits,
    SandboxLost,
    SandboxProcess,
    Start,
    end_process,
    run_command,
    start_process,
)

pytestmark = pytest.mark.processes


@pytest.mark.usefixtures("processes_end_at_once")
@pytest.mark.parametrize("given", [b"", b"FROM python"])
async def test_a_command_that_ended_at_once_has_still_answered(given: bytes) -> None:
    assert await run_command(["sh", "-c", "echo 0.8; exit 3"], within_s=60, input_bytes=given) == (3, "0.8")


@pytest.mark.usefixtures("processes_end_at_once")
async def test_a_worker_that_ended_at_once_is_lost_with_its_last_words() -> None:
    with pytest.raises(SandboxLost, match="no namespaces here"):
        await SandboxProcess.started(Start(["sh", "-c", "echo no namespaces here >&2"], None), SandboxLimits(), "")


async def test_a_command_that_leaves_its_output_to_another_is_given_up() -> None:
    code, said = await run_command(["sh", "-c", "sleep 20 & exit 0"], within_s=0.5)
    assert (code, said) == (124, "no answer within 0.5 s")


@pytest.mark.parametrize("is_called_off", [False, True])
async def test_pipes_are_let_go_of_though_a_grandchild_holds_them(is_called_off: bool, monkeypatch) -> None:
    monkeypatch.setattr("deep_research.charts.sandbox.process._END_S", 60.0 if is_called_off else 0.2)
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
