"""A replay gives the same bytes from the journal alone: folders are gone, services are shut, keys are unset."""

import asyncio
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from deep_research import research
from deep_research.runner import replay_run
from tests.e2e.harness import User, assert_explained
from tests.e2e.test_figures import CASES as SERIES
from tests.e2e.test_model_faults import PAGES, QUESTION, _faulty
from tests.e2e.test_web import QUESTIONS, _settings
from tests.support.analyst import answer_over_the_wire
from tests.support.articles import articles
from tests.support.model_dialects import Answer
from tests.support.model_server import ModelServer
from tests.support.search_server import Answer as PageAnswer
from tests.support.web_server import LocalWeb
from tests.support.world import LONGER

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
ENGLISH = "How much did the Halden Bay heat pump retrofit cost and what did it achieve?"
CHINESE = "青岚市的海绵城市改造花了多少钱，效果如何？"
TRADITIONAL = "青嵐市的海綿城市改造花了多少錢，效果如何？"
JUDGING = "Should other towns copy the Halden Bay heat pump retrofit? Weigh its costs against its results."


def _replays_alike(user: User, **env: str) -> str:
    """The run was done, its replay says that all is identical, calls nobody and leaves everything as it was."""
    run, begun, before = user.only_run(), user.begun(), user.everything()
    assert run.status == "done"
    ended = user.call("replay", run.id, **env)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert "Identical" in ended.stdout
    assert user.begun() == begun, "somebody was called"
    assert user.everything() == before, "the run was changed"
    return ended.stdout


def _over_documents(
    user: User, question: str, *arguments: str, change: Callable[[Path], object] = Path.exists
) -> "subprocess.CompletedProcess[str]":
    """Ask about a folder that is deleted afterwards."""
    docs = user.folder / "docs"
    shutil.copytree(EXAMPLES, docs)
    change(docs)
    ended = user.call("ask", question, "--docs", str(docs), *arguments)
    shutil.rmtree(docs)
    return ended


DOCUMENT_RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "english": (ENGLISH, ()),
    "simplified": (CHINESE, ()),
    "traditional": (TRADITIONAL, ("--depth", "quick")),
    "judging": (JUDGING, ("--focus", "Costs", "--focus", "Results")),
    "few pages": (ENGLISH, ("--budget-pages", "2")),
    "few queries": (CHINESE, ("--budget-queries", "1")),
    "a period": (ENGLISH, ("--since", "2024", "--length", "short")),
}


@pytest.mark.long
@pytest.mark.parametrize("case", DOCUMENT_RUNS)
def test_a_run_by_rules_replays_when_its_folder_is_gone(case: str, tmp_path: Path) -> None:
    user, (question, flags) = User(tmp_path), DOCUMENT_RUNS[case]
    assert _over_documents(user, question, *flags).returncode == 0
    _replays_alike(user)


@pytest.mark.long
def test_a_run_that_could_not_read_a_file_replays(tmp_path: Path) -> None:
    user = User(tmp_path)
    broken = lambda docs: (docs / "plans.pdf").write_bytes(b"%PDF-1.7 nothing follows")  # noqa: E731 - one line
    assert _over_documents(user, ENGLISH, change=broken).returncode == 0
    assert "plans.pdf" in user.report()
    _replays_alike(user)


@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_charts_replay_from_what_was_drawn(language: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")
    user, case = User(tmp_path), SERIES[language]
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "plant.md").write_text(case.text, encoding="utf-8")
    asked = user.call("ask", case.question, "--docs", str(docs), DEEP_RESEARCH_CHARTS="true")
    assert asked.returncode == 0, asked.stderr
    shutil.rmtree(docs)
    assert (Path(user.only_run().folder) / "figures" / "figure-1.png").exists()
    assert "10 files" in _replays_alike(user, DEEP_RESEARCH_CHARTS="true")


@pytest.mark.long
def test_a_run_that_asked_back_replays_with_the_answer_it_got(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert_explained(user.ask("asking"), 2)
    assert user.run("runs", "answer", user.only_run().id, "Results").returncode == 0
    _replays_alike(user)


@pytest.mark.long
def test_a_run_whose_plan_was_edited_replays(tmp_path: Path) -> None:
    user, docs = User(tmp_path), tmp_path / "docs"
    shutil.copytree(EXAMPLES, docs)
    waits = user.call("ask", ENGLISH, "--docs", str(docs), "--confirm-plan")
    assert_explained(waits, 2)
    assert user.call("runs", "answer", user.only_run().id, "drop 1").returncode == 0
    shutil.rmtree(docs)
    _replays_alike(user)


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "kills"),
    [
        ("documents", [{"TEST_KILL_AT": "30"}]),
        ("documents", [{"TEST_KILL_STAGE": "verify"}]),
        ("written", [{"TEST_KILL_AT": "40"}, {"TEST_KILL_STAGE": "write"}]),
        ("charted", [{"TEST_KILL_DRAWING": "1"}]),
    ],
)
def test_a_run_that_was_killed_and_resumed_replays(world: str, kills: list[dict[str, str]], tmp_path: Path) -> None:
    user, docs = User(tmp_path), tmp_path / "docs"
    flags: tuple[str, ...] = ()
    if world == "documents":
        user.question, flags = ENGLISH, ("--docs", str(docs))
        shutil.copytree(EXAMPLES, docs)
    first, *others = kills
    assert user.ask(world, *flags, **first).returncode < 0
    for kill in others:
        assert user.run("runs", "resume", user.only_run().id, **kill).returncode < 0
    # What is added meanwhile was not there when the run began.
    if docs.exists():
        (docs / "late.md").write_text("The Halden Bay heat pump retrofit cost 1 euro.", encoding="utf-8")
    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    shutil.rmtree(docs, ignore_errors=True)
    _replays_alike(user)


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "flags"),
    [("quick", ("--budget-tokens", "2500")), ("paced", ("--budget-seconds", "4")), ("torn", ()), ("planless", ())],
)
def test_runs_that_were_cut_short_or_failed_on_the_way_replay(
    world: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    user = User(tmp_path)
    ended = user.ask(world, *flags)
    assert ended.returncode == 0, ended.stderr
    _replays_alike(user)


@pytest.mark.long
def test_a_run_whose_failed_steps_were_tried_again_replays(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert user.ask("torn").returncode == 0
    torn = user.report()
    (tmp_path / "mended").touch()
    assert user.run("runs", "retry", user.only_run().id).returncode == 0
    assert user.report() != torn
    _replays_alike(user)


FAULTS = {
    "none": answer_over_the_wire,
    "busy": _faulty("plan", Answer(status=429, headers={"Retry-After": "1"}), times=1),
    "nonsense": _faulty("extract", Answer("no JSON"), times=4),
    "undrafted": _faulty("draft", Answer(status=503)),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_with_a_model_replays_when_the_model_is_gone(fault: str, tmp_path: Path) -> None:
    user, docs = User(tmp_path / "user"), tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / name).write_text(f"{text}{LONGER}\n", encoding="utf-8")
    with ModelServer(FAULTS[fault]) as server:
        env = {
            "DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS": server.address_of("openai-compatible"),
            "DEEP_RESEARCH_MODEL_TRIES": "2",
            "DEEP_RESEARCH_MAX_ITERATIONS": "2",
        }
        asked = user.call("ask", QUESTION, "--docs", str(docs), "-p", "openai-compatible:test", **env)
        assert asked.returncode == 0, asked.stderr
    shutil.rmtree(docs)
    del env["DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS"]
    _replays_alike(user, **env)


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "changes"),
    [
        ("en", {}),
        ("zh-Hans", {"parallel_strategy": "race"}),
        ("zh-Hant", {"enable_race_mode": True, "parallel_strategy": "hybrid"}),
    ],
)
def test_a_run_over_the_web_replays_when_nobody_answers_any_more(
    language: Any, changes: dict[str, object], tmp_path: Path
) -> None:
    with LocalWeb(articles(20, language=language), hits_a_search=8) as web:
        web.faults["127.0.0.7"] = PageAnswer("<title>Gone</title>", status=410)
        web.faults["serper"] = PageAnswer("{}", status=500)
        settings = _settings(web, tmp_path, **changes)
        first = asyncio.run(research(QUESTIONS[language], settings=settings))
        # The second one lives on what the first left in the cache.
        second = asyncio.run(research(QUESTIONS[language], settings=settings))
    without_keys = settings.with_changes(tavily_api_key=None, serper_api_key=None)
    for result in (first, second):
        replayed = asyncio.run(replay_run(result.run, settings=without_keys))
        assert replayed.files
        assert not replayed.differences


def test_a_replay_names_what_differs_and_keeps_its_files(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert _over_documents(user, ENGLISH, "--depth", "quick").returncode == 0
    run = user.only_run()
    report = Path(run.folder) / "report.md"
    shipped = report.read_bytes()
    report.write_bytes(shipped.replace(b"146.2", b"999.9"))
    (Path(run.folder) / "verification.md").unlink()
    ended = user.call("replay", run.id, "-o", "again")
    assert ended.returncode == 3
    assert "report.md, line " in ended.stdout
    assert "999.9" in ended.stdout
    assert "verification.md: only the replay has it" in ended.stdout
    assert "citations.json" not in ended.stdout
    assert (user.folder / "again" / "report.md").read_bytes() == shipped


def test_what_the_journal_does_not_hold_is_not_looked_up_elsewhere(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert user.ask("quick").returncode == 0
    begun = user.begun()
    with closing(sqlite3.connect(user.home / "store.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM journal WHERE number > (SELECT max(number) FROM journal) - 2")
    assert "its journal does not hold" in assert_explained(user.call("replay", user.only_run().id), 70)
    assert user.begun() == begun


def test_a_run_that_is_not_done_cannot_be_replayed(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert_explained(user.ask("asking"), 2)
    assert "it is waiting" in assert_explained(user.call("replay", user.only_run().id), 64)


def test_another_version_is_named_and_tried(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert user.ask("quick").returncode == 0
    with patch("deep_research.runner.code_version", lambda: "9.9.9"):
        ended = user.call("replay", user.only_run().id)
    assert "this is 9.9.9" in ended.stderr
    assert ended.returncode == 0
