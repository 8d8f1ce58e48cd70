"""A run's statistics in the terminal (SPEC R9): a bar for each stage, the aims, and what calls came to."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from deep_research.cli.run_page import cost_in_words
from deep_research.messages.language import report_language
from deep_research.messages.words import Words, words
from deep_research.pipeline.statistics import DECISIONS
from deep_research.store.port import RunRow
from deep_research.value import JsonObject

_LEAST_BAR, _MOST_BAR = 10, 60
# Beside label and bar: seconds, share, and the gaps between.
_FIGURES_WIDTH = 24
_MARKS = {True: "✓", False: "✗", None: "–"}


def stats_page(row: RunRow, figures: JsonObject, unpriced: Sequence[str] = ()) -> str:
    """Return a run's statistics in the language of its report, as wide as the terminal; `unpriced` as for its page."""
    said = words(report_language(row.request.question, row.request.language))
    width = shutil.get_terminal_size((80, 24)).columns
    head = f"{said('stats.title', run=row.id[:8])} ({said('status.' + row.status)})"
    return "\n".join(
        (head, "", *_stages(figures, said, width), "", *_targets(figures, said), "", *_calls(figures, unpriced, said))
    )


def _stages(figures: Mapping[str, Any], said: Words, width: int) -> Iterator[str]:
    yield said("stats.stages", seconds=f"{figures['wall_s']:.1f}")
    stages: dict[str, dict[str, Any]] = figures["stages"]
    labels = {name: said(f"stage.{name}") for name in stages}
    label_width = max(map(cell_len, labels.values()), default=0)
    bar_width = max(_LEAST_BAR, min(_MOST_BAR, width - label_width - _FIGURES_WIDTH))
    for name, stage in stages.items():
        share = stage["share"] or 0.0
        filled = round(bar_width * min(share, 1.0))
        bar, seconds = "█" * filled + "░" * (bar_width - filled), f"{stage['seconds']:>9,.1f}"
        yield f"  {_padded(labels[name], label_width)}  {bar} {said('stats.in_seconds', count=seconds)} {share:>5.0%}"


def _targets(figures: Mapping[str, Any], said: Words) -> Iterator[str]:
    """Yield what was aimed at beside what was measured."""
    yield said("stats.targets")
    rows = [
        (said(f"stats.{name}"), _told(name, aim["measured"], said), _aim(name, aim["target"], said), aim["is_met"])
        for name, aim in figures["targets"].items()
    ]
    widths = [max(cell_len(row[column]) for row in rows) for column in (0, 1)]
    for label, measured, aim, is_met in rows:
        told = " " * (widths[1] - cell_len(measured)) + measured
        yield f"  {_MARKS[is_met]} {_padded(label, widths[0])}  {told}  ({aim})"


def _aim(name: str, target: float, said: Words) -> str:
    return said("stats.above" if name == "steps" else "stats.below", target=_told(name, target, said))


def _told(name: str, figure: float | None, said: Words) -> str:
    if figure is None:
        return "–"
    if name == "steps":
        return f"{100 * figure:.4g}%"
    return said("stats.in_seconds", count=f"{figure:,.4g}") if name == "seconds" else f"{figure:,.0f}"


def _calls(figures: Mapping[str, Any], unpriced: Sequence[str], said: Words) -> Iterator[str]:
    yield said("stats.calls")
    calls = Counter[str]()
    for name, count in figures["calls"].items():
        kind, state = name.split(" ")
        calls[state] += 0 if kind in DECISIONS else count
    ratio, spent, each = figures["wall_over_chain"], figures["spent"], figures["usd_per_query"]
    lines = [
        said("stats.steps_line", done=figures["steps"]["done"], failed=figures["steps"]["failed"]),
        said(
            "stats.calls_line",
            calls=calls["done"] + calls["failed"],
            failed=calls["failed"],
            peak=figures["peak_in_flight"],
        ),
        said(
            "stats.search_line",
            searches=figures["searches"],
            requests=figures["engine_requests"],
            pages=figures["pages"],
        ),
        said(
            "stats.chain_line",
            seconds=f"{figures['longest_chain_s']:.1f}",
            ratio="–" if ratio is None else f"{ratio:.2f}",
        ),
        said(
            "stats.model_line",
            calls=figures["model"]["calls"],
            tokens=f"{spent['tokens']:,}",
            cost=cost_in_words(spent["usd"], unpriced, said),
            query="–" if each is None else cost_in_words(each, unpriced, said),
        ),
        said("stats.repeated_line", **figures["duplicates"]),
    ]
    yield from (f"  {line}" for line in lines)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
