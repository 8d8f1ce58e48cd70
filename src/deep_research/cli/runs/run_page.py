"""One run on one page: where it stands, what was asked and planned, what it cost, how to go on; and its statistics."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size

from deep_research.events import RunEvent
from deep_research.pipeline.control import question_lines, words_of
from deep_research.pipeline.journal import DECISIONS
from deep_research.pipeline.plan_text import followed_plan
from deep_research.request import Spend
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import Words
from deep_research.value import JsonObject

_MAX_ASSUMPTIONS = 5
_CENT = 0.01
_MIN_BAR, _MAX_BAR = 10, 60
# Beside label and bar: seconds, share, and the gaps between.
_FIGURES_WIDTH = 24
_MARKS = {True: "✓", False: "✗", None: "–"}


def page_of(row: RunRow, events: Sequence[RunEvent], spent: Spend, unpriced: Sequence[str] = ()) -> str:
    """Return the page of a run in the language of its report; `unpriced` are models used without a known price."""
    words = words_of(row)
    parts: list[tuple[str, Sequence[str]]] = [
        ("status", [f"{words('status.' + row.status)} ({row.short_id})"]),
        ("started", [f"{row.created_at:%Y-%m-%d %H:%M} UTC · {words('page.active', seconds=round(row.active_s, 1))}"]),
        ("question", [row.request.question]),
        ("follows", [row.request.follow[:8]] if row.request.follow else []),
        ("assumptions", _assumptions(row)),
        ("plan", _plan(events)),
        ("progress", _progress(events, words)),
        ("spent", [_spent(spent, unpriced, words)]),
        ("error", [str(row.error["detail"])] if row.error else []),
        ("waits", question_lines(row.pending, words) if row.pending else []),
        ("next", next_commands(row, words)),
        ("files", [row.folder]),
    ]
    lines = [_part(words(f"page.{name}"), shown, words) for name, shown in parts if shown]
    return "\n".join((*lines, words("page.see_all", run=row.short_id)))


def next_commands(row: RunRow, words: Words) -> list[str]:
    """Return the commands by which a run goes on."""
    run = f"deep-research runs {{}} {row.short_id}"
    if row.status == "waiting" and row.pending and row.pending.get("kind") == "plan-approval":
        commands = words(
            "shell.plan_commands",
            approve=f"{run.format('answer')} approve",
            drop=f'{run.format("answer")} "drop 2"',
            depth=f"{run.format('answer')} standard",
            show=run.format("plan"),
            submit=f"{run.format('plan')} --file plan.yaml",
        )
        return commands.splitlines()
    if row.status == "waiting":
        return [words("shell.answer_hint", command=f'{run.format("answer")} "…"')]
    if row.status in ("interrupted", "created"):
        return [words("shell.resume_hint", command=run.format("resume"))]
    if row.status in ("failed", "cancelled"):
        return [words("shell.retry_hint", command=run.format("retry"))]
    return []


def _part(label: str, lines: Sequence[str], words: Words) -> str:
    inner = [line for text in lines for line in text.splitlines()]
    if len(inner) == 1:
        return f"{label}{words('report.colon')}{inner[0]}"
    return "\n".join((f"{label}{words('report.colon').rstrip()}", *(f"  {line}" for line in inner)))


def _plan(events: Sequence[RunEvent]) -> list[str]:
    plan = followed_plan(events)
    if plan is None:
        return []
    return [plan["title"], *(f"{number}. {each['title']}" for number, each in enumerate(plan["sections"], start=1))]


def _progress(events: Sequence[RunEvent], words: Words) -> list[str]:
    """Return how far each section came, and how much was lost on the way."""
    latest: dict[Any, Any] = {event.data["section"]: event.data for event in events if event.kind == "section-coverage"}
    lines = [
        words("page.coverage", title=title, round=data["round"], share=round(100 * data["coverage"]))
        for title, data in latest.items()
    ]
    lost = [event.data["message"] for event in events if event.kind == "error"]
    return [*lines, *([words("page.lost", count=len(lost), last=lost[-1])] if lost else [])]


def cost_in_words(usd: float, unpriced: Sequence[str], words: Words) -> str:
    """Return what was paid, or that nobody knows, where models were used that have no price."""
    if unpriced:
        return words("shell.usd_unknown", models=words.listed(unpriced))
    if 0 < usd < _CENT:
        return words("shell.usd_below", usd=f"{_CENT:.2f}")
    return words("shell.usd", usd=f"{usd:,.2f}")


def _spent(spent: Spend, unpriced: Sequence[str], words: Words) -> str:
    return words(
        "page.spent_line",
        cost=cost_in_words(spent.usd, unpriced, words),
        tokens=f"{spent.tokens:,}",
        queries=spent.queries,
        pages=spent.pages,
    )


def _assumptions(row: RunRow) -> list[str]:
    try:
        clarified = json.loads((Path(row.folder) / "clarify.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    # While a question is open they are only what would be assumed if nobody answers.
    is_open = clarified.get("next_action") == "NEED_CLARIFICATION"
    return [] if is_open else [str(line) for line in clarified.get("assumptions", [])[:_MAX_ASSUMPTIONS]]


def stats_page(row: RunRow, figures: JsonObject, unpriced: Sequence[str] = ()) -> str:
    """Return a run's statistics in the language of its report, as wide as the terminal; `unpriced` as for its page."""
    words = words_of(row)
    width = shutil.get_terminal_size((80, 24)).columns
    head = f"{words('stats.title', run=row.short_id)} ({words('status.' + row.status)})"
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
