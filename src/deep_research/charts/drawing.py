"""Draws line and bar charts from rows, in a process of ours that knows nothing else (`draw.py`)."""

import asyncio
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deep_research.charts.sandbox.port import Execution
from deep_research.charts.sandbox.process import Process, end_process, start_process, write_to
from deep_research.documents.readers.children import isolated
from deep_research.errors import SourceError
from deep_research.report.figure import ChartType, DataRow

INSTALL = "pip install 'deep-research[charts]'"
_TIMEOUT_S = 120.0
_MAX_REPLY = 64 * 1024 * 1024
# So long a process waits for another chart.
_UNUSED_S = 5.0
# Where matplotlib keeps its list of fonts.
_PASSED_ON = ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "MPLCONFIGDIR")


def missing() -> str:
    """Return why no chart can be drawn, "" where one can."""
    return "" if find_spec("matplotlib") else f"matplotlib is not installed ({INSTALL})"


class Drawer:
    """Draws charts one after the other in one process, which is started for the first and ends when none follows."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._end: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[str] | None = None
        self._lock = asyncio.Lock()

    async def draw(
        self, *, title: str, chart_type: ChartType, unit: str, rows: Sequence[DataRow], language: str = "en"
    ) -> Execution:
        """Return a chart as PNG and SVG with the values that it shows, or raise `SourceError` with the reason."""
        if reason := missing():
            raise SourceError(f"No chart was drawn: {reason}.")
        shown = [row.to_json() for row in rows]
        spec = {"title": title, "chart_type": chart_type, "unit": unit, "rows": shown, "language": language}
        drawn = await self._ask(json.dumps(spec).encode() + b"\n")
        if error := drawn.get("error"):
            raise SourceError(f"No chart was drawn: {error}")
        if drawn["missing"]:
            raise SourceError(
                f"No chart was drawn: no font has the signs {drawn['missing']} (install fonts-noto-cjk, or {INSTALL})."
            )
        return Execution(
            stdout="", figures=(drawn["png"],), svgs=(drawn["svg"],), plotted=(tuple(map(float, drawn["plotted"])),)
        )

    async def _ask(self, line: bytes) -> dict[str, Any]:
        async with self._lock:
            if self._end is None:
                await self.close()
                self._process = await _started()
            else:
                self._end.cancel()
            process = self._process
            assert process
            assert process.stdout
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    await write_to(process, line)
                    reply = await process.stdout.readline()
            except TimeoutError as exc:
                await self.close()
                raise SourceError(f"No chart was drawn within {_TIMEOUT_S:g} s.") from exc
            except OSError:
                reply = b""
            except asyncio.CancelledError:
                # Its answer would be taken for that to the next chart.
                await self.close()
                raise
            if not reply:
                return {"error": await self._end_process() or f"the program ended with {process.returncode}"}
            self._end = asyncio.get_running_loop().call_later(_UNUSED_S, self._stop)
            read: dict[str, Any] = json.loads(reply)
            return read

    def _stop(self) -> None:
        # Whoever draws next starts another process.
        self._end = None
        self._ending = asyncio.create_task(self._end_process())

    async def close(self) -> None:
        """End the process."""
        await self._end_process()
        if self._ending is not None:
            await self._ending

    async def _end_process(self) -> str:
        """End the process, wait until it has ended, and return its last words."""
        if self._end is not None:
            self._end.cancel()
        self._end = None
        process, self._process = self._process, None
        return "" if process is None else await end_process(process)


async def _started() -> Process:
    command, environment = isolated("deep_research.charts.draw", *_PASSED_ON)
    try:
        # In a folder of ours: a file where the user works must not pass for settings of matplotlib.
        return await start_process(command, limit=_MAX_REPLY, cwd=Path(__file__).parent, env=environment)
    except OSError as exc:
        raise SourceError(f"No chart was drawn: no process can be started ({exc.strerror}).") from exc
