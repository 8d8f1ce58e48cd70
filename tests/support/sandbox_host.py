"""A program that runs chart code in a sandbox for whoever started it: code in, what became of it out, a line each.

It is started as any user; the test then sees whether the sandbox holds for that one.
"""

import asyncio
import json
import sys
from importlib.resources import files

from deep_research.charts.sandbox.bubblewrap import Bubblewrap
from deep_research.charts.sandbox.process import SandboxLimits, WarmSandbox
from deep_research.errors import CallFailed

STYLE = files("deep_research.charts").joinpath("style.py").read_text(encoding="utf-8")


async def serve() -> None:
    """Answer each line until there is none."""
    sandboxes: dict[float, WarmSandbox] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        given = json.loads(line)
        within_s = given.get("within_s", 60.0)
        if within_s not in sandboxes:
            sandboxes[within_s] = WarmSandbox([Bubblewrap()], SandboxLimits(timeout_s=within_s), STYLE)
        try:
            made = await sandboxes[within_s].execute(given["code"], given["data"])
            answer = {"error": "", "printed": made.stdout, "plotted": made.plotted, "svg": made.svgs[0]}
        except CallFailed as failure:
            answer = {"error": f"{type(failure).__name__}: {failure}", "printed": "", "plotted": [], "svg": ""}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for sandbox in sandboxes.values():
        await sandbox.close()


if __name__ == "__main__":
    asyncio.run(serve())
