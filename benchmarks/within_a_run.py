"""A run's time over the longest chain of calls it needed, with a model's usual delays."""

import json
import tempfile
import time
from pathlib import Path

from deep_research.pipeline.processor import DeepResearchProcessor
from deep_research.request import Depth, ResearchRequest
from deep_research.settings import Settings
from deep_research.testing.model import ActPrice
from deep_research.testing.reasoner import ScriptedReasoner
from deep_research.testing.world import World

SHORT_S, LONG_S, SEARCH_S, PAGE_S = 0.8, 3.0, 0.4, 0.2
AIM = 1.05


async def report() -> None:
    """Print the table."""
    world = World(
        act=ActPrice(tokens=100, usd=0.001, delay_s=SHORT_S),
        long_act=ActPrice(tokens=400, usd=0.004, delay_s=LONG_S),
        search_s=SEARCH_S,
        page_s=PAGE_S,
        reasoner=ScriptedReasoner(sections=("Costs", "Results", "Criticism")),
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), logs=Path(folder) / "logs")
        processor = DeepResearchProcessor(world.parts(settings))
        begin, cpu = time.perf_counter(), time.process_time()
        row = await processor.process(ResearchRequest(question="What did the projects cost?", depth=Depth()))
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        stats = json.loads((Path(row.folder) / "stats.json").read_text())
    chain, within = stats["longest_chain_s"], stats["first_call_to_last_answer_s"]
    calls = sum(stats["calls"].values())
    print(f"\nwithin a run, delays {SHORT_S}/{LONG_S}/{SEARCH_S}/{PAGE_S} s: {calls} calls, {stats['pages']} pages")
    print(f"  longest needed chain          {chain:6.2f} s")
    print(f"  first call to last answer     {within:6.2f} s   × {within / chain:.3f}   aim ≤ {AIM}")
    print(f"  whole run                     {wall:6.2f} s   × {wall / chain:.3f}   CPU {cpu:.2f} s")
