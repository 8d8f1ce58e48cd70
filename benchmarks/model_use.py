"""What a standard run asks of a model: calls, tokens, and how much of its prompts repeats earlier ones."""

import json
import tempfile
from pathlib import Path

from deep_research.pipeline.processor import DeepResearchProcessor
from deep_research.request import Depth, ResearchRequest
from deep_research.settings import Settings
from deep_research.testing.analyst import ScriptedAnalyst
from deep_research.testing.world import World, with_models


async def report() -> None:
    """Print the table."""
    analyst = ScriptedAnalyst()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), logs=Path(folder) / "logs", provider="none")
        parts = with_models(World().parts(settings), analyst)
        processor = DeepResearchProcessor(parts)
        row = await processor.process(ResearchRequest(question="What did the projects cost?", depth=Depth()))
        stats = json.loads((Path(row.folder) / "stats.json").read_text())
        paragraphs = len((Path(row.folder) / "paragraphs.jsonl").read_text().splitlines())
    use = stats["model"]
    prompts = [request.text for request in analyst.requests]
    identical = len(prompts) - len(set(prompts))
    found = f"{stats['searches']} queries, {stats['pages']} pages, {paragraphs} paragraphs"
    print(f"\nwhat a standard run asks of a model: {found}")
    print(f"  calls                         {use['calls']:6}     {use['calls_by_act']}")
    print(f"  prompt tokens, upper estimate {use['prompt_tokens']:6}     {use['prompt_tokens'] // use['calls']} a call")
    print(f"  completion tokens             {use['completion_tokens']:6}")
    print(f"  repeats the prompt before     {use['prefix_share']:6.1%}")
    print(f"  repeats any earlier prompt    {use['cacheable_share']:6.1%}   what a provider's cache can serve at most")
    print(f"  identical prompts             {identical:6}     aim 0")
