"""The ways in from Python: `research`, its sync form, and the public names."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_research import (
    RunEvent,
    Settings,
    StateMachine,
    build_deep_research_graph,
    research,
    research_sync,
    run_deep_research,
)
from deep_research.errors import AnswerNeeded, DeepResearchError, UnknownRun
from deep_research.pipeline.state import RunState
from tests.e2e.harness import QUESTION, Lab, User

E2E = Path(__file__).parents[2] / "e2e"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.syspath_prepend(str(E2E))
    monkeypatch.setenv("TEST_CALL_LOG", str(tmp_path / "calls.log"))
    monkeypatch.setenv("TEST_MENDED", str(tmp_path / "mended"))
    yield Settings(home=tmp_path / "home", logs=tmp_path / "logs", wiring="worlds:quick")
    sys.modules.pop("worlds", None)


def test_research_returns_the_report_with_its_sources(settings: Settings) -> None:
    told: list[RunEvent] = []
    result = research_sync(QUESTION, settings=settings, on_event=told.append)
    assert result.final_report.startswith(f"# {result.title}")
    assert result.sources
    assert result.learnings
    assert result.is_verified
    assert (Path(result.folder) / "report.md").read_text(encoding="utf-8") == result.final_report
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    assert {event.run for event in told} == {result.run}


async def test_research_keeps_to_the_budget_it_is_given(settings: Settings) -> None:
    result = await research(QUESTION, settings=settings, budget_pages=2)
    assert len(result.sources) == 2


async def test_the_names_of_the_second_document_work(settings: Settings) -> None:
    asked: list[str] = []

    async def on_clarify_question(question: str) -> str:
        asked.append(question)
        return "Costs"

    graph = build_deep_research_graph(settings=settings.model_copy(update={"wiring": "worlds:asking"}))
    report = await run_deep_research(QUESTION, graph, max_iterations=1, on_clarify_question=on_clarify_question)
    assert report.startswith("# ")
    assert len(asked) == 1
    with pytest.raises(AnswerNeeded, match="runs answer"):
        await run_deep_research(QUESTION, graph)


def test_the_graph_can_be_drawn(settings: Settings) -> None:
    drawn = build_deep_research_graph(settings=settings).draw_mermaid()
    for node in ("intake", "ask", "confirm", "search", "choose", "batch", "reflect", "supervise", "cache"):
        assert node in drawn


def test_a_machine_of_one_s_own_is_used(settings: Settings) -> None:
    seen: list[str] = []

    class Watching(StateMachine):
        async def run_stage(self, state: RunState):
            seen.append(str(state.stage))
            return await super().run_stage(state)

    research_sync(QUESTION, settings=settings, machine=Watching())
    assert seen[0] == "intake"
    assert seen[-1] == "cache"


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_unusable_input(settings: Settings, question: str) -> None:
    with pytest.raises(DeepResearchError) as caught:
        research_sync(question, settings=settings)
    assert caught.value.exit_code == 65


def test_a_listener_that_raises_does_not_stop_the_run(tmp_path: Path) -> None:
    def listen(event: RunEvent) -> None:
        raise ZeroDivisionError(event.key)

    assert Lab(User(tmp_path)).ask(on_event=listen).status == "done"


def test_a_run_nobody_knows_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun):
        asyncio.run(Lab(User(tmp_path)).processor().resume("0123456789"))
