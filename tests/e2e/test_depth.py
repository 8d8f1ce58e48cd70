"""How far a run goes by name, each round of it in the run folder, and its statistics on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.request import Depth
from tests.e2e.harness import QUESTION, Lab, User, assert_explained

QUICK = ("--wiring", "worlds:quick")


def _asked(user: User) -> dict[str, list[str]]:
    """Return the queries of a run by section, in the order of their rounds."""
    queries: dict[str, list[str]] = {}
    for event in user.events():
        if event.kind == "serp-query":
            data: Any = event.data
            queries.setdefault(data["section"], []).extend(query["query"] for query in data["queries"])
    return queries


def _rounds(user: User) -> list[dict[str, Any]]:
    text = (Path(user.only_run().folder) / "rounds.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("question", [QUESTION, "这些项目花了多少钱，取得了什么成果？"])
def test_a_quick_run_asks_four_queries_in_one_round_and_its_folder_tells_of_them(tmp_path: Path, question: str) -> None:
    user = User(tmp_path)
    ended = user.call("ask", question, "--depth", "quick", "--assume", *QUICK)
    assert ended.returncode == 0, ended.stderr
    assert user.only_run().request.depth == Depth.named("quick")
    asked, rounds = _asked(user), _rounds(user)
    assert sum(map(len, asked.values())) == 4
    assert {line["section"]: line["queries"] for line in rounds} == asked
    dimensions = {"coverage", "depth", "diversity", "consistency", "recency"}
    for line in rounds:
        assert (line["round"], set(line["dimensions"])) == (1, dimensions)
        assert line["stop"] == "iterations", "the scripted reasoner wants two rounds"


def test_a_resumed_run_keeps_its_depth_whatever_is_set_now(tmp_path: Path) -> None:
    user = User(tmp_path)
    asked = user.call("ask", QUESTION, "--depth", "quick", "--confirm-plan", *QUICK)
    assert asked.returncode == 2, asked.stderr
    ended = user.call("runs", "answer", user.only_run().id, "approve", DEEP_RESEARCH_DEPTH="deep")
    assert ended.returncode == 0, ended.stderr
    assert sum(map(len, _asked(user).values())) == 4


def test_the_plan_and_the_settings_show_the_numbers_in_force(tmp_path: Path) -> None:
    user = User(tmp_path)
    asked = user.call("ask", QUESTION, "--depth", "deep", "--confirm-plan", "--max-iterations", "3", *QUICK)
    assert "Queries: 40 in the first round, at most 100 in all; rounds: at most 3; pages: at most 200." in asked.stderr
    shown = user.call("config", "show", "--json", DEEP_RESEARCH_DEPTH="deep", DEEP_RESEARCH_MAX_ITERATIONS="6")
    settings = json.loads(shown.stdout)["settings"]
    assert {name: (settings[name]["value"], settings[name]["from"]) for name in ("depth", *Depth.model_fields)} == {
        "depth": ("deep", "environment"),
        "max_iterations": (6, "environment"),
        "queries_first_iteration": (40, "depth"),
        "queries_followup_iteration": (30, "depth"),
        "max_total_queries": (120, "depth"),
        "urls_per_query": (2, "depth"),
        "max_pages": (200, "depth"),
    }
    doctor = user.call("doctor", DEEP_RESEARCH_DEPTH="quick")
    assert "quick; at most: queries: 4, rounds: 1, pages for each query: 3" in doctor.stdout
    assert (
        "as the question needs; at most: queries: 120, rounds: 4, pages for each query: 2" in user.call("doctor").stdout
    )


def test_an_unknown_depth_is_refused_with_the_choices(tmp_path: Path) -> None:
    user = User(tmp_path)
    said = assert_explained(user.call("ask", QUESTION, "--depth", "bottomless", *QUICK), 64)
    assert all(choice in said for choice in ("--depth", "'quick'", "'standard'", "'deep'"))
    assert not (user.home / "store.db").exists()


def test_statistics_are_shown_for_a_run_that_ended_and_one_that_waits(tmp_path: Path) -> None:
    user = User(tmp_path)
    waiting = Lab(user).ask(confirm_plan=True)
    page = user.call("runs", "show", waiting.id, "--stats")
    assert page.returncode == 0, page.stderr
    assert "Planning" in page.stdout
    Lab(user).answer(waiting.id, "approve")
    shown = json.loads(user.call("runs", "show", waiting.id, "--stats", "--json").stdout)
    figures, kept = shown["statistics"], json.loads((Path(waiting.folder) / "stats.json").read_text(encoding="utf-8"))
    same = ("calls", "searches", "engine_requests", "pages", "duplicates", "model", "tokens_per_query")
    assert {name: figures[name] for name in same} == {name: kept[name] for name in same}
    assert figures["duplicates"] == {"prompts": 0, "fetches": 0}
    assert figures["steps"]["failed"] == 0
    assert set(figures["stages"]) >= {"plan", "harvest", "fetch", "reflect", "draft", "write", "cache"}
    assert "█" in user.call("runs", "show", waiting.id, "--stats").stdout
