"""What the command line can do, a Python program can: the same options, and the same runs."""

import asyncio
import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

import deep_research
from deep_research import (
    AnswerNeeded,
    Depth,
    Settings,
    answer_run,
    cancel_run,
    delete_run,
    list_runs,
    read_report,
    read_run,
    research,
    resume_run,
)
from deep_research.cli.main import ask
from deep_research.errors import UnknownRun, UsageError
from tests.e2e.harness import User

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "examples" / "documents"
VAGUE = {"en": "that project", "zh": "那个项目", "zh-Hant": "那個項目"}
# What only a shell has: where the question is read from, and where what comes out goes.
OF_THE_SHELL = {"query", "output", "as_json", "events", "quiet", "verbose", "deep_research"}
OF_PYTHON = {"settings", "machine", "on_event", "on_live", "on_clarify_question"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", logs=tmp_path / "logs", engines=("none",), docs=DOCUMENTS, charts=False)


def test_every_option_of_ask_is_a_typed_keyword_of_research() -> None:
    options = set(inspect.signature(ask).parameters) - OF_THE_SHELL
    assert options == set(inspect.signature(research).parameters) - OF_PYTHON
    assert options <= set(get_type_hints(research))
    assert inspect.signature(deep_research.research_sync).parameters == inspect.signature(research).parameters


async def test_options_reach_the_run(settings: Settings) -> None:
    await research(
        "How much did the Harbour Heat retrofit cost?",
        settings=settings,
        docs=DOCUMENTS / "council-closing-report.pdf",
        language="zh-Hant",
        length="short",
        focus=["Costs"],
        since="2024-02",
        until="2026",
        context="We spoke of Halden Bay.",
        clarify="off",
        assume=True,
        depth="quick",
        max_iterations=2,
        budget_queries=3,
        budget_seconds=500.0,
        provider="none",
        strategy="local",
        site=["https://who.int/news"],
        no_cache=True,
        offline=True,
    )
    request = (await list_runs(settings=settings))[0].request
    assert (request.language, request.length, request.focus) == ("zh-Hant", "short", ("Costs",))
    assert (f"{request.since}", f"{request.until}") == ("2024-02-01", "2026-12-31")
    assert (request.context, request.clarify, request.assume) == ("We spoke of Halden Bay.", "off", True)
    assert request.depth == Depth.named("quick").replace(max_iterations=2)
    assert (request.budget.queries, request.budget.seconds) == (3, 500.0)
    assert (request.search.strategy, request.search.cache, request.sites) == ("local", False, ("who.int",))
    assert request.offline
    assert request.docs.endswith("council-closing-report.pdf")


@pytest.mark.parametrize("language", VAGUE)
async def test_what_is_asked_back_lists_its_options_and_takes_a_number_or_words(
    settings: Settings, language: str
) -> None:
    with pytest.raises(AnswerNeeded) as caught:
        await research(VAGUE[language], settings=settings)
    needed, asked = caught.value, []
    assert needed.options
    assert (await read_run(needed.run, settings=settings)).status == "waiting"

    async def on_clarify_question(text: str) -> int:
        asked.append(text)
        return 1

    report = await research(VAGUE[language], settings=settings, on_clarify_question=on_clarify_question)
    assert report.final_report
    assert asked[0].startswith(needed.question)
    for number, option in enumerate(needed.options, start=1):
        assert f"\n  {number}. {option}" in asked[0]
    with pytest.raises(UsageError, match="There is no option 9"):
        await answer_run(needed.run, 9, settings=settings)
    by_number = await answer_run(needed.run, "1", settings=settings)
    assert by_number.title == report.title
    in_words = await _asked_again(VAGUE[language], "Harbour Heat", settings)
    assert "Harbour Heat" in in_words


async def _asked_again(question: str, answer: str, settings: Settings) -> str:
    with pytest.raises(AnswerNeeded) as caught:
        await research(question, settings=settings)
    return (await answer_run(caught.value.run, answer, settings=settings)).final_report


async def test_runs_are_listed_read_cancelled_and_deleted(settings: Settings) -> None:
    report = await research("How much did the Harbour Heat retrofit cost?", settings=settings)
    with pytest.raises(AnswerNeeded) as caught:
        await research("that project", settings=settings)
    waiting = caught.value.run
    assert [run.id for run in await list_runs(settings=settings)] == [waiting, report.run]
    assert [run.id for run in await list_runs(status="waiting", settings=settings)] == [waiting]
    assert await read_report(report.run[:8], settings=settings) == report
    assert await resume_run(report.run, settings=settings) == report
    with pytest.raises(UsageError, match="has no report; it is waiting"):
        await read_report(waiting, settings=settings)
    assert (await cancel_run(waiting, settings=settings)).status == "cancelled"
    folder = Path(report.folder)
    assert folder.exists()
    await delete_run(report.run, settings=settings)
    assert not folder.exists()
    with pytest.raises(UnknownRun):
        await read_run(report.run, settings=settings)


def test_a_run_begun_at_the_command_line_is_answered_from_python(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert user.call("那个项目", "--docs", str(DOCUMENTS)).returncode == 2
    settings = Settings(home=user.home, logs=tmp_path / "logs", engines=("none",), charts=False)
    (waiting,) = asyncio.run(list_runs(settings=settings))
    report = asyncio.run(answer_run(waiting.id, 1, settings=settings))
    assert user.call("runs", "report", waiting.id).stdout == report.final_report


async def test_without_anything_to_search_python_says_so_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to search"):
        await research("What did it cost?", settings=Settings(home=tmp_path / "home", engines=("none",)))


def test_the_public_names_are_shown() -> None:
    collaborators = "ResearchPlanner SearchExecutor ResearchAnalyzer ComputationEngine ReportGenerator StreamingManager"
    functions = "research answer_run resume_run list_runs read_run read_report delete_run cancel_run"
    kept = "Clarifier Verifier DeepResearchProcessor AgentRuntime retry_with_backoff StateMachine RunState Stage"
    assert {*collaborators.split(), *functions.split(), *kept.split()} <= set(dir(deep_research))
