"""The bench world in a process of its own, as services are; who measures talks to it through a pipe.

Imports nothing of the project, so that the processes it starts count no memory but their own.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.world_calls import LONG_MODEL, SHORT_MODEL, Call, FaultRule, Latencies

HANG_TIMEOUT_S = 4.0
CALLS_IN_FLIGHT = 256


class WorldProcess:
    """What the measuring process knows of the world."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.port, self.allowed = pipe.recv()

    def plan(self, faults: Sequence[FaultRule] = ()) -> None:
        """Begin anew, with these faults and an empty log."""
        self._pipe.send(("plan", tuple(faults)))
        self._pipe.recv()

    def calls(self) -> list[Call]:
        """Return the log since the last plan."""
        self._pipe.send(("calls", ()))
        calls: list[Call] = self._pipe.recv()
        return calls

    def settings(self, folder: Path, **changes: object) -> dict[str, object]:
        """Return settings with which this world is researched, all others by default."""
        return settings_for(self.port, self.allowed, folder) | changes


@contextmanager
def world_in_a_process(latencies: Latencies | None = None) -> Iterator[WorldProcess]:
    """Serve the bench world as long as the context lasts."""
    ours, theirs = Pipe()
    # Not forked, so that nothing of this process lives on in it.
    process = get_context("spawn").Process(target=_serve, args=(theirs, latencies), daemon=True)
    process.start()
    # From here on the world alone holds its end: where it dies, whoever listens is told.
    theirs.close()
    try:
        yield WorldProcess(ours)
    finally:
        ours.send(("end", ()))
        process.join()


def _serve(pipe: Connection, latencies: Latencies | None) -> None:
    from benchmarks.world import BenchWorld

    with BenchWorld(latencies) as world:
        pipe.send((world.port, world.allowed))
        while True:
            wish, rules = pipe.recv()
            if wish == "end":
                return
            if wish == "plan":
                world.plan(rules)
            pipe.send(world.calls)


def settings_for(port: int, allowed: Sequence[str], folder: Path) -> dict[str, object]:
    """Return the settings that lead to a world at this port, and keep everything in one folder."""
    return {
        "home": folder / "home",
        "logs": folder / "logs",
        "provider": "openai-compatible",
        "openai_compatible_address": f"http://127.0.0.1:{port}/v1",
        "thinking_model": f"openai-compatible:{LONG_MODEL}",
        "task_model": f"openai-compatible:{SHORT_MODEL}",
        "model_calls_in_flight": CALLS_IN_FLIGHT,
        "engines": ("tavily", "searxng"),
        "tavily_api_key": "key",
        "tavily_address": f"http://127.0.0.1:{port}/tavily",
        "searxng_address": f"http://127.0.0.1:{port}/searxng",
        "allowed_hosts": tuple(allowed),
        "cache": False,
    }


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a process that has these settings and no others."""
    kept = {
        name: value
        for name, value in os.environ.items()
        # Compiled modules are kept, as those of an installed package are.
        if not name.startswith("DEEP_RESEARCH_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    given = {_variable(name): _spelled(value) for name, value in settings.items()}
    return {**kept, **given, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _variable(name: str) -> str:
    return name.upper() if name == "tavily_api_key" else f"DEEP_RESEARCH_{name.upper()}"


def _spelled(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
