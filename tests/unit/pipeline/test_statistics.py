"""The figures of a run come from its journal and its events."""

from datetime import timedelta
from typing import Any

from deep_research.events import EventKind, RunEvent
from deep_research.llm.port import ModelReply
from deep_research.pipeline.statistics import statistics_of
from deep_research.request import Spend
from deep_research.storage.store.port import CallState, JournalRow
from tests.support.store_samples import START, make_call


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


def _stages(events: list[RunEvent]) -> dict[str, tuple[float, float | None, int]]:
    stages: Any = statistics_of([], events, spent=Spend())["stages"]
    return {name: (stage["seconds"], stage["share"], stage["steps"]) for name, stage in stages.items()}


def test_a_stage_is_busy_while_it_works_anywhere_and_overlaps_count_once():
    events = [
        _step(1, "harvest", "started", 0, "section/1/round/1/task/1"),
        _step(2, "harvest", "started", 1, "section/1/round/1/task/2"),
        _step(3, "harvest", "done", 3, "section/1/round/1/task/1"),
        _step(4, "harvest", "done", 5, "section/1/round/1/task/2"),
        _step(5, "chart", "started", 5, "chart"),
        _step(6, "chart", "skipped", 6, "chart"),
        _step(7, "harvest", "started", 7, "section/2/round/1/task/1"),
        _step(8, "harvest", "done", 10, "section/2/round/1/task/1"),
    ]
    assert _stages(events) == {"harvest": (8.0, 0.8, 3), "chart": (1.0, 0.1, 1)}


def _status(seq: int, status: str, second: float) -> RunEvent:
    at, key = START + timedelta(seconds=second), f"run-status:epoch/{seq}:0"
    return RunEvent(seq=seq, run="r", at=at, kind="run-status", key=key, data={"status": status})


def test_time_in_which_nobody_worked_on_the_run_counts_nowhere():
    events = [
        _status(1, "running", 0),
        _step(2, "harvest", "started", 1, "a"),
        _step(3, "plan", "done", 4, "plan"),  # killed here, with the step open
        _status(4, "running", 1000),
        _step(5, "harvest", "done", 1002, "a"),
        _status(6, "waiting", 1003),
        _status(7, "running", 9000),
        _status(8, "waiting", 9003),
        _status(9, "cancelled", 90_000),
    ]
    figures: Any = statistics_of([], events, spent=Spend())
    assert figures["wall_s"] == 4 + 3 + 3
    assert figures["stages"] == {"harvest": {"seconds": 5.0, "share": 0.5, "steps": 1}}
    assert figures["targets"]["seconds"] == {"measured": 10.0, "target": 60, "is_met": True}


def _told(seq: int, kind: EventKind, scope: str, **data: Any) -> RunEvent:
    return RunEvent(seq=seq, run="r", at=START, kind=kind, key=f"{kind}:{scope}:0", data=data)


def test_steps_are_stages_searches_and_pages_and_what_was_given_up_failed():
    page = "section/1/round/1/task/1/read/page"
    under_way = [
        _status(1, "running", 0),
        _step(2, "plan", "started", 0, "plan"),
        _step(3, "plan", "done", 1, "plan"),
        _step(4, "reflect", "started", 1, "section/1/round/1/reflect"),
        _told(5, "search-task", "section/1/round/1/task/1/read", status="done"),
        _told(6, "search-task", "section/1/round/1/task/2/read", status="failed"),
        _told(7, "source", f"{page}/1", document="x"),
        _told(8, "error", f"{page}/2", message="gone", step=f"{page}/2"),
        _told(9, "error", "plan", message="the window was too small", step="plan"),
    ]
    figures: Any = statistics_of([], under_way, spent=Spend())
    assert figures["steps"] == {"done": 3, "failed": 2, "success_rate": 0.6}
    ended: Any = statistics_of([], [*under_way, _status(10, "done", 9)], spent=Spend())
    assert ended["steps"] == {"done": 3, "failed": 3, "success_rate": 0.5}
    assert ended["targets"]["steps"] == {"measured": 0.5, "target": 0.95, "is_met": False}


def test_tokens_and_money_are_told_for_each_query_beside_the_aims():
    rows = [_call(str(number), "done", number, number + 2, spend=Spend(queries=1)) for number in range(25)]
    figures: Any = statistics_of(rows, [], spent=Spend(tokens=500_000, usd=0.5))
    assert (figures["tokens_per_query"], figures["usd_per_query"]) == (20_000, 0.02)
    assert figures["targets"]["searches"] == {"measured": 25, "target": 20, "is_met": False}
    assert figures["targets"]["tokens_per_query"] == {"measured": 20_000, "target": 10_000, "is_met": False}
    nothing: Any = statistics_of([], [], spent=Spend())
    assert nothing["targets"]["tokens_per_query"] == {"measured": None, "target": 10_000, "is_met": None}


def test_calls_are_in_flight_together_only_where_they_overlap():
    rows = [
        _call("a", "done", 0, 2),
        _call("b", "failed", 1, 3),
        _call("c", "done", 2, 4),
        _call("d", "done", 1.5, 1.8, kind="decision"),
    ]
    assert statistics_of(rows, [], spent=Spend())["peak_in_flight"] == 2


def test_what_was_done_twice_is_counted():
    rows = [
        _call("a", "done", 0, 1, kind="fetch", scope="fetch/https://x.test"),
        _call("b", "failed", 0, 1, kind="fetch", scope="fetch/https://y.test"),
        _call("c", "done", 1, 2, kind="fetch", scope="fetch/https://y.test"),
        _call("d", "done", 1, 2, kind="fetch", scope="fetch/https://x.test"),
    ]
    reply = ModelReply(text="x", tokens_in=5, tokens_out=1, usd=0.0, model="m").to_json()
    answers: list[Any] = [
        {"reply": reply, "prompt": {"act": "plan", "tokens": 5, "repeated": 0, "seen": seen}} for seen in (0, 4, 5)
    ]
    figures = statistics_of(rows, [], spent=Spend(), answers=answers)
    assert figures["duplicates"] == {"prompts": 1, "fetches": 1}
