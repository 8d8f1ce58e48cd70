"""Exports of a report of 30 pages with 5 figures, in each format; and how many sentences a second are verified."""

import asyncio
import tempfile
import time
from base64 import b64decode
from pathlib import Path

from deep_research import research
from deep_research.charts.drawing import Drawer
from deep_research.export.formats import FORMATS, exported
from deep_research.report.figure import DataRow
from deep_research.request import Language
from deep_research.settings import Settings
from deep_research.verify.report import Verifier
from tests.support.editions import contents

CHAPTERS, PARAGRAPHS, FIGURES = 30, 7, 5
LANGUAGES: tuple[Language, ...] = ("en", "zh-Hans")
DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
CHECKS = 50


async def report() -> None:
    """Print the tables."""
    for language in LANGUAGES:
        figures = await _figures(language)
        whole = contents(language, chapters=CHAPTERS, paragraphs=PARAGRAPHS, figures=figures)
        bare = contents(language, chapters=CHAPTERS, paragraphs=PARAGRAPHS, figures=())
        print(f"\n30 pages, 5 figures ({language})   CPU s   wall s       KB   KB without figures")
        # A bundle is made of the files of a run.
        for name in sorted(FORMATS.keys() - {"bundle"}):
            exported(contents(language, chapters=1), name)
            began, spent = time.perf_counter(), time.process_time()
            made = exported(whole, name)
            wall, cpu = time.perf_counter() - began, time.process_time() - spent
            print(f"  {name:28}{cpu:7.2f}{wall:9.2f}{len(made) / 1e3:9.0f}{len(exported(bare, name)) / 1e3:21.0f}")
    await _verification()


async def _figures(language: Language) -> list[tuple[bytes, bytes]]:
    drawer, figures = Drawer(), []
    try:
        for number in range(1, FIGURES + 1):
            rows = [DataRow(label=str(2015 + at), value=at * number * 1.5, evidence="e1") for at in range(10)]
            drawn = await drawer.draw(title="营收 Revenue", chart_type="line", unit="€", rows=rows, language=language)
            figures.append((b64decode(drawn.figures[0]), drawn.svgs[0].encode()))
    finally:
        await drawer.close()
    return figures


async def _verification() -> None:
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), engines=(), charts=False)
        question = "How much did the Harbour Heat retrofit cost and what did it achieve?"
        result = await research(question, docs=str(DOCUMENTS), strategy="local", provider="none", settings=settings)
        folder = Path(result.folder)
        began = time.perf_counter()
        for _ in range(CHECKS):
            outcome = Verifier().verify(folder / "report.md", folder / "paragraphs.jsonl")
        wall = time.perf_counter() - began
    sentences = sum(outcome.paragraphs.verdicts.values())
    print(f"\nverification: {sentences} sentences of a run's files, {CHECKS * sentences / wall:,.0f} sentences/s")


if __name__ == "__main__":
    asyncio.run(report())
