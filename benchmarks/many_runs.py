"""The process that is measured when many runs go on at once: so many questions, one processor, one event loop.

`python -m benchmarks.many_runs 10`; with 0 it loads what a run needs, and ends. Its settings come from the environment.
"""

import asyncio
import json
import sys

from deep_research.llm import openai  # noqa: F401 - what a run loads before its first call
from deep_research.pipeline.graph import build_graph
from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.runner import request_from
from deep_research.settings import load_settings
from deep_research.wiring import build

SUBJECTS = "heat pumps|tram lines|river ferries|water mains|wind farms|night trains|bike lanes|cold stores".split("|")
PLACES = "Aarhus Bergen Cork Dundee Essen Faro Ghent Haifa Izmir Jena Kisumu Lodz Malmo".split()


def question(number: int) -> str:
    """Return a question that no other number has."""
    subject, place = SUBJECTS[number % len(SUBJECTS)], PLACES[number // len(SUBJECTS) % len(PLACES)]
    return f"What did {subject} in {place} cost, and what did they achieve?"


async def research(count: int) -> list[dict[str, object]]:
    """Research so many questions at once; return what each came to."""
    settings = load_settings()
    adapters = build(settings)
    processor = DeepResearchProcessor(adapters)
    try:
        requests = [request_from(settings, question(number)) for number in range(count)]
        rows = await asyncio.gather(*map(processor.process, requests))
    finally:
        await adapters.close()
    return [
        {"status": row.status, "is_verified": bool(row.result and row.result["is_verified"]), "folder": row.folder}
        for row in rows
    ]


if __name__ == "__main__":
    build_graph(StateMachine())
    print(json.dumps(asyncio.run(research(int(sys.argv[1])))))
