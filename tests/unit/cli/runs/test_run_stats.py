"""The page of a run's statistics: a bar for each stage, the aims, in three languages, as wide as the terminal."""

import json
from datetime import timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from deep_research.cli.runs.run_page import stats_page
from deep_research.events import EventKind, RunEvent
from deep_research.pipeline.statistics import statistics_of
from deep_research.request import Language, Spend
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject
from tests.support.store_samples import START, make_call, make_run


def told(seq: int, kind: EventKind, scope: str, second: float, **data: Any) -> RunEvent:
    at = START + timedelta(seconds=second)
    return RunEvent(seq=seq, run="r", at=at, kind=kind, key=f"{kind}:{scope}:{seq}", data=data)


EVENTS = [
    told(1, "run-status", "epoch/1", 0, status="running"),
    told(2, "progress", "plan", 0, step="plan", status="started"),
    told(3, "progress", "plan", 25, step="plan", status="done"),
    told(4, "progress", "a", 25, step="harvest", status="started"),
    told(5, "progress", "a", 100, step="harvest", status="done"),
    told(6, "run-status", "epoch/1", 100, status="done"),
]


def run(language: Language = "en", **changes: Any) -> RunRow:
    row = make_run()
    return row.model_copy(update={"request": row.request.model_copy(update={"language": language}), **changes})


def figures() -> JsonObject:
    ended = START + timedelta(seconds=50)
    calls = [
        make_call("a", started_at=START, ended_at=ended, spend=Spend(queries=1)),
        make_call("b", state="failed", started_at=START, ended_at=ended, kind="fetch"),
        make_call("c", started_at=START, ended_at=ended, kind="decision"),
    ]
    return statistics_of(calls, EVENTS, spent=Spend(tokens=12_000, usd=0.5, queries=1))


def test_bars_show_the_share_of_the_time_and_aims_stand_beside_what_was_measured(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    page = stats_page(run(status="done"), figures()).splitlines()
    bars = [line for line in page if "█" in line]
    assert [line.split()[-1] for line in bars] == ["25%", "75%"]
    assert [line.count("█") / (line.count("█") + line.count("░")) for line in bars] == pytest.approx(
        [0.25, 0.75], abs=0.03
    )
    assert "  ✗ Time                   100 s  (aim: under 60 s)" in page
    assert "  ✗ Tokens a query        12,000  (aim: under 10,000)" in page
    assert "  ✓ Searches                   1  (aim: under 20)" in page
    assert "  ✓ Steps that succeeded    100%  (aim: over 95%)" in page
    assert "  Calls made: 2, of which failed: 1; most at once: 2" in page, "a decision is no call"
    assert "the run took 2.00 times as long" in "\n".join(page)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("columns", [80, 120])
def test_bars_end_at_the_same_column_and_fit_the_terminal(monkeypatch, language: Language, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    page = stats_page(run(language, status="done"), figures()).splitlines()
    widths = {cell_len(line) for line in page if "█" in line}
    assert len(widths) == 1
    assert max(map(cell_len, page)) <= columns
    assert not any(key in line for line in page for key in ("{", "stats."))


@pytest.mark.parametrize("status", ["created", "running", "waiting", "failed", "cancelled"])
def test_a_run_that_has_hardly_begun_has_a_page_too(status: str) -> None:
    page = stats_page(run(status=status), statistics_of([], [], spent=Spend()))
    assert "  – Tokens a query" in page


def test_models_without_a_price_are_not_free() -> None:
    page = stats_page(run(status="done"), figures(), ("some:model",))
    assert "not known (no price is known for some:model)" in page
    assert json.dumps(figures()), "plain JSON"
