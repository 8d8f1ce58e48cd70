"""One run on one page: where it stands, what was asked and planned, what it cost, and how to go on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deep_research.events import RunEvent
from deep_research.pipeline.control import question_lines, words_of
from deep_research.pipeline.plan_text import followed_plan
from deep_research.request import Spend
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.words import Words

_MAX_ASSUMPTIONS = 5
_CENT = 0.01


def page_of(row: RunRow, events: Sequence[RunEvent], spent: Spend, unpriced: Sequence[str] = ()) -> str:
    """Return the page of a run in the language of its report; `unpriced` are models used without a known price."""
    words = words_of(row)
    parts: list[tuple[str, Sequence[str]]] = [
        ("status", [f"{words('status.' + row.status)} ({row.id[:8]})"]),
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
    return "\n".join((*lines, words("page.see_all", run=row.id[:8])))


def next_commands(row: RunRow, words: Words) -> list[str]:
    """Return the commands by which a run goes on."""
    run = f"deep-research runs {{}} {row.id[:8]}"
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
        return words("shell.usd_unknown", models=words("report.list_separator").join(unpriced))
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
