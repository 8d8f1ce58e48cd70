"""Pages that hold series of figures, and what draws them in a test: a scripted sandbox, a drawing at once."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deep_research.charts.drawing import Drawer
from deep_research.charts.sandbox.port import Execution
from deep_research.errors import SourceError, SourceRefused
from deep_research.pipeline.adapters import Adapters
from deep_research.report.figure import ChartType, DataRow
from deep_research.testing import CallLog, MemoryFetcher
from deep_research.value import Json

PICTURE = base64.b64encode(b"\x89PNG picture").decode()
SERIES = 4
GOOD, BAD, WRONG = "good()", "bad()", "wrong()"


def with_series(adapters: Adapters) -> Adapters:
    """Return the parts with a page for each of several series about the costs of a project, in a table."""
    fetcher = adapters.fetcher
    assert isinstance(fetcher, MemoryFetcher)
    pages = {}
    for number, (address, text) in enumerate(fetcher.pages.items(), start=1):
        rows = "".join(f"| {2020 + year} | {number * 10 + year * year} |\n" for year in range(1, 5))
        pages[address] = (
            f"{text}\n| Year | Costs of project {'ABCDEFGH'[number - 1]} (million euros) |\n| --- | --- |\n{rows}"
        )
    return replace(adapters, fetcher=replace(fetcher, pages=dict(list(pages.items())[:SERIES])))


def _shown(values: Sequence[float]) -> Execution:
    return Execution(stdout="", figures=(PICTURE,), svgs=("<svg/>",), plotted=(tuple(values),))


async def draw(**chart: Any) -> Execution:
    """Draw one chart with the program's own drawing, in a process of its own."""
    drawer = Drawer()
    try:
        return await drawer.draw(**chart)
    finally:
        await drawer.close()


@dataclass
class ScriptedSandbox:
    """Runs programs of one word: `good()` draws the data, `wrong()` one value of its own, all else fails."""

    log: CallLog = field(default_factory=CallLog)
    timeout_s: float = 60.0
    errors: tuple[str, ...] = ("NameError: bad",)
    ran: list[str] = field(default_factory=list)
    problem: str = ""

    async def check(self) -> str:
        if self.problem:
            raise SourceRefused(self.problem)
        return "scripted"

    async def execute(self, code: str, data: Json = None) -> Execution:
        self.log.write("begin", "sandbox", code)
        self.ran.append(code)
        assert isinstance(data, list)
        values = [float(row["value"]) for row in data]  # type: ignore[index, call-overload, arg-type]  # plain JSON
        if code.startswith(GOOD):
            return _shown(values)
        if code.startswith(WRONG):
            return _shown([*values[1:], 999.0])
        raise SourceError(self.errors[len(self.ran) % len(self.errors)])


async def drawn_by_ours(
    *, title: str, chart_type: ChartType, unit: str, rows: Sequence[DataRow], language: str = "en"
) -> Execution:
    """Draw as the program's own drawing does, at once."""
    return _shown([row.value for row in rows])
