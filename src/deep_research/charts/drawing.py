"""Draws line and bar charts from rows, in a process of ours that knows nothing else (`draw.py`)."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from deep_research.errors import SourceError
from deep_research.report.figure import ChartType, DataRow
from deep_research.sandbox.port import Execution

INSTALL = "pip install 'deep-research[charts]'"
_TIMEOUT_S = 120.0
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from deep_research.charts.draw import main; main()"
# What a program may need to start, and where matplotlib keeps its list of fonts. No keys.
_PASSED_ON = ("LD_LIBRARY_PATH", "SYSTEMROOT", "HOME", "USERPROFILE", "XDG_CACHE_HOME", "MPLCONFIGDIR")


def missing() -> str:
    """Return why no chart can be drawn, "" where one can."""
    return "" if find_spec("matplotlib") else f"matplotlib is not installed ({INSTALL})"


async def draw(
    *, title: str, chart_type: ChartType, unit: str, rows: Sequence[DataRow], language: str = "en"
) -> Execution:
    """Return a chart as PNG and SVG with the values that it shows, or raise `SourceError` with the reason."""
    if reason := missing():
        raise SourceError(f"No chart was drawn: {reason}.")
    shown = [{"label": row.label, "value": row.value, "series": row.series} for row in rows]
    given = {"title": title, "chart_type": chart_type, "unit": unit, "rows": shown, "language": language}
    ended = await _run(json.dumps(given).encode())
    if ended.status:
        raise SourceError(f"No chart was drawn: {ended.errors.strip().rpartition(chr(10))[2] or ended.status}")
    drawn = json.loads(ended.answer)
    if drawn["missing"]:
        raise SourceError(
            f"No chart was drawn: no font has the signs {drawn['missing']} (install fonts-noto-cjk, or {INSTALL})."
        )
    return Execution(
        stdout="", figures=(drawn["png"],), svgs=(drawn["svg"],), plotted=(tuple(map(float, drawn["plotted"])),)
    )


class _Ended(NamedTuple):
    status: int
    answer: bytes
    errors: str


async def _run(given: bytes) -> _Ended:
    path = [entry for entry in sys.path if entry] + [str(Path(__file__).parents[2])]
    try:
        process = await asyncio.create_subprocess_exec(
            # Isolated, and in a folder of ours: a file where the user works must not pass for a module or for settings.
            *(sys.executable, "-I", "-c", _START, json.dumps(path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parent,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
    except OSError as exc:
        raise SourceError(f"No chart was drawn: no process can be started ({exc.strerror}).") from exc
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            answer, errors = await process.communicate(given)
    except TimeoutError as exc:
        raise SourceError(f"No chart was drawn within {_TIMEOUT_S:g} s.") from exc
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _Ended(process.returncode or 0, answer, errors.decode("utf-8", "replace"))
