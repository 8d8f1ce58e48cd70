"""Deep Research from Python: the short form, and the form with a graph. Uses a model if one is set (docs/models.md).

python examples/from_python.py
"""

import asyncio
from pathlib import Path

from deep_research import build_deep_research_graph, research, run_deep_research

DOCUMENTS = Path(__file__).parent / "documents"


async def answer(question: str) -> str:
    """Answer what is asked back; a real program would ask somebody."""
    print(f"Asked: {question}")
    return "start now"


async def main() -> None:
    report = await research(
        "How much did the Harbour Heat retrofit cost?", docs=DOCUMENTS, strategy="local", on_clarify_question=answer
    )
    print(
        report.title, "verified" if report.is_verified else "NOT verified", f"{len(report.sources)} sources", sep=" · "
    )

    graph = build_deep_research_graph(max_iterations=2, docs=DOCUMENTS, strategy="local")
    text = await run_deep_research(
        query="青岚市的海绵城市改造花了多少钱，效果如何？", graph=graph, on_clarify_question=answer
    )
    print(text.splitlines()[0])


if __name__ == "__main__":
    asyncio.run(main())
