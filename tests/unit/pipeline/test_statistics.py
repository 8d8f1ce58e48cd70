"""The figures of a run come from its journal and its events."""

from datetime import timedelta
from typing import Any

from deep_research.events import RunEvent
from deep_research.pipeline.statistics import statistics_of
from deep_research.request import Spend
from deep_research.store.port import CallState, JournalRow
from deep_research.testing.store_samples import START, make_call


def _call(key: str, state: CallState, start: float, end: float, **fields: Any) -> JournalRow:
    times = {"started_at": START + timedelta(seconds=start), "ended_at": START + timedelta(seconds=end)}
    return make_call(key, state=state, **times, **fields)


def _step(seq: int, step: str, status: str, second: float, scope: str) -> RunEvent:
    return RunEvent(
        seq=seq,
        run="r",
        at=START + timedelta(seconds=second),
        kind="progress",
        key=f"progress:{scope}:{seq}",
        data={"step": step, "status": status},
    )


def test_a_run_without_calls_has_figures_too():
    figures = statistics_of([], [], spent=Spend())
    assert figures["success_rate"] is None
    assert (figures["longest_chain_s"], figures["first_call_to_last_answer_s"]) == (0.0, 0.0)


def test_calls_are_counted_by_kind_and_state():
    rows = [
        _call("a", "done", 0, 2, spend=Spend(queries=1)),
        _call("b", "failed", 1, 3),
        _call("c", "refused", 1, 1),
        make_call("d", state="started"),
        _call("e", "done", 3, 5, kind="fetch", spend=Spend(pages=1), after=["a"]),
    ]
    figures = statistics_of(rows, [], spent=Spend(queries=1, pages=1, seconds=5))
    assert figures["calls"] == {
        "fetch done": 1,
        "search done": 1,
        "search failed": 1,
        "search refused": 1,
        "search started": 1,
    }
    assert figures["success_rate"] == 0.6667
    assert figures["first_call_to_last_answer_s"] == 5.0
    assert figures["longest_chain_s"] == 4.0
    assert (figures["searches"], figures["engine_requests"], figures["pages"]) == (1, 2, 1)


def test_stages_that_run_beside_each_other_are_told_apart():
    events = [
        _step(1, "harvest", "started", 0, "section/1/round/1/task/1"),
        _step(2, "harvest", "started", 1, "section/1/round/1/task/2"),
        _step(3, "harvest", "done", 3, "section/1/round/1/task/1"),
        _step(4, "harvest", "done", 5, "section/1/round/1/task/2"),
        _step(5, "chart", "started", 5, "chart"),
        _step(6, "chart", "skipped", 6, "chart"),
        _step(7, "write", "started", 7, "write"),
    ]
    assert statistics_of([], events, spent=Spend())["stage_seconds"] == {"harvest": 7.0, "chart": 1.0}
