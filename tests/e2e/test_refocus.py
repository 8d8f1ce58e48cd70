"""The focus of a run that works: changed while it searches, kept through a stop, refused once the report is written."""

import asyncio
from pathlib import Path

import pytest

from deep_research.errors import RunInterrupted, WrongState
from deep_research.events import RunEvent
from deep_research.pipeline.control import change_course
from deep_research.request import ResearchRequest
from deep_research.storage.store.port import RunRow
from tests.e2e.harness import QUESTION, Lab, User, assert_emitted_once
from tests.support.gated_model import GatedModel
from tests.support.reasoner import ScriptedReasoner
from tests.support.server import server_process
from tests.support.waiting import HANG_S
from tests.support.world import World


class Listener:
    """Changes the focus of a run at its first event of a kind, and may stop the run then."""

    def __init__(self, lab: Lab, kind: str, *, step: str = "", focus: tuple[str, ...] = ("Noise", "Money")) -> None:
        self.lab, self.kind, self.step, self.focus = lab, kind, step, focus
        self.is_done = False

    async def __call__(self, event: RunEvent) -> None:
        if self.is_done or event.kind != self.kind or (self.step and event.data.get("step") != self.step):
            return
        self.is_done = True
        store = self.lab.processor().adapters.open_store()
        try:
            await change_course(store, await store.get_run(event.run), "focus", list(self.focus))
        finally:
            await store.close()


def _lab(tmp_path: Path) -> Lab:
    return Lab(User(tmp_path), World(pages=8, reasoner=ScriptedReasoner(sections=("Costs", "Results"), rounds=3)))


def _headings(report: str) -> list[str]:
    return [line[3:] for line in report.splitlines() if line.startswith("## ")]


def test_focus_changed_while_a_run_searches_is_followed_by_what_has_not_begun(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    row = lab.ask(on_event=Listener(lab, "serp-query"))
    assert row.status == "done"
    events = lab.user.events()
    assert_emitted_once(events)
    asked = [(event.data["section"], event.data["round"]) for event in events if event.kind == "serp-query"]
    # What had begun was finished, and no further round was searched for the sections of before.
    assert all(number == 1 for title, number in asked if title in ("Costs", "Results"))
    assert {title for title, _ in asked if title not in ("Costs", "Results")} == {"Noise", "Money"}
    headings = _headings(lab.user.report())
    assert headings.index("Noise") < headings.index("Money")
    assert not {"Costs", "Results"} & set(headings)


def test_changed_focus_outlives_the_process_and_is_replayed(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    processor = lab.processor()
    change = Listener(lab, "serp-query")

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
    headings = _headings(lab.user.report())
    assert "Noise" in headings
    assert "Costs" not in headings
    events = lab.user.events()
    assert_emitted_once(events)
    # Played back from its journal, the run takes the same way and makes no call again.
    calls = lab.user.call_log.read_text(encoding="utf-8")
    again = lab.resume(run, retry=True)
    assert again.status == "done"
    assert _headings(lab.user.report()) == headings
    assert lab.user.call_log.read_text(encoding="utf-8") == calls


def test_focus_is_refused_in_words_once_the_report_is_written(tmp_path: Path) -> None:
    lab = _lab(tmp_path)
    refusals: list[str] = []
    change = Listener(lab, "progress", step="draft")

    async def too_late(event: RunEvent) -> None:
        try:
            await change(event)
        except WrongState as exc:
            refusals.append(str(exc))

    assert lab.ask(on_event=too_late).status == "done"
    assert len(refusals) == 1
    assert "What it looks for cannot be changed now" in refusals[0]
    assert "Noise" not in _headings(lab.user.report())


@pytest.mark.long
def test_focus_named_over_the_api_outlives_a_killed_server(tmp_path: Path) -> None:
    with GatedModel() as model:
        env = {f"DEEP_RESEARCH_{name.upper()}": value for name, value in model.settings.items()}
        with server_process(tmp_path, **env) as server:
            run = server.client.ask()["id"]
            assert model.is_asked.wait(HANG_S)
            told = server.client.http.post(f"/api/runs/{run}/focus", json={"focus": ["Noise", "噪音"]})
            assert told.json()["status"] == "running"
            server.kill()
            model.gate.set()
            client = server.start()
            assert client.wait(run)["status"] == "done"
            plan = client.http.get(f"/api/runs/{run}/plan").json()["plan"]
            assert [section["title"] for section in plan["sections"]] == ["Noise", "噪音"]
