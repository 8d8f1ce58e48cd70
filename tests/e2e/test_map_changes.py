"""The map of a run that works: entries struck and added, and "enough", followed, kept through a stop, played back."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import NotFound, RunInterrupted, WrongState
from deep_research.events import RunEvent
from deep_research.pipeline.approval import steer
from deep_research.reasoning.values import Brief, MapEntry, Plan
from deep_research.request import ResearchRequest
from deep_research.storage.store.port import RunRow
from deep_research.value import Json, JsonObject
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once
from tests.e2e.test_server_api import refused
from tests.support.gated_model import GatedModel
from tests.support.reasoner import ScriptedReasoner
from tests.support.server import server_process
from tests.support.waiting import HANG_S
from tests.support.world import World

STRUCK, OTHER, ADDED = "Quayside 7: a plan", "Lock 9: a plan", "Breakwater 12: a plan"
CHANGE: JsonObject = {"map": {"strike": ["quayside 7"], "add": [ADDED], "section": "Results"}}


class MappedReasoner(ScriptedReasoner):
    """Expects two things to be named that no page names."""

    async def plan(self, brief: Brief) -> Plan:
        """Plan the scripted sections, with a map."""
        named = (MapEntry(name=STRUCK, section="Costs"), MapEntry(name=OTHER, section="Results"))
        return (await super().plan(brief)).replace(entries=named)


class Reader:
    """Changes the map at the first event of a kind that fits, and keeps what was refused."""

    def __init__(self, lab: Lab, change: Json, fits: Callable[[RunEvent], bool]) -> None:
        self.lab, self.change, self.fits = lab, change, fits
        self.is_done = False
        self.refusals: list[Exception] = []

    async def __call__(self, event: RunEvent) -> None:
        if self.is_done or not self.fits(event):
            return
        self.is_done = True
        store = self.lab.processor().adapters.open_store()
        try:
            assert await steer(store, await store.get_run(event.run), self.change)
        except (NotFound, WrongState) as exc:
            self.refusals.append(exc)
        finally:
            await store.close()


def _lab(tmp_path: Path, *, rounds: int = 3) -> Lab:
    reasoner = MappedReasoner(sections=("Costs", "Results"), rounds=rounds)
    return Lab(User(tmp_path), World(pages=8, reasoner=reasoner))


def _asks(number: int) -> Callable[[RunEvent], bool]:
    return lambda event: event.kind == "serp-query" and event.data["round"] == number


def _queries(events: list[RunEvent], number: int) -> list[str]:
    asked = filter(_asks(number), events)
    rounds: list[Any] = [event.data["queries"] for event in asked]
    return [query["query"] for queries in rounds for query in queries]


def _last_map(events: list[RunEvent]) -> JsonObject:
    return [event.data for event in events if event.kind == "research-map"][-1]


def _entries(told: JsonObject) -> list[dict[str, Any]]:
    entries: Any = told["entries"]
    return list(entries)


def _statuses(told: JsonObject) -> dict[str, str]:
    return {entry["name"]: entry["status"] for entry in _entries(told)}


def test_struck_entry_is_not_asked_for_and_added_one_is_asked_for_next(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    row = lab.ask(on_event=Reader(lab, CHANGE, lambda event: event.kind == "research-map"))
    assert row.status == "done"
    events = lab.user.events()
    assert_emitted_once(events)
    asked = _queries(events, 1)
    assert asked[0] == "Breakwater 12 a plan"
    assert not any("Quayside 7" in query for number in (1, 2, 3) for query in _queries(events, number))
    last = _last_map(events)
    assert last["changes"] == 1
    assert _statuses(last)[STRUCK] == "set_aside"
    assert [each["reason"] for each in _entries(last) if each["name"] == STRUCK] == ["struck by a reader"]
    assert "Quayside 7" not in lab.user.report()


def test_entry_added_in_a_later_round_is_asked_for_though_the_evidence_suffices(tmp_path: Path) -> None:
    lab = _lab(tmp_path, rounds=1)
    told = Reader(lab, {"map": {"add": [ADDED]}}, lambda event: event.kind == "section-coverage")
    assert lab.ask(on_event=told).status == "done"
    events = lab.user.events()
    assert _queries(events, 1)
    assert _queries(events, 2)[0] == "Breakwater 12 a plan"
    assert not _queries(events, 3)


def test_enough_ends_the_search_and_the_report_is_written(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    row = lab.ask(on_event=Reader(lab, "Enough.", lambda event: event.kind == "section-coverage"))
    assert row.status == "done"
    events = lab.user.events()
    assert {event.data["round"] for event in events if event.kind == "serp-query"} == {1}
    assert _last_map(events)["stop"] == "enough"
    assert any(event.kind == "source" for event in events)
    # What it has stands in the report.
    assert "## References" in lab.user.report()


def test_enough_while_pages_are_searched_reads_none_and_calls_nothing_missing(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    row = lab.ask(on_event=Reader(lab, "够了", _asks(1)))
    assert row.status == "done"
    events = lab.user.events()
    assert not any(event.kind == "source" for event in events)
    assert set(_statuses(_last_map(events)).values()) == {"open"}
    assert not any(entry["queries"] for entry in _entries(_last_map(events)))


def test_changes_outlive_the_process_and_are_replayed(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    processor = lab.processor()
    change = Reader(lab, CHANGE, _asks(1))

    async def change_and_stop(event: RunEvent) -> None:
        await change(event)
        if change.is_done:
            processor.interrupt()

    async def stopped() -> RunRow:
        row = await processor.create(ResearchRequest(question=QUESTION))
        with pytest.raises(RunInterrupted):
            await processor.resume(row.id, on_event=change_and_stop)
        return row

    run = asyncio.run(stopped()).id
    assert lab.resume(run).status == "done"
    told = _last_map(lab.user.events())
    assert _statuses(told)[STRUCK] == "set_aside"
    assert ADDED in _statuses(told)
    calls = lab.user.call_log.read_text(encoding="utf-8")
    assert lab.resume(run, retry=True).status == "done"
    assert _last_map(lab.user.events()) == told
    assert lab.user.call_log.read_text(encoding="utf-8") == calls


def test_changes_are_refused_in_words_where_nothing_follows_from_them(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    late = Reader(lab, CHANGE, lambda event: event.kind == "progress" and event.data["step"] == "draft")
    assert lab.ask(on_event=late).status == "done"
    assert [type(refusal) for refusal in late.refusals] == [WrongState]
    unknown = Reader(lab, {"map": {"strike": ["Pier 3"]}}, _asks(1))
    assert lab.ask(on_event=unknown).status == "done"
    assert [str(refusal) for refusal in unknown.refusals] == ["There is no entry “Pier 3” on the map."]


@pytest.mark.long
def test_map_changed_over_the_api_shows_at_once_and_outlives_a_killed_server(tmp_path: Path) -> None:
    with GatedModel() as model:
        env = {f"DEEP_RESEARCH_{name.upper()}": value for name, value in model.settings.items()}
        with server_process(tmp_path, **env) as server:
            http = server.client.http
            run = server.client.ask()["id"]
            assert model.is_asked.wait(HANG_S)
            refused(http.post(f"/api/runs/{run}/map", json={}), 422)
            assert "“噪音”" in refused(http.post(f"/api/runs/{run}/map", json={"strike": ["噪音"]}), 404)["detail"]
            assert http.post(f"/api/runs/{run}/map", json={"add": ["噪音"]}).json()["status"] == "running"
            shown = http.get(f"/api/runs/{run}/progress").json()["map"]
            assert [(entry["name"], entry["status"]) for entry in shown["entries"]] == [("噪音", "open")]
            server.kill()
            model.gate.set()
            client = server.start()
            assert client.wait(run)["status"] == "done"
            shown = client.http.get(f"/api/runs/{run}/progress").json()
            assert "噪音" in [query["query"] for query in shown["queries"]]
            assert not shown["map"]["can_change"]
            refused(client.http.post(f"/api/runs/{run}/map", json={"enough": True}), 409)
