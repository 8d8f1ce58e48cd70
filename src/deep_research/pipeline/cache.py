"""Cache: seals the run: the copy of its report, its statistics, and the list of its files."""

from deep_research.pipeline.context import Ports
from deep_research.pipeline.folder import report_copy_of
from deep_research.pipeline.statistics import statistics_of
from deep_research.value import canonical_json


async def cache(*, ports: Ports) -> None:
    """Write what only the end of a run knows."""
    folder = ports.run.folder
    rows = await ports.store.list_calls(ports.run.row.id)
    hits = [
        {"scope": row.scope, "answer": row.answer}
        for row in sorted(rows, key=lambda row: row.scope)
        if row.kind == "search"
    ]
    await folder.write("search_results.json", canonical_json(hits) + "\n")
    events = await ports.store.read_events(ports.run.row.id)
    statistics = statistics_of(rows, events, spent=ports.run.journal.ledger.spent)
    await folder.write("stats.json", canonical_json(statistics) + "\n")
    report = (folder.path / "report.md").read_bytes()
    await folder.write_at(report_copy_of(folder.path), report)
