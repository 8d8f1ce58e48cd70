"""A run's statistics in the terminal: a bar for each stage, the aims, and what calls came to."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from deep_research.cli.runs.run_page import cost_in_words
from deep_research.pipeline.control import words_of
from deep_research.pipeline.journal import DECISIONS
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import Words
from deep_research.value import JsonObject

_MIN_BAR, _MAX_BAR = 10, 60
# Beside label and bar: seconds, share, and the gaps between.
_FIGURES_WIDTH = 24
_MARKS = {True: "✓", False: "✗", None: "–"}


def stats_page(row: RunRow, figures: JsonObject, unpriced: Sequence[str] = ()) -> str:
    """Return a run's statistics in the language of its report, as wide as the terminal; `unpriced` as for its page."""
    words = words_of(row)
    width = shutil.get_terminal_size((80, 24)).columns
    head = f"{words('stats.title', run=row.id[:8])} ({words('status.' + row.status)})"
    parts = [head], _stages(figures, words, width), _targets(figures, words), _calls(figures, unpriced, words)
    return "\n\n".join(map("\n".join, parts))


def _stages(figures: Mapping[str, Any], words: Words, width: int) -> Iterator[str]:
    yield words("stats.stages", seconds=f"{figures['wall_s']:.1f}")
    stages: dict[str, dict[str, Any]] = figures["stages"]
    labels = [words(f"stage.{name}") for name in stages]
    label_width = max(map(cell_len, labels), default=0)
    bar_width = max(_MIN_BAR, min(_MAX_BAR, width - label_width - _FIGURES_WIDTH))
    for label, stage in zip(labels, stages.values(), strict=True):
        share = stage["share"] or 0.0
        filled = round(bar_width * min(share, 1.0))
        bar, seconds = "█" * filled + "░" * (bar_width - filled), f"{stage['seconds']:>9,.1f}"
        yield f"  {set_cell_size(label, label_width)}  {bar} {words('stats.in_seconds', count=seconds)} {share:>5.0%}"


def _targets(figures: Mapping[str, Any], words: Words) -> Iterator[str]:
    """Yield what was aimed at beside what was measured."""
    yield words("stats.targets")
    rows = [
        (
            words(f"stats.{name}"),
            _measured(name, aim["measured"], words),
            words(f"stats.{'above' if name == 'steps' else 'below'}", target=_measured(name, aim["target"], words)),
            aim["is_met"],
        )
        for name, aim in figures["targets"].items()
    ]
    widths = [max(cell_len(row[column]) for row in rows) for column in (0, 1)]
    for label, measured, aim, is_met in rows:
        gap = " " * (widths[1] - cell_len(measured))
        yield f"  {_MARKS[is_met]} {set_cell_size(label, widths[0])}  {gap}{measured}  ({aim})"


def _measured(name: str, figure: float | None, words: Words) -> str:
    if figure is None:
        return "–"
    if name == "steps":
        return f"{100 * figure:.4g}%"
    return words("stats.in_seconds", count=f"{figure:,.4g}") if name == "seconds" else f"{figure:,.0f}"


def _calls(figures: Mapping[str, Any], unpriced: Sequence[str], words: Words) -> Iterator[str]:
    yield words("stats.calls")
    calls = Counter[str]()
    for name, count in figures["calls"].items():
        kind, state = name.split(" ")
        calls[state] += 0 if kind in DECISIONS else count
    ratio, spent, each = figures["wall_over_chain"], figures["spent"], figures["usd_per_query"]
    lines = (
        words("stats.steps_line", done=figures["steps"]["done"], failed=figures["steps"]["failed"]),
        words(
            "stats.calls_line",
            calls=calls["done"] + calls["failed"],
            failed=calls["failed"],
            peak=figures["peak_in_flight"],
        ),
        words(
            "stats.search_line",
            searches=figures["searches"],
            requests=figures["engine_requests"],
            pages=figures["pages"],
        ),
        words(
            "stats.chain_line",
            seconds=f"{figures['longest_chain_s']:.1f}",
            ratio="–" if ratio is None else f"{ratio:.2f}",
        ),
        words(
            "stats.model_line",
            calls=figures["model"]["calls"],
            tokens=f"{spent['tokens']:,}",
            cost=cost_in_words(spent["usd"], unpriced, words),
            query="–" if each is None else cost_in_words(each, unpriced, words),
        ),
        words("stats.repeated_line", **figures["duplicates"]),
    )
    yield from (f"  {line}" for line in lines)
